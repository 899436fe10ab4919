"""Catalogs: what keeps names. Each is about fifteen primitives over plain Python types."""

from lanceyard.catalog.base import Catalog, Page, TableEntry, TableWriter

__all__ = ["Catalog", "Page", "TableEntry", "TableWriter"]
