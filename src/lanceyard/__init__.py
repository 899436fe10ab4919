"""Lanceyard: a catalog for Lance tables.

Names are imported when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.namespace import (
        DirectoryNamespace,
        HiveNamespace,
        MemoryNamespace,
        connect,
    )
    from lanceyard.rest.async_client import AsyncRestNamespace
    from lanceyard.rest.client import RestNamespace
    from lanceyard.yard import Space, Table, Yard, open

__version__ = "0.1.0"
__all__ = [
    "AsyncRestNamespace",
    "DirectoryNamespace",
    "HiveNamespace",
    "MemoryNamespace",
    "RestNamespace",
    "Space",
    "Table",
    "Yard",
    "connect",
    "open",
]

_HOMES = {
    "AsyncRestNamespace": "lanceyard.rest.async_client",
    "DirectoryNamespace": "lanceyard.namespace",
    "HiveNamespace": "lanceyard.namespace",
    "MemoryNamespace": "lanceyard.namespace",
    "RestNamespace": "lanceyard.rest.client",
    "Space": "lanceyard.yard",
    "Table": "lanceyard.yard",
    "Yard": "lanceyard.yard",
    "connect": "lanceyard.namespace",
    "open": "lanceyard.yard",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lanceyard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
