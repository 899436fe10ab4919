"""Maintenance: what the specification has no operation for, over any catalog."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from lanceyard.catalog.maintenance import (
    RETENTION,
    Maintenance,
    MigrationReport,
    Progress,
    RepairReport,
)
from lanceyard.errors import UnsupportedOperationError
from lanceyard.namespace.operations import Operations, tells_failures


class MaintenanceOperations(Operations):
    """Migrate, repair, and let the catalog keep versions."""

    @tells_failures
    def migrate(
        self, *, dry_run: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> MigrationReport:
        """Take all tables that are found by their directories into the manifest."""
        return self._maintenance().migrate(dry_run=dry_run, progress=progress)

    @tells_failures
    def repair(
        self,
        *,
        dry_run: bool = False,
        retention: timedelta = RETENTION,
        unreferenced_for: timedelta = RETENTION,
        progress: Callable[[Progress], None] | None = None,
    ) -> RepairReport:
        """Find what is wrong and, unless `dry_run`, mend it; see `Maintenance.repair`."""
        return self._maintenance().repair(
            dry_run=dry_run,
            retention=retention,
            unreferenced_for=unreferenced_for,
            progress=progress,
        )

    @tells_failures
    def manage_versions(self, *, wait: timedelta | None = None) -> int:
        """Let the catalog keep the versions of tables; see `Maintenance.manage_versions`."""
        return self._maintenance().manage_versions(wait=wait)

    def _maintenance(self) -> Maintenance:
        if self._catalog.maintenance is None:
            raise UnsupportedOperationError("this catalog has nothing to migrate or repair")
        return self._catalog.maintenance
