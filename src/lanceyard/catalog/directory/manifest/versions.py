"""Versions: the files that make up the history of a Lance table, found without opening it."""

from __future__ import annotations

from lanceyard.storage.base import Store

LAST = 2**64 - 1
MAGIC = b"LANC"


class VersionFiles:
    """The ``_versions`` directory of a Lance table.

    Lance names manifests in two ways: the current one counts down, so that a listing begins with
    the newest; the older one counts up.
    """

    def __init__(self, store: Store, table: str) -> None:
        """Look at the table in a directory of a store."""
        self._store = store
        self.folder = f"{table}/_versions"
        self._counts_down = True

    def path(self, version: int) -> str:
        """Where the manifest of a version lies, in the naming that this table uses."""
        name = f"{LAST - version:020d}" if self._counts_down else str(version)
        return f"{self.folder}/{name}.manifest"

    def exists(self, version: int) -> bool:
        """Whether a version is there."""
        return self._store.exists(self.path(version))

    def newest_first(self) -> list[int]:
        """All versions, newest first. One listing of the directory."""
        found = sorted(
            filter(None, (self._parse(e.name) for e in self._store.entries(self.folder)))
        )
        return found[::-1]

    def is_torn(self, version: int) -> bool:
        """Whether the manifest of a version was cut short, as a power failure can leave it."""
        data = self._store.get(self.path(version))
        return data is not None and not data.endswith(MAGIC)

    def move_aside(self, version: int, mark: str) -> None:
        """Take a torn manifest out of the way of the next commit, for `repair` to look at."""
        self._store.move(self.path(version), f"{self.path(version)}-torn-{mark}")

    def _parse(self, name: str) -> int | None:
        stem, dot, ending = name.partition(".")
        if not dot or ending != "manifest" or not stem.isdecimal():
            return None
        self._counts_down = len(stem) == len(str(LAST))
        return LAST - int(stem) if self._counts_down else int(stem)
