"""Repair: tables of the metastore without data, and data without a table of the metastore.

Of tables, only those are touched that we have made or changed: others may mean what they say. Of
directories, only those that are named as ours are, in the folders that we keep for tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from lanceyard import errors
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.repair.settlement import FAILURES, Settlement
from lanceyard.catalog.directory.repair.site import BusyError, Case
from lanceyard.catalog.directory.repair.trash import Trash
from lanceyard.catalog.hive.catalog import MetastoreCatalog
from lanceyard.catalog.hive.locations import opened_as
from lanceyard.catalog.hive.places import TABLES
from lanceyard.catalog.hive.rows import Leaving
from lanceyard.catalog.hive.swaps import ConflictError
from lanceyard.catalog.hive.tables import ALTERED, LanceTable
from lanceyard.catalog.maintenance import Finding, Kind, Progress, RepairReport
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store


class Ground(NamedTuple):
    """Where directories of tables are looked for: folders of a store."""

    store: Store
    folders: tuple[str, ...]


class Repair:
    """One run over a metastore and what lies in its storage."""

    def __init__(
        self,
        catalog: MetastoreCatalog,
        window: float,
        clock: Callable[[], float],
        *,
        dry_run: bool,
    ) -> None:
        """Prepare a run; nothing is read yet."""
        self._catalog = catalog
        self._window = window
        self._clock = clock
        self._dry_run = dry_run
        self._settlement = Settlement(dry_run=dry_run)

    def run(
        self, retention: timedelta, progress: Callable[[Progress], None] | None
    ) -> RepairReport:
        """Look at all databases, then at what lies in storage."""
        # Directories first: what is there before the tables are read, and has none, is no table's.
        candidates = [(ground, [*_directories(ground)]) for ground in self._grounds()]
        databases = self._catalog.databases.all()
        locations: set[str] = set()
        tables = 0
        for done, parent in enumerate(databases, 1):
            found = self._check_database(parent)
            locations |= found
            tables += len(found)
            if progress is not None:
                progress(Progress("databases", done, len(databases)))
        emptied = 0
        for ground, paths in candidates:
            trash = Trash(ground.store, self._clock)
            if not self._settlement.unchecked:  # or what could not be read would look like orphans
                self._settlement.settle(self._directory_cases(ground, trash, paths, locations))
            emptied += 0 if self._dry_run else trash.empty(retention)
        return self._settlement.report(tables=tables, emptied=emptied)

    def _check_database(self, parent: Identifier) -> set[str]:
        """Settle what is wrong with the tables of a database, and say where they lie."""
        try:
            tables = self._catalog.rows.tables(parent)
            leaving = self._catalog.rows.leaving(parent)
        except errors.NamespaceNotFoundError:
            return set()
        except FAILURES as failure:
            self._settlement.unchecked.append((str(parent), failure))
            return set()
        self._settlement.settle(case for table in tables for case in self._cases(parent, table))
        self._settlement.settle(
            case for table, reason in leaving for case in self._leaving_cases(table, reason)
        )
        return {table.location for table in (*tables, *(each for each, _ in leaving))}

    def _cases(self, parent: Identifier, table: LanceTable) -> Iterator[Case]:
        identifier = Identifier((*parent, table.record.name))
        since = self._quiet_since(table)
        if since is None or table.change is None:
            return
        place = self._catalog.places.at(table.location)
        if not place.store.exists(place.path):
            finding = Finding(
                Kind.MISSING_DIRECTORY, table.location, "", identifier.object_id, since
            )
            yield Case(finding, partial(self._forget, identifier, table))
        elif place.store.exists(f"{place.path}/{layout.DEREGISTERED}"):
            finding = Finding(
                Kind.UNFINISHED_CHANGE, table.location, "", identifier.object_id, since
            )
            yield Case(finding, partial(self._catalog.places.show, table.location))

    def _leaving_cases(self, table: LanceTable, reason: Leaving) -> Iterator[Case]:
        since = self._quiet_since(table)
        if since is not None:
            dropped = reason is Leaving.DROPPED
            kind = Kind.HALF_DROPPED_TABLE if dropped else Kind.HALF_DEREGISTERED_TABLE
            finding = Finding(kind, table.location, "", None, since)
            yield Case(finding, partial(self._catalog.removal.finish, table, reason))

    def _forget(self, identifier: Identifier, table: LanceTable) -> None:
        """Take a table out whose directory does not exist, if it is still so."""
        place = self._catalog.places.at(table.location)
        now = self._catalog.rows.find(identifier)
        if now is None or now.location != table.location or place.store.exists(place.path):
            return
        try:
            leaving = self._catalog.rows.take_out(table, Leaving.DEREGISTERED)
        except ConflictError as conflict:
            raise BusyError(table.location) from conflict
        self._catalog.rows.forget(leaving)

    def _directory_cases(
        self, ground: Ground, trash: Trash, paths: list[str], locations: set[str]
    ) -> Iterator[Case]:
        """What no table refers to: moved to the trash, unless it was kept on purpose."""
        store = ground.store
        for path in paths:
            if store.location(path) in locations:
                continue
            names = {entry.name for entry in store.entries(path)}
            is_kept = layout.DEREGISTERED in names and not names <= {*layout.DROP_MARKERS}
            changed = store.changed(path)
            if is_kept or not names <= layout.TABLE_NAMES or not self._is_old(changed):
                continue
            since = datetime.fromtimestamp(changed or 0.0, UTC)
            finding = Finding(Kind.ORPHAN_DIRECTORY, path, since=since)
            yield Case(finding, partial(self._throw_away, store, trash, finding))

    def _throw_away(self, store: Store, trash: Trash, finding: Finding) -> None:
        try:
            with store.hold(finding.path, 0.0):
                if not self._is_old(store.changed(finding.path)):
                    raise BusyError(finding.path)
                location, root = store.location(finding.path), store.location("")
                if any(self._catalog.rows.overlapping(location, root)):
                    return
                trash.take_tree(finding)
        except TimeoutError as held:
            raise BusyError(finding.path) from held

    def _grounds(self) -> list[Ground]:
        places = self._catalog.places
        if places.root is not None:
            store = places.at(f"{opened_as(places.root)}/_").store
            folders = [e.name for e in store.entries("") if e.name.endswith(TABLES)]
            return [Ground(store, tuple(sorted(folders)))]
        found = (self._catalog.databases.find(each) for each in self._catalog.databases.all())
        homes = {opened_as(places.home(each)) for each in found}
        return [Ground(places.at(f"{each}/_").store, ("",)) for each in sorted(homes)]

    def _quiet_since(self, table: LanceTable) -> datetime | None:
        """When a table was last changed; None if that is within the window, or is not known."""
        said = table.record.parameters.get(ALTERED, "")
        changed = float(said) if said.isdecimal() else None
        return datetime.fromtimestamp(changed or 0.0, UTC) if self._is_old(changed) else None

    def _is_old(self, changed: float | None) -> bool:
        return changed is not None and changed <= self._clock() - self._window


def _directories(ground: Ground) -> Iterator[str]:
    """The directories that are named as we name those of tables."""
    for folder in ground.folders:
        for entry in ground.store.entries(folder):
            if entry.is_directory and layout.HASHED.match(entry.name):
                yield f"{folder}/{entry.name}" if folder else entry.name
