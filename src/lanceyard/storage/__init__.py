"""Storage: small-file access below one root, on local disk or an object store."""

from lanceyard.storage.base import Entry, Store
from lanceyard.storage.local import LocalStore
from lanceyard.storage.roots import open_store

__all__ = ["Entry", "LocalStore", "Store", "open_store"]
