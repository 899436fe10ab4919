"""Version files: the manifests that make up the history of a Lance table, found by their names."""

from __future__ import annotations

from typing import NamedTuple

from lanceyard.catalog.versions import STAGED, final_name
from lanceyard.storage.base import Store

VERSIONS = "_versions"
LAST = 2**64 - 1
MAGIC = b"LANC"
ENDING = "manifest"


class Published(NamedTuple):
    """What became of a staged manifest."""

    is_ours: bool
    """It has its final name now, or had it already."""
    aside: str | None = None
    """Where another manifest, which had that name, was moved."""


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

    def exists(self, version: int) -> bool:
        """Whether a version is there."""
        return self._store.exists(self.path(version))

    def newest_first(self) -> list[int]:
        """All versions, newest first. One listing of the directory."""
        return sorted(self.names(), reverse=True)

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

    def is_torn(self, version: int) -> bool:
        """Whether the manifest of a version was cut short, as a power failure can leave it."""
        data = self._store.get(self.path(version))
        return data is not None and not data.endswith(MAGIC)

    def move_aside(self, version: int, mark: str) -> None:
        """Take a torn manifest out of the way of the next commit, for `repair` to look at."""
        self._store.move(self.path(version), f"{self.path(version)}-torn-{mark}")

    def publish(self, staged: str, *, aside: str | None = None) -> Published:
        """Give a staged manifest its final name, if no other manifest has it.

        With `aside` one that does is moved to that name instead. Doing it twice is doing it once.
        """
        source, target = self.path_of(staged), self.path_of(final_name(staged))
        moved = None
        try:
            if not self._store.copy_if_absent(source, target) and self._differ(source, target):
                if aside is None:
                    return Published(is_ours=False)
                self._store.move(target, self.path_of(aside))
                moved = aside
                self._store.copy_if_absent(source, target)
        except FileNotFoundError:
            # Published already, by whoever removed the staged file, and we may have moved that.
            if moved is not None:
                self._store.copy_if_absent(self.path_of(moved), target)
            return Published(self._store.exists(target))
        self._store.sync(self.folder)
        self._store.delete(source)
        return Published(is_ours=True, aside=moved)

    def _differ(self, one: str, other: str) -> bool:
        return self._store.get(one) != self._store.get(other)


def number_of(name: str) -> int | None:
    """The version that the name of a manifest, staged or published, speaks of."""
    stem, _, ending = name.partition(".")
    if not (ending == ENDING or ending.startswith(STAGED[1:])) or not stem.isdecimal():
        return None
    return LAST - int(stem) if len(stem) == len(str(LAST)) else int(stem)
