"""Repair: look at everything in a root, in an order in which mending one thing reveals the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TypeVar

from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.repair.directories import directory_cases
from lanceyard.catalog.directory.repair.manifest import damage_cases, litter_cases
from lanceyard.catalog.directory.repair.rows import doubled_cases, row_cases, shared_cases
from lanceyard.catalog.directory.repair.settlement import FAILURES, Settlement
from lanceyard.catalog.directory.repair.site import Case, Site
from lanceyard.catalog.directory.repair.tables import table_cases
from lanceyard.catalog.directory.repair.trash import TRASH
from lanceyard.catalog.directory.repair.versions import pointer_cases
from lanceyard.catalog.directory.states import VISIBLE, state_of
from lanceyard.catalog.maintenance import (
    THREADS,
    Kind,
    Progress,
    RepairReport,
    pages,
)
from lanceyard.catalog.snapshot import TABLE, Row

PAGE = 256
REBUILT = (Kind.INCOMPLETE_MANIFEST, Kind.UNREADABLE_MANIFEST)

_T = TypeVar("_T")


class Repair:
    """One run over a root."""

    def __init__(
        self,
        site: Site,
        *,
        dry_run: bool,
        retention: timedelta,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """Prepare a run; nothing is read yet."""
        self._site = site
        self._dry_run = dry_run
        self._retention = retention
        self._progress = progress
        self._settlement = Settlement(dry_run=dry_run)
        self._tables = 0

    def run(self) -> RepairReport:
        """Look at everything, and mend it unless this is a dry run."""
        self._settlement.settle(damage_cases(self._site))
        if self._mended_manifest():
            self._check_rows()
            self._check_directories()
            self._check_tables()
            self._settlement.settle(pointer_cases(self._site))
            self._settlement.settle(litter_cases(self._site))
        emptied = 0 if self._dry_run else self._site.trash.empty(self._retention)
        return self._settlement.report(tables=self._tables, emptied=emptied)

    def _mended_manifest(self) -> bool:
        """Whether rows can be relied on; without them a table cannot be told from an orphan."""
        damaged = [finding for finding in self._settlement.findings if finding.kind in REBUILT]
        if damaged and (self._dry_run or self._settlement.failures):
            return False
        self._site.rebuilds = bool(damaged) or not self._site.store.exists(layout.MANIFEST)
        if self._settlement.findings:
            self._site.manifest.reset()
        return True

    def _check_rows(self) -> None:
        site = self._site
        site.read_rows()
        self._settlement.settle(doubled_cases(site))
        old = site.manifest.settled()
        rows = [row for row in site.rows.rows() if _same_place(row, old.get(row.object_id))]
        rows.sort()
        self._settle_all("rows", rows, lambda part: row_cases(site, part), paged=True)
        self._settlement.settle(shared_cases(site, rows))

    def _check_directories(self) -> None:
        site = self._site
        site.read_rows()
        own = {layout.MANIFEST, TRASH.split("/")[0]}
        names = [e.name for e in site.store.entries("") if e.is_directory and e.name not in own]
        names.sort()
        self._settle_all("directories", names, lambda name: directory_cases(site, name))

    def _check_tables(self) -> None:
        site = self._site
        site.read_rows()
        found = {
            row.location
            for row in site.rows.rows()
            if row.object_type == TABLE and row.location and layout.is_safe(row.location)
        }
        if site.lists_directories:
            found |= {e.name for e in site.store.entries("") if self._is_root_table(e.name)}
        self._tables = len(found)
        self._settle_all("tables", sorted(found), self._table_cases)

    def _is_root_table(self, name: str) -> bool:
        bare = self._site.bare
        if layout.table_name(name, bare=bare) is None:
            return False
        return state_of(self._site.store, name, bare=bare) in VISIBLE

    def _table_cases(self, path: str) -> Iterator[Case]:
        try:
            yield from table_cases(self._site, path)
        except FAILURES as failure:
            self._settlement.unchecked.append((path, failure))

    def _settle_all(
        self,
        phase: str,
        items: list[_T],
        check: Callable[..., Iterable[Case]],
        *,
        paged: bool = False,
    ) -> None:
        """Check items in pages, several at a time, and settle what is found page by page."""
        done = 0
        with ThreadPoolExecutor(THREADS, "lanceyard-repair") as pool:
            for page in pages(items, PAGE):
                parts = pages(page, PAGE // THREADS) if paged else page
                for cases in pool.map(lambda part: [*check(part)], parts):
                    self._settlement.settle(cases)
                done += len(page)
                if self._progress is not None:
                    self._progress(Progress(phase, done, len(items)))


def _same_place(row: Row, before: Row | None) -> bool:
    return before is not None and before.location == row.location
