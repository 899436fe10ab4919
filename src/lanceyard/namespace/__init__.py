"""Namespaces: the specification's operations over any catalog."""

from lanceyard.namespace.implementations import (
    CatalogName,
    DirectoryNamespace,
    MemoryNamespace,
    Namespace,
    connect,
    properties_of,
)

__all__ = [
    "CatalogName",
    "DirectoryNamespace",
    "MemoryNamespace",
    "Namespace",
    "connect",
    "properties_of",
]
