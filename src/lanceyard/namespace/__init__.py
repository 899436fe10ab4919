"""Namespaces: the specification's operations over any catalog."""

from lanceyard.namespace.implementations import (
    CatalogName,
    DirectoryNamespace,
    HiveNamespace,
    MemoryNamespace,
    Namespace,
    connect,
    properties_of,
)

__all__ = [
    "CatalogName",
    "DirectoryNamespace",
    "HiveNamespace",
    "MemoryNamespace",
    "Namespace",
    "connect",
    "properties_of",
]
