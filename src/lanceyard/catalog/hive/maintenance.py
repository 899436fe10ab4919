"""Maintenance of a Hive catalog."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from lanceyard.catalog.maintenance import Maintenance, MigrationReport, Progress, RepairReport
from lanceyard.errors import UnsupportedOperationError

if TYPE_CHECKING:
    from lanceyard.catalog.hive.catalog import MetastoreCatalog


class HiveMaintenance(Maintenance):
    """Repair of what a metastore and the storage behind it say differently."""

    def __init__(
        self,
        catalog: MetastoreCatalog,
        window: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Look after a catalog."""
        self._catalog = catalog
        self._window = window
        self._clock = clock

    def migrate(
        self, *, dry_run: bool, progress: Callable[[Progress], None] | None
    ) -> MigrationReport:
        raise UnsupportedOperationError(
            "a metastore finds no tables by their directories: register them one by one"
        )

    def manage_versions(self, *, wait: timedelta | None) -> int:
        raise UnsupportedOperationError(
            "each table of a metastore says itself who manages it: connect with managed_by=impl, "
            "then deregister a table and register it again"
        )

    def repair(
        self,
        *,
        dry_run: bool,
        retention: timedelta,
        unreferenced_for: timedelta,
        progress: Callable[[Progress], None] | None,
    ) -> RepairReport:
        from lanceyard.catalog.hive.repair import Repair

        repair = Repair(self._catalog, self._window, self._clock, dry_run=dry_run)
        return repair.run(retention, progress)
