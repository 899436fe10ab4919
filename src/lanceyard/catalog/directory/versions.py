"""Managed versions: rows of the manifest that decide which manifests of a table count (003, 004).

A writer stages a manifest, its row is committed, the manifest is published under its final name,
and the row says so. Whoever meets a row whose manifest is still staged carries on from there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from lanceyard import errors
from lanceyard.catalog.base import VersionPage, Versions
from lanceyard.catalog.changes import AdoptVersions, Change, PublishVersions, Together
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.manifest.table import Management
from lanceyard.catalog.maintenance import pages
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.snapshot import TABLE, Row, Snapshot
from lanceyard.catalog.version_files import VersionFiles, report_foreign
from lanceyard.catalog.versions import CreateVersion, TableVersion
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

LOGGER = logging.getLogger(__name__)
FETCH = 1_000
ADOPTED_AT_ONCE = 200
LATEST = VersionPage(limit=1)


class ManagedVersions:
    """The versions of the tables of one manifest."""

    def __init__(self, store: Store, manifest: Manifest, clock: Callable[[], float]) -> None:
        """Keep the versions of tables whose rows are in a manifest."""
        self._store = store
        self._manifest = manifest
        self._clock = clock
        self._guard = threading.Lock()
        self._published: dict[tuple[str, str], dict[int, TableVersion]] = {}
        manifest.before_upkeep(self.flush)

    def page(self, table: Row, numbers: Ranges, page: VersionPage) -> Versions:
        """A page of a table's versions; those whose manifests others removed are left out."""
        order = numbers.descending() if page.descending else numbers.ascending()
        if page == LATEST and numbers:
            number = next(order)
            latest = self.find(table, number)
            if self._store.is_file(self._files(table).path_like(latest.manifest, number + 1)):
                self.expel(table)
            return Versions([latest], numbers.size > 1)
        present = self._files(table).names()
        wanted = filter(page.follows, order)
        found = (v for v in self.read(table, wanted) if self._is_there(table, v, present))
        versions = [v.published() for v in islice(found, page.limit)]
        return Versions(versions, page.limit is not None and next(found, None) is not None)

    def find(self, table: Row, number: int) -> TableVersion:
        """A version of a table, whose manifest has its final name when this returns.

        Raises
        ------
        TableVersionNotFoundError
            There is no such version, or others have removed its manifest.
        """
        for version in self.read(table, [number]):
            if self._was_published(table, version):
                found = self._store.is_file(self._files(table).path_of(version.final))
            else:
                found = self.publish(table, version)
            if found:
                return version.published()
        raise errors.version_not_found(Identifier.from_object_id(table.object_id), number)

    def staged(self, step: CreateVersion, location: str) -> TableVersion:
        """The version that a step creates, once its staged manifest is known to be there.

        Raises
        ------
        InvalidInputError
            The manifest is not staged in this table's directory.
        """
        files = VersionFiles(self._store, location)
        return files.staged(step.identifier, step.version, self._clock())

    def publish(self, table: Row, version: TableVersion) -> bool:
        """Give a committed manifest its final name; False if it is lost.

        Another manifest that has that name was not committed through the catalog: rows decide.
        """
        published = self._files(table).publish(version.manifest, insist=True)
        for aside in published.aside:
            self._report(table, version.number, aside)
        if published.is_ours and version.is_staged:
            self._note(table, version.published())
        return published.is_ours

    def expel(self, table: Row, refused: Sequence[TableVersion] = ()) -> None:
        """Move manifests aside that are newer than the latest version, and so are none of ours.

        What was `refused`, in its order, for building upon such a one must not fit later on, so it
        goes.
        """
        if self._manifest.is_past:
            return
        if self._foreign(table):
            # Best without others who commit a version whose name is still taken.
            with self._manifest.alone():
                for number, name in self._foreign(table).items():
                    self._move_aside(table, number, name)
        last = self._manifest.read(lambda state: _latest_at(state, table))
        if last is not None and refused and refused[0].number > last + 1:
            for version in refused:
                if version.is_staged:
                    self._store.delete(self._files(table).path_of(version.manifest))

    def _foreign(self, table: Row) -> dict[int, str]:
        """The manifests that are newer than the latest version.

        A manifest gets its final name after its row was committed: one that is there before we look
        at the rows, and has none, was written past the catalog.
        """
        names = self._files(table).names()
        last = self._manifest.read(lambda state: _latest_at(state, table))
        return {n: name for n, name in names.items() if last is not None and n > last}

    def _move_aside(self, table: Row, number: int, name: str) -> None:
        aside = self._files(table).set_aside(name, lambda: self._has_row(table, number))
        if aside is not None:
            self._report(table, number, aside)

    def unpublish(self, table: Row, numbers: Ranges) -> None:
        """Delete the manifests of versions whose rows are gone."""
        self._files(table).remove(numbers, lambda number: self._has_row(table, number))

    def adoptable(self, location: str) -> tuple[tuple[int, str], ...]:
        """The versions in a directory, where versions are rows."""
        with self._manifest.lately():
            managed = self._manifest.management() is Management.ON
        return self.lying_at(location) if managed else ()

    def lying_at(self, location: str) -> tuple[tuple[int, str], ...]:
        """Number and metadata of the versions in a directory, oldest first."""
        files = VersionFiles(self._store, location)
        found = []
        for number, name in sorted(files.names().items()):
            version = files.version(number, name)
            if version is not None:
                found.append((number, version.to_json(location)))
        return tuple(found)

    def adopt(self, tables: Iterable[Row]) -> None:
        """Take versions that lie in the directories of tables into the manifest, in one commit."""
        changes = []
        for table in tables:
            versions = self.lying_at(table.location) if table.location else ()
            if versions:
                changes.append(AdoptVersions(table.object_id, table.location or "", versions))
        self._try_each(changes)

    def switch_on(self, wait: float) -> int:
        """Make all versions of all tables rows, after some seconds; return how many tables.

        Until then files decide, also for those who commit through the catalog, so that writers who
        do not yet know of it lose nothing. What they commit while rows are added is seen by the
        second look.
        """
        if self._manifest.management() is Management.OFF:
            self._manifest.manage(Management.ADOPTING)
        if self._manifest.management() is Management.ADOPTING:
            time.sleep(wait)
            self._manifest.manage(Management.ON)
        for _ in range(2):
            tables = self._manifest.read(lambda s: [r for r in s.rows() if r.object_type == TABLE])
            for part in pages([row for row in tables if _is_safe(row)], ADOPTED_AT_ONCE):
                self.adopt(part)
        return len(tables)

    def flush(self) -> None:
        """Write into the rows which manifests were published since."""
        with self._guard:
            published, self._published = self._published, {}
        changes = []
        for (table, location), noted in published.items():
            # One that was deleted, and then created by others under its number, is not ours.
            found = self.read(Row(table, TABLE, location), noted)
            ours = [noted[v.number] for v in found if v.staged_as == noted[v.number].staged_as]
            said = tuple((v.number, v.to_json(location)) for v in ours)
            changes.append(PublishVersions(table, location, said))
        self._try_each(changes)

    def _report(self, table: Row, number: int, aside: str) -> None:
        report_foreign(table.object_id, number, f"{table.location}/_versions/{aside}")

    def _has_row(self, table: Row, number: int) -> bool:
        return self._manifest.read(lambda state: state.versions(table.object_id).has(number))

    def _try_each(self, changes: Sequence[Change]) -> None:
        """Commit changes as one; one by one if a table among them is gone."""
        if not changes:
            return
        try:
            self._manifest.commit(Together("", tuple(changes)))
        except errors.LanceNamespaceError as refusal:
            if len(changes) == 1:
                LOGGER.info("%s was left as it is: %s", changes[0].object_id, refusal)
                return
            for change in changes:
                self._try_each([change])

    def _note(self, table: Row, version: TableVersion) -> None:
        with self._guard:
            key = (table.object_id, table.location or "")
            self._published.setdefault(key, {})[version.number] = version
        self._manifest.poke()

    def _was_published(self, table: Row, version: TableVersion) -> bool:
        """Whether a manifest is known to have got its final name; others may have removed it."""
        key = (table.object_id, table.location or "")
        noted = self._published.get(key, {}).get(version.number)
        return not version.is_staged or (noted is not None and noted.staged_as == version.staged_as)

    def _is_there(self, table: Row, version: TableVersion, present: Mapping[int, str]) -> bool:
        """Whether a manifest has its final name, and no other one has."""
        if self._was_published(table, version):
            return version.number in present
        return self.publish(table, version)

    def read(self, table: Row, numbers: Iterable[int]) -> Iterator[TableVersion]:
        """Versions in the order of their numbers here, as far as they have rows."""
        rest = iter(numbers)
        while part := [*islice(rest, FETCH)]:
            rows = self._manifest.version_rows(table.object_id, part)
            by_number = {row.version[1]: row for row in rows if row.version is not None}
            for number in part:
                if number in by_number:
                    yield TableVersion.from_json(number, by_number[number].metadata)

    def _files(self, table: Row) -> VersionFiles:
        return VersionFiles(self._store, table.location or "")


def _latest_at(state: Snapshot, table: Row) -> int | None:
    """The latest version of a table, if it still is where it was seen."""
    row = state.row(table.object_id)
    if row is None or row.location != table.location:
        return None
    return state.versions(table.object_id).last


def _is_safe(row: Row) -> bool:
    return row.location is not None and layout.is_safe(row.location)
