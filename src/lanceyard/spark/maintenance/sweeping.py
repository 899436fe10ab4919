"""Sweeping: files of a table that no version refers to, left by jobs that failed or were killed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from lanceyard.catalog.directory.contents import DATA, DELETIONS, INDICES, Contents
from lanceyard.settings import DirectorySettings
from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.maintenance.records import FOLDER, RESUMABLE, open_place, recorded
from lanceyard.spark.maintenance.reports import TablePlan, readable
from lanceyard.spark.maintenance.work import Landing, Work
from lanceyard.spark.reference import Place, TableReference, open_table
from lanceyard.storage.base import File, Store
from lanceyard.storage.roots import open_store


class Found(NamedTuple):
    """Files that nobody needs."""

    paths: tuple[str, ...]
    size: int


class Sweep(Task):
    """Looks for orphans of a table and, unless it is only to look, deletes them."""

    def __init__(self, place: Place, older_than: timedelta, *, dry_run: bool) -> None:
        """Look at files that were not written to for so long."""
        self._place = place._replace(managed=None)
        self._older_than = older_than.total_seconds()
        self._dry_run = dry_run

    def run(self, shared: Any) -> Found:
        parent, name = os.path.split(self._place.location.rstrip("/"))
        store = open_store(DirectorySettings(root=parent, storage=dict(self._place.storage)))
        # Files first and then versions, so that none is missed that was committed in between.
        files = [file for file in store.files(name) if self._is_old(file)]
        contents = Contents(store, name)
        dataset = open_table(self._place)
        spared = {f"{name}/{path}" for path in recorded(open_place(self._place))}
        loose = [
            *contents.orphans(dataset, files),
            *(file for file in contents.strays(files) if _is_of_data(file.path, name)),
            *self._outdated(store, name),
        ]
        doomed = sorted({file.path for file in loose} - spared)
        size = sum(stat.size for path in doomed if (stat := store.stat(path)) is not None)
        if not self._dry_run:
            for path in doomed:
                store.delete(path)
        return Found(tuple(doomed), size)

    def _is_old(self, file: File) -> bool:
        return time.time() - file.modified >= self._older_than

    def _outdated(self, store: Store, name: str) -> list[File]:
        """Records of back-fills that nobody can go on with any more."""
        limit = time.time() - max(self._older_than, RESUMABLE.total_seconds())
        return [file for file in store.files(f"{name}/{FOLDER}") if file.modified < limit]


class Sweeping(Work):
    """The sweeping of a table. A dry run looks for the orphans as well, but on the driver."""

    def __init__(
        self,
        reference: TableReference,
        place: Place,
        older_than: timedelta,
        *,
        dry_run: bool,
    ) -> None:
        """Sweep files that were not written to for so long."""
        super().__init__(reference, place)
        self._older_than = older_than
        self._dry_run = dry_run
        self._planned = TablePlan(str(reference), 1, 0, 0, "look for files to remove")
        self._found = Found((), 0)

    def plan(self) -> Sequence[Task]:
        # Through the catalog, so that its newest version is where readers look for it.
        open_table(self.place)
        if not self._dry_run:
            return [Sweep(self.place, self._older_than, dry_run=False)]
        found = Sweep(self.place, self._older_than, dry_run=True).run(None)
        what = f"remove {len(found.paths):,} files"
        self._planned = TablePlan(str(self.reference), 1, 0, found.size, what)
        return [Sweep(self.place, self._older_than, dry_run=True)] if found.paths else []

    def describe(self) -> TablePlan:
        return self._planned

    def land(self, results: Sequence[Found]) -> Landing:
        (self._found,) = results
        return Landing.DONE

    def tell(self) -> str:
        return f"{len(self._found.paths):,} files went, {readable(self._found.size)}"


def _is_of_data(path: str, table: str) -> bool:
    folder = path.removeprefix(f"{table}/").split("/")[0]
    return folder in (DATA, DELETIONS, INDICES)
