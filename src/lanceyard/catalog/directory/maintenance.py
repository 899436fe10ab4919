"""Maintenance of a directory catalog, whatever its mode."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from lanceyard.catalog.maintenance import (
    Maintenance,
    MigrationReport,
    Progress,
    RepairReport,
)
from lanceyard.errors import UnsupportedOperationError
from lanceyard.settings import DirectorySettings
from lanceyard.storage.base import Store

if TYPE_CHECKING:
    from lanceyard.catalog.directory.manifest import Manifest


GRACE = 5.0
"""Seconds that a commit which is under way has to land before versions become rows."""


class DirectoryMaintenance(Maintenance):
    """Migration and repair of a root, by settings that say how its tables are found."""

    def __init__(
        self, settings: DirectorySettings, store: Store, clock: Callable[[], float] = time.time
    ) -> None:
        """Look after a root."""
        self._settings = settings
        self._store = store
        self._clock = clock

    @cached_property
    def _manifest(self) -> Manifest:
        """The rows of the root; a catalog that does not ask for them may have some."""
        from lanceyard.catalog.directory.manifest import Manifest

        return Manifest(self._store, window=self._settings.window, clock=self._clock)

    def migrate(
        self, *, dry_run: bool, progress: Callable[[Progress], None] | None
    ) -> MigrationReport:
        from lanceyard.catalog.directory.migration import Migration

        bare = self._settings.bare_directories
        try:
            return Migration(self._store, self._manifest, bare, dry_run, progress).run()
        finally:
            self._manifest.close()

    def manage_versions(self, *, wait: timedelta | None) -> int:
        from lanceyard.catalog.directory.versions import ManagedVersions

        if not self._settings.manifest_enabled:
            raise UnsupportedOperationError("versions are kept in a manifest: migrate first")
        if self._settings.dir_listing_enabled:
            self.migrate(dry_run=False, progress=None)
        seconds = min(self._settings.window, GRACE) if wait is None else wait.total_seconds()
        versions = ManagedVersions(self._store, self._manifest, self._clock)
        try:
            return versions.switch_on(seconds)
        finally:
            self._manifest.close()

    def repair(
        self,
        *,
        dry_run: bool,
        retention: timedelta,
        unreferenced_for: timedelta,
        progress: Callable[[Progress], None] | None,
    ) -> RepairReport:
        from lanceyard.catalog.directory.hashed import HashedCatalog
        from lanceyard.catalog.directory.repair import Repair, Site, Trash
        from lanceyard.catalog.directory.transactions import DirectoryTransactions

        catalog = HashedCatalog(self._store, self._manifest, self._clock)
        window = self._settings.window
        site = Site(
            self._store,
            self._manifest,
            Trash(self._store, self._clock),
            window,
            self._clock,
            unreferenced_for,
            catalog.versions,
            DirectoryTransactions(self._store, catalog, window, self._clock),
            bare=self._settings.bare_directories,
            lists_directories=self._settings.dir_listing_enabled,
            obeys_rows=self._settings.manifest_enabled,
        )
        try:
            return Repair(site, dry_run=dry_run, retention=retention, progress=progress).run()
        finally:
            self._manifest.close()
