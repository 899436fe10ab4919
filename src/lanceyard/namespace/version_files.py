"""Versions that are files: those of tables whose catalog keeps none, and those of branches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from lanceyard import errors
from lanceyard.catalog.base import TableEntry, VersionPage, Versions
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.catalog.versions import TableVersion
from lanceyard.identifier import Identifier
from lanceyard.settings import DirectorySettings
from lanceyard.storage import Store, open_store
from lanceyard.storage.base import is_relative

MAIN = "main"


class BranchFiles:
    """The manifests of one branch of a table, as document 003 has them without managed versions."""

    def __init__(
        self,
        identifier: Identifier,
        entry: TableEntry,
        options: Mapping[str, str],
        branch: str | None,
    ) -> None:
        """Look at a branch of a table; None is the main one."""
        self._identifier = identifier
        self._store = _open(entry.location, tuple(sorted(options.items())))
        self._files = VersionFiles(self._store, branch_folder(branch))

    def page(self, page: VersionPage) -> Versions:
        """A page of the versions."""
        names = self._files.names()
        numbers = [n for n in sorted(names, reverse=page.descending) if page.follows(n)]
        wanted = numbers[: page.limit]
        found = [self._files.version(number, names[number]) for number in wanted]
        return Versions([v for v in found if v is not None], len(numbers) > len(wanted))

    def latest(self) -> TableVersion | None:
        """The newest version; None if there is none."""
        found = self._files.newest()
        return None if found is None else self._files.version(*found)

    def has(self, version: TableVersion) -> bool:
        """Whether a version that was seen is still the same."""
        return self._files.version(version.number, version.manifest) == version

    def find(self, number: int) -> TableVersion:
        """One version. Raises `TableVersionNotFoundError`."""
        name = self._files.names().get(number)
        found = None if name is None else self._files.version(number, name)
        if found is None:
            raise errors.version_not_found(self._identifier, number)
        return found

    def create(self, version: TableVersion) -> TableVersion:
        """Publish a staged manifest, unless another has its name.

        The same request again succeeds: the published file is the staged one, by its ETag or, in a
        bucket, by what it says it was made of.
        """
        name = version.manifest
        if self._store.stat(self._files.path_of(name)) is None:
            return self._created_before(version)
        self._store.sync(self._files.path_of(name))
        if not self._files.publish(name).is_ours:
            raise self._exists(version.number)
        return self.find(version.number)

    def delete(self, numbers: Ranges, *, must_exist: bool) -> int:
        """Delete the manifests of versions, as far as they are there, and count them."""
        names = self._files.names()
        missing = numbers.minus(Ranges.of(names))
        if must_exist and missing:
            raise errors.version_not_found(self._identifier, missing[0][0])
        doomed = [name for number, name in names.items() if numbers.has(number)]
        self._store.delete_all(map(self._files.path_of, doomed))
        return len(doomed)

    def _created_before(self, version: TableVersion) -> TableVersion:
        try:
            found = self.find(version.number)
        except errors.TableVersionNotFoundError:
            raise errors.InvalidInputError(
                f"there is no staged manifest {version.manifest!r} of table {self._identifier}"
            ) from None
        is_same = found.is_same_request(version) or self._files.was_published(version.manifest)
        if not is_same:
            raise self._exists(version.number)
        return found

    def _exists(self, number: int) -> errors.TableVersionAlreadyExistsError:
        last = max(self._files.names(), default=number)
        return errors.version_exists(self._identifier, number, last)


def is_kept(entry: TableEntry, branch: str | None) -> bool:
    """Whether the catalog keeps the versions in question; of branches it never does."""
    return entry.version is not None and branch in (None, MAIN)


def branch_folder(branch: str | None) -> str:
    """Where Lance keeps a branch, from the directory of its table."""
    if branch in (None, MAIN):
        return ""
    if not is_relative(str(branch)):
        raise errors.InvalidInputError(f"{branch!r} is not the name of a branch")
    return f"tree/{branch}"


@lru_cache(maxsize=256)
def _open(location: str, options: tuple[tuple[str, str], ...]) -> Store:
    return open_store(DirectorySettings(root=location, storage=dict(options)))
