"""The directory catalog of documents 000, 001 and 003: V1, V2, compatibility mode, bare."""

from __future__ import annotations

import time
from collections.abc import Callable

from lanceyard.catalog.base import Catalog
from lanceyard.catalog.directory.listing import ListingCatalog
from lanceyard.catalog.directory.maintenance import DirectoryMaintenance
from lanceyard.settings import DirectorySettings
from lanceyard.storage import Store, open_store

__all__ = ["open_catalog"]


def open_catalog(
    settings: DirectorySettings,
    *,
    store: Store | None = None,
    clock: Callable[[], float] = time.time,
) -> Catalog:
    """The catalog that settings describe. Nothing is read or written yet."""
    store = store or open_store(settings)
    listing = ListingCatalog(
        store, bare=settings.bare_directories, window=settings.window, clock=clock
    )
    if settings.manifest_enabled:
        return _with_manifest(settings, store, listing, clock)
    listing.maintenance = DirectoryMaintenance(settings, store, clock)
    return listing


def _with_manifest(
    settings: DirectorySettings,
    store: Store,
    listing: ListingCatalog,
    clock: Callable[[], float],
) -> Catalog:
    from lanceyard.catalog.directory.compatible import CompatibleCatalog
    from lanceyard.catalog.directory.hashed import HashedCatalog
    from lanceyard.catalog.directory.history import DirectoryHistory
    from lanceyard.catalog.directory.manifest import Manifest
    from lanceyard.catalog.directory.transactions import DirectoryTransactions

    manifest = Manifest(
        store,
        window=settings.window,
        clock=clock,
        manage_versions=settings.table_version_management,
        history=settings.catalog_history,
    )
    hashed = HashedCatalog(store, manifest, clock, settings.drop_retention)
    history = DirectoryHistory(store, manifest, hashed.dropped)
    if settings.as_of is not None:
        return history.catalog(settings.as_of)
    catalog: Catalog = hashed
    if settings.dir_listing_enabled:
        catalog = CompatibleCatalog(store, hashed, listing)
    catalog.history = history
    catalog.transactions = DirectoryTransactions(store, hashed, settings.window, clock)
    catalog.maintenance = DirectoryMaintenance(settings, store, clock)
    return catalog
