"""The catalog as it was: an earlier version of the manifest, and tables at the versions of then."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from lanceyard import errors
from lanceyard.catalog.base import TableEntry, VersionPage, Versions
from lanceyard.catalog.directory.hashed import HashedCatalog
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.history import State
from lanceyard.catalog.readonly import ReadOnlyCatalog
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.catalog.versions import TableVersion
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store


class PastCatalog(ReadOnlyCatalog):
    """A catalog in an earlier state.

    Where versions were rows, each table is at exactly the version it then had. Elsewhere it is the
    last one that is not newer, by the clocks of those who wrote it: a best effort.
    """

    def __init__(self, store: Store, look: Callable[[], tuple[State, Manifest]]) -> None:
        """Read from the manifest of an earlier state; `look` finds it, once it is needed."""
        self._store = store
        self._look = look
        self.storage_options = store.options

    @cached_property
    def _found(self) -> tuple[State, Manifest]:
        return self._look()

    @cached_property
    def _inner(self) -> HashedCatalog:
        return HashedCatalog(self._store, self._found[1])

    @property
    def _why(self) -> str:
        state = self._found[0]
        return f"the catalog as of version {state.version}, {state.at:%Y-%m-%d %H:%M:%S} UTC"

    def describe_table(self, identifier: Identifier) -> TableEntry:
        entry = self._inner.describe_table(identifier)
        if entry.version is not None:
            return entry
        # Marked as managed, so that pylance asks us, and not the files, for the latest version.
        return entry._replace(managed=True, version=max(self._then(entry), default=0))

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        entry = self._inner.describe_table(identifier)
        if entry.version is not None:
            return self._inner.list_versions(identifier, page)
        then = self._then(entry)
        numbers = [n for n in sorted(then, reverse=page.descending) if page.follows(n)]
        wanted = numbers[: page.limit]
        return Versions([then[number] for number in wanted], len(numbers) > len(wanted))

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        entry = self._inner.describe_table(identifier)
        if entry.version is not None:
            return self._inner.find_version(identifier, number)
        found = self._then(entry).get(number)
        if found is None:
            raise errors.version_not_found(identifier, number)
        return found

    def _then(self, entry: TableEntry) -> dict[int, TableVersion]:
        """The versions of a table, known by its files, that were there."""
        files = VersionFiles(self._store, self._store.relative(entry.location) or "")
        found = {}
        for number, name in files.names().items():
            stat = self._store.stat(files.path_of(name))
            if stat is not None and stat.modified <= self._found[0].at.timestamp():
                written = round(stat.modified * 1000)
                found[number] = TableVersion(number, name, stat.size, stat.e_tag, written)
        return found
