"""Namespaces: the specification's operations over any catalog."""

from lanceyard.namespace.implementations import (
    DirectoryNamespace,
    MemoryNamespace,
    Namespace,
    connect,
)

__all__ = ["DirectoryNamespace", "MemoryNamespace", "Namespace", "connect"]
