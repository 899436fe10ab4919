"""Migration: the tables that V1 and the bare layout find by listing, taken into the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lanceyard.catalog.changes import AdoptTables, DiscardRow
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.contents import table_properties
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.states import VISIBLE, state_of
from lanceyard.catalog.maintenance import (
    THREADS,
    Migrated,
    MigrationReport,
    Progress,
    Skipped,
    pages,
)
from lanceyard.catalog.snapshot import Snapshot
from lanceyard.errors import ConcurrentModificationError
from lanceyard.storage.base import Store

BATCH = 20_000
"""Tables in one commit."""


@dataclass
class Migration:
    """One run over a root. Cut short, it can be run again: what has a row is left alone."""

    store: Store
    manifest: Manifest
    bare: bool
    dry_run: bool
    progress: Callable[[Progress], None] | None = None
    _skipped: list[Skipped] = field(default_factory=list)
    _present: int = 0

    def run(self) -> MigrationReport:
        """Plan, and carry the plan out unless this is a dry run."""
        plan = self._plan()
        if not self.dry_run:
            plan = [*self._carry_out(plan)]
        return MigrationReport(tuple(plan), self._present, tuple(self._skipped), self.dry_run)

    def _plan(self) -> list[Migrated]:
        """The tables to take in; those with rows, and those that cannot be, are noted."""
        entries = sorted(entry.name for entry in self.store.entries("") if entry.is_directory)
        with ThreadPoolExecutor(THREADS, "lanceyard-migration") as pool:
            visible = [*pool.map(self._is_visible, entries)]
        paths = [path for path, is_there in zip(entries, visible, strict=True) if is_there]
        return self.manifest.read(lambda state: [*self._missing(state, paths)])

    def _is_visible(self, path: str) -> bool:
        if path == layout.MANIFEST or not (self.bare or path.endswith(layout.SUFFIX)):
            return False
        return state_of(self.store, path, bare=self.bare) in VISIBLE

    def _missing(self, state: Snapshot, paths: list[str]) -> Iterator[Migrated]:
        for path in paths:
            name = layout.table_name(path, bare=self.bare)
            if name is None:
                if not self.bare:
                    self._skipped.append(Skipped(path, "no table can have this name"))
                continue
            row = state.raw(name)
            if state.is_occupied(path):
                self._present += 1
            elif row is not None:
                why = f"the manifest has a {row.object_type} of this name"
                self._skipped.append(Skipped(path, why))
            else:
                yield Migrated(name, path)

    def _carry_out(self, plan: list[Migrated]) -> Iterator[Migrated]:
        """Take tables in, and report those that are there afterwards."""
        done = 0
        for batch in pages(plan, BATCH):
            with ThreadPoolExecutor(THREADS, "lanceyard-migration") as pool:
                described = [*pool.map(self._describe, batch)]
            change = AdoptTables("", tuple(table for table in described if table is not None))
            self.manifest.commit(change)
            yield from filter(self._has_arrived, batch)
            done += len(batch)
            if self.progress is not None:
                self.progress(Progress("tables", done, len(plan)))

    def _describe(self, table: Migrated) -> tuple[str, str, dict[str, str]] | None:
        """What the row of a table will say; None, and a note, if it cannot be read."""
        try:
            return (*table, table_properties(self.store, table.location))
        except (OSError, ValueError) as failure:
            self._skipped.append(Skipped(table.location, f"it cannot be opened: {failure}"))
            return None

    def _has_arrived(self, table: Migrated) -> bool:
        """Whether a table has a row now, and still has a directory.

        A program that knows only directories may have dropped it; then the row goes too.
        """
        row = self.manifest.read(lambda state: state.raw(table.object_id))
        if row is None or row.location != table.location:
            return False
        if state_of(self.store, table.location, bare=self.bare) in VISIBLE:
            return True
        try:
            self.manifest.commit(DiscardRow(table.object_id, table.location))
        except ConcurrentModificationError:
            return False
        return False
