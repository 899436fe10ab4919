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
    catalog: Catalog = listing
    if settings.manifest_enabled:
        catalog = _with_manifest(settings, store, listing, clock)
    catalog.maintenance = DirectoryMaintenance(settings, store, clock)
    return catalog


def _with_manifest(
    settings: DirectorySettings,
    store: Store,
    listing: ListingCatalog,
    clock: Callable[[], float],
) -> Catalog:
    from lanceyard.catalog.directory.compatible import CompatibleCatalog
    from lanceyard.catalog.directory.hashed import HashedCatalog
    from lanceyard.catalog.directory.manifest import Manifest

    manifest = Manifest(
        store,
        window=settings.window,
        clock=clock,
        manage_versions=settings.table_version_management,
    )
    hashed = HashedCatalog(store, manifest, clock)
    return CompatibleCatalog(store, hashed, listing) if settings.dir_listing_enabled else hashed
