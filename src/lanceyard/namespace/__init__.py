"""Namespaces: the specification's operations over any catalog."""

from lanceyard.namespace.implementations import (
    DirectoryNamespace,
    MemoryNamespace,
    connect,
)
from lanceyard.namespace.operations import Namespace

__all__ = ["DirectoryNamespace", "MemoryNamespace", "Namespace", "connect"]
