"""Version files: the manifests that make up the history of a Lance table, found by their names."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import NamedTuple

from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.versions import STAGED, TableVersion, final_name
from lanceyard.errors import InvalidInputError
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

LOGGER = logging.getLogger(__name__)
VERSIONS = "_versions"
LAST = 2**64 - 1
MAGIC = b"LANC"
ENDING = "manifest"
COUNTING_DOWN = len(f"{LAST}.{ENDING}")
"""The length of names that count down; of those, the first is the newest."""


class Published(NamedTuple):
    """What became of a staged manifest."""

    is_ours: bool
    """It has its final name now, or had it already."""
    aside: tuple[str, ...] = ()
    """Where other manifests, which had that name, were moved."""


class VersionFiles:
    """The ``_versions`` directory of a Lance table.

    Lance names manifests in two ways: the current one counts down, so that a listing begins with
    the newest; the older one counts up.
    """

    def __init__(self, store: Store, table: str) -> None:
        """Look at the table in a directory of a store; ``""`` is its root."""
        self._store = store
        self.folder = f"{table}/{VERSIONS}" if table else VERSIONS
        self._counts_down = True

    def path(self, version: int) -> str:
        """Where the manifest of a version lies, in the naming that this table uses."""
        return self.path_of(self.name(version))

    def path_of(self, name: str) -> str:
        """Where a manifest of a name lies."""
        return f"{self.folder}/{name}"

    def name(self, version: int) -> str:
        """The name of a version's manifest, in the naming that this table uses."""
        stem = f"{LAST - version:020d}" if self._counts_down else str(version)
        return f"{stem}.{ENDING}"

    def path_like(self, name: str, version: int) -> str:
        """Where the manifest of a version lies, in the naming of one that is known."""
        stem, _, _ = name.partition(".")
        self._counts_down = len(stem) == len(str(LAST))
        return self.path(version)

    def exists(self, version: int) -> bool:
        """Whether a version is there."""
        return self._store.is_file(self.path(version))

    def newest_first(self) -> list[int]:
        """All versions, newest first. One listing of the directory."""
        return sorted(self.names(), reverse=True)

    def newest(self) -> tuple[int, str] | None:
        """The newest version and the name of its manifest. One listing."""
        named = [name for name in self._store.names(self.folder) if name.endswith(f".{ENDING}")]
        if named and all(len(name) == COUNTING_DOWN for name in named):
            named = [min(named)]
        numbered = [(number, name) for name in named if (number := number_of(name)) is not None]
        return max(numbered, default=None)

    def names(self) -> dict[int, str]:
        """The name of every manifest that is published, by version. One listing."""
        found: dict[int, str] = {}
        for entry in self._store.entries(self.folder):
            stem, _, ending = entry.name.partition(".")
            number = number_of(entry.name)
            if ending == ENDING and number is not None:
                self._counts_down = len(stem) == len(str(LAST))
                found[number] = entry.name
        return found

    def version(self, number: int, name: str) -> TableVersion | None:
        """What the manifest of a version tells from outside; None if it is not there."""
        stat = self._store.stat(self.path_of(name))
        if stat is None:
            return None
        return TableVersion(number, name, stat.size, stat.e_tag, round(stat.modified * 1000))

    def is_torn(self, version: int) -> bool:
        """Whether the manifest of a version was cut short, as a power failure can leave it."""
        data = self._store.get(self.path(version))
        return data is not None and not data.endswith(MAGIC)

    def move_aside(self, version: int, mark: str) -> None:
        """Take a torn manifest out of the way of the next commit, for `repair` to look at."""
        self._store.move(self.path(version), f"{self.path(version)}-torn-{mark}")

    def staged(
        self, identifier: Identifier, asked: TableVersion, at: float | None = None
    ) -> TableVersion:
        """The version that a request wants, once its staged manifest is known to be there.

        It is of a moment, in seconds since the epoch, or of when it was staged. Raises
        `InvalidInputError` if the manifest is not staged in this table's directory.
        """
        path = self.path_of(asked.manifest)
        found = self._store.stat(path)
        if found is None:
            raise InvalidInputError(
                f"there is no staged manifest {asked.manifest!r} of table {identifier}"
            )
        self._store.sync(path)
        return TableVersion(
            asked.number,
            asked.manifest,
            asked.size or found.size,
            asked.e_tag or found.e_tag,
            round((found.modified if at is None else at) * 1000),
            asked.metadata,
            asked.manifest,
        )

    def publish(self, staged: str, *, insist: bool = False) -> Published:
        """Give a staged manifest its final name, if no other manifest has it.

        With `insist` one that does is moved aside. Doing it twice is doing it once, also at the
        same time.
        """
        final = final_name(staged)
        source, target = self.path_of(staged), self.path_of(final)
        moved: list[str] = []
        try:
            while not self._store.copy_if_absent(source, target):
                ours = self._store.get(source)
                if ours is None or ours == self._store.get(target):
                    break
                if not insist:
                    return Published(is_ours=False)
                moved += self._move_other_aside(final, ours)
        except FileNotFoundError:
            # Published already, by whoever removed the staged file.
            return Published(self._store.is_file(target), tuple(moved))
        self._store.sync(self.folder)
        self._store.delete(source)
        return Published(is_ours=True, aside=tuple(moved))

    def was_published(self, staged: str) -> bool:
        """Whether a staged manifest that is gone is known to have got its final name."""
        return self._store.is_copy(self.path_of(final_name(staged)), self.path_of(staged))

    def set_aside(self, name: str, is_ours: Callable[[], bool]) -> str | None:
        """Move a manifest aside that is not part of its table, and return its new name.

        None, and nothing is changed in the end, if it turns out to be `is_ours` by then.
        """
        aside = foreign_name(name)
        try:
            self._store.move(self.path_of(name), self.path_of(aside))
        except FileNotFoundError:
            return None  # another one was faster
        if not is_ours():
            return aside
        if self._store.copy_if_absent(self.path_of(aside), self.path_of(name)):
            # A writer came in between: this may be its manifest, or gives way when it publishes.
            self._store.delete(self.path_of(aside))
        return None

    def remove(self, numbers: Ranges, is_ours: Callable[[int], bool]) -> None:
        """Delete the manifests of versions, except for those that are `is_ours` again by then."""
        for number, name in self.names().items():
            if not numbers.has(number):
                continue
            doomed = self.path_of(f"{name}-deleted-{uuid.uuid4().hex}")
            try:
                self._store.move(self.path_of(name), doomed)
            except FileNotFoundError:
                continue  # others have removed it
            # A writer may have come in between, with a new version of this number.
            if is_ours(number):
                self._store.copy_if_absent(doomed, self.path_of(name))
            self._store.delete(doomed)

    def _move_other_aside(self, final: str, ours: bytes) -> list[str]:
        """Move a manifest aside and return its new name, unless it is ours by now."""
        aside = foreign_name(final)
        target, place = self.path_of(final), self.path_of(aside)
        try:
            self._store.move(target, place)
        except FileNotFoundError:
            return []  # another one was faster
        if self._store.get(place) != ours:
            return [aside]
        self._store.copy_if_absent(place, target)
        self._store.delete(place)
        return []


def after_commit(work: Callable[[], object]) -> None:
    """Do what a change that has landed leaves to do; what fails is left to the next reader."""
    try:
        work()
    except OSError as failure:
        LOGGER.warning("a commit has landed, and is to be carried on later: %s", failure)


def report_foreign(table: str, number: int, aside: str) -> None:
    """Tell that a manifest was moved aside, to a path."""
    LOGGER.warning(
        "somebody wrote version %d of table %s past the catalog; it is not part of the table, "
        "and was moved to %s",
        number,
        table,
        aside,
    )


def foreign_name(final: str) -> str:
    """A new name for a manifest that is not part of its table."""
    return f"{final}-foreign-{uuid.uuid4().hex}"


def number_of(name: str) -> int | None:
    """The version that the name of a manifest, staged or published, speaks of."""
    stem, _, ending = name.partition(".")
    if not (ending == ENDING or ending.startswith(STAGED[1:])) or not stem.isdecimal():
        return None
    return LAST - int(stem) if len(stem) == len(str(LAST)) else int(stem)
