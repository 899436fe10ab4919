"""Managed versions: the metastore says which version of a table is the latest (document 002).

A writer stages a manifest, the metastore swaps the latest version for it, and the manifest is
published under its final name. Whoever meets a latest version whose manifest is still staged
carries on from there. What lies in ``_versions`` beyond the latest is not part of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lanceyard import errors
from lanceyard.catalog.base import VersionPage, Versions
from lanceyard.catalog.hive.places import Places
from lanceyard.catalog.hive.swaps import ATTEMPTS, ConflictError, Swaps, too_busy
from lanceyard.catalog.hive.tables import LanceTable
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.version_files import VersionFiles, after_commit, report_foreign
from lanceyard.catalog.versions import TableVersion
from lanceyard.identifier import Identifier


class ManagedVersions:
    """The versions of the tables that the metastore manages."""

    def __init__(
        self,
        find: Callable[[Identifier], LanceTable],
        swaps: Swaps,
        places: Places,
    ) -> None:
        """Take how a table is found, changed, and where it lies."""
        self._find = find
        self._swaps = swaps
        self._places = places
        self._published: dict[str, str] = {}
        """By location: the manifest that is known to have got its final name last."""

    def adopted(self, identifier: Identifier, table: LanceTable) -> LanceTable:
        """The table with the versions that lie in its directory, if it is new to them.

        They were written past the catalog into a declared table, or before it was managed.
        """
        while table.is_managed and table.is_new:
            newest = self.newest_at(table.location)
            if newest is None:
                break
            try:
                return self._swaps.swap(table, table.at_version(newest))
            except ConflictError:
                table = self._find(identifier)
        return table

    def newest_at(self, location: str) -> TableVersion | None:
        """The newest version that lies at a location."""
        files = self._places.files(location)
        found = files.newest()
        return None if found is None else files.version(*found)

    def page(self, identifier: Identifier, page: VersionPage) -> Versions:
        """A page of a table's versions; those whose manifests others removed are left out."""
        table = self._find(identifier)
        files = self._files(table)
        latest = self._latest(identifier, table)
        names = files.names()
        if any(number > table.version for number in names):
            self.expel(identifier, table)
        numbers = [n for n in names if n <= table.version and page.follows(n)]
        wanted = sorted(numbers, reverse=page.descending)[: page.limit]
        found = [
            latest if latest is not None and n == latest.number else files.version(n, names[n])
            for n in wanted
        ]
        return Versions([v for v in found if v is not None], len(numbers) > len(wanted))

    def find(self, identifier: Identifier, number: int) -> TableVersion:
        """A version of a table, whose manifest has its final name when this returns.

        Raises `TableVersionNotFoundError`, also if others have removed its manifest.
        """
        table = self._find(identifier)
        files = self._files(table)
        found = None
        if number == table.version:
            found = self._latest(identifier, table)
        elif number < table.version:
            name = files.names().get(number)
            found = None if name is None else files.version(number, name)
        if found is None:
            raise errors.version_not_found(identifier, number)
        return found

    def create(self, identifier: Identifier, asked: TableVersion) -> TableVersion:
        """Make a staged manifest the latest version of a table.

        The same request again succeeds.

        Raises
        ------
        TableVersionAlreadyExistsError
            Others have committed a version of that number.
        ConcurrentModificationError
            It leaves a gap, and so was built upon something that was written past the catalog.
        InvalidInputError
            The manifest is not staged in this table's directory.
        """
        for _ in range(ATTEMPTS):
            table = self._find(identifier)
            last = table.version
            if asked.number <= last:
                return self._created_before(identifier, table, asked)
            staged = self._staged(identifier, table, asked)
            if last and asked.number > last + 1:
                self.expel(identifier, table)
                self._discard(table, staged)
                raise errors.ConcurrentModificationError(
                    f"table {identifier} is at version {last}, so version {asked.number} builds "
                    "upon something that was written past the catalog: open it anew and try again"
                )
            self._latest(identifier, table)  # or its manifest would be forgotten
            try:
                self._swaps.swap(table, table.at_version(staged))
            except ConflictError:
                continue
            after_commit(partial(self._publish, identifier, table, staged))
            return staged.published()
        raise too_busy(identifier)

    def delete(self, identifier: Identifier, numbers: Ranges, *, must_exist: bool) -> int:
        """Forget versions, as far as they are there, and count them; data files stay."""
        for _ in range(ATTEMPTS):
            table = self._find(identifier)
            files = self._files(table)
            self._latest(identifier, table)
            names = {n: name for n, name in files.names().items() if n <= table.version}
            missing = numbers.minus(Ranges.of(names))
            if must_exist and missing:
                raise errors.version_not_found(identifier, missing[0][0])
            doomed = Ranges.of(number for number in names if numbers.has(number))
            if doomed.has(table.version):
                left = max((n for n in names if not doomed.has(n)), default=None)
                newest = None if left is None else files.version(left, names[left])
                try:
                    table = self._swaps.swap(table, table.at_version(newest))
                except ConflictError:
                    continue
            is_back = partial(self._is_back, identifier, table)
            after_commit(partial(files.remove, doomed, is_back))
            return doomed.size
        raise too_busy(identifier)

    def expel(self, identifier: Identifier, seen: LanceTable) -> None:
        """Move manifests aside that are newer than the latest version, and so are none of ours.

        A manifest gets its final name after the swap: one that is there before we look at the
        table, and is newer, was written past the catalog.
        """
        files = self._files(seen)
        names = files.names()
        table = self._find(identifier)
        if table.location != seen.location:
            return
        for number, name in names.items():
            if number > table.version:
                aside = files.set_aside(name, partial(self._reaches, identifier, table, number))
                if aside is not None:
                    self._report(identifier, table, number, aside)

    def _latest(self, identifier: Identifier, table: LanceTable) -> TableVersion | None:
        """The latest version, published; None if there is none, or its manifest is lost."""
        files, latest = self._files(table), table.latest
        if latest is None:
            name = files.names().get(table.version)
            return None if name is None else files.version(table.version, name)
        if latest.is_staged and self._published.get(table.location) != latest.manifest:
            is_there = self._publish(identifier, table, latest)
        else:
            is_there = self._places.at(table.location).store.exists(files.path_of(latest.final))
        return latest.published() if is_there else None

    def _publish(self, identifier: Identifier, table: LanceTable, version: TableVersion) -> bool:
        """Give a committed manifest its final name; False if it is lost.

        Another manifest that has that name was not committed through the catalog.
        """
        published = self._files(table).publish(version.manifest, insist=True)
        for aside in published.aside:
            self._report(identifier, table, version.number, aside)
        if published.is_ours:
            self._published[table.location] = version.manifest
        return published.is_ours

    def _created_before(
        self, identifier: Identifier, table: LanceTable, asked: TableVersion
    ) -> TableVersion:
        """The version that the same request created before. Raises `version_exists` for others."""
        latest = table.latest
        if latest is not None and latest.number == asked.number:
            again = latest.staged_as == asked.manifest or latest.is_same_request(asked)
            found = self._latest(identifier, table) if again else None
        else:
            name = self._files(table).names().get(asked.number)
            found = None if name is None else self._files(table).version(asked.number, name)
            found = found if found is not None and found.is_same_request(asked) else None
        if found is None:
            self.expel(identifier, table)
            raise errors.version_exists(identifier, asked.number, table.version)
        return found

    def _staged(
        self, identifier: Identifier, table: LanceTable, asked: TableVersion
    ) -> TableVersion:
        """The version that a request wants, once its staged manifest is known to be there."""
        return self._files(table).staged(identifier, asked)

    def _discard(self, table: LanceTable, refused: TableVersion) -> None:
        """What was refused for building upon something foreign must not fit later on."""
        place = self._places.at(table.location)
        place.store.delete(self._files(table).path_of(refused.manifest))

    def _reaches(self, identifier: Identifier, seen: LanceTable, number: int) -> bool:
        """Whether a version is part of a table by now."""
        table = self._find(identifier)
        return table.location == seen.location and number <= table.version

    def _is_back(self, identifier: Identifier, seen: LanceTable, number: int) -> bool:
        """Whether a version that was deleted has been created anew since."""
        return number > seen.version and self._reaches(identifier, seen, number)

    def _report(self, identifier: Identifier, table: LanceTable, number: int, aside: str) -> None:
        path = f"{table.location}/_versions/{aside}"
        report_foreign(identifier.object_id, number, path)

    def _files(self, table: LanceTable) -> VersionFiles:
        return self._places.files(table.location)
