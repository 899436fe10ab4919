"""The view: the newest version of the manifest, indexed in memory, proven fresh on each look."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest.homes import FileKey, Homes, Residents
from lanceyard.catalog.directory.manifest.table import Commit, ManifestTable
from lanceyard.catalog.ranges import NONE, Ranges
from lanceyard.catalog.snapshot import Edit, Row, Snapshot, parent_id
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.catalog.versions import version_id
from lanceyard.errors import InternalError
from lanceyard.storage.base import Store

TRIES = 10
YOUNG_VERSION = 5
GLIMPSES = 4
WORTH_A_GLIMPSE = 500
FEW_VERSIONS = 100
MOMENT = 5.0
"""Seconds for which a version passes for the newest, where only a commit can prove it wrong."""


class View:
    """What one process knows of the manifest. Callers hold `lock` while they use what it gives."""

    def __init__(
        self, store: Store, files: VersionFiles, *, window: float, clock: Callable[[], float]
    ) -> None:
        """Know nothing yet."""
        self._store = store
        self._files = files
        self._window = window
        self._clock = clock
        self.lock = threading.RLock()
        self.homes = Homes()
        self.torn: list[int] = []
        """Versions newer than ours that were cut short."""
        self.foreign_at = float("-inf")
        """When another kind of writer was last seen to move rows."""
        self.young_at = float("-inf")
        """When the manifest was seen so young that a late bootstrap may yet wipe it."""
        self._table: ManifestTable | None = None
        self._snapshot: Snapshot | None = None
        self._indexed = 0
        self._own_exists: Callable[[], bool] = bool
        self._next_exists: Callable[[], bool] = bool
        self._listed_at = float("-inf")
        self.proven_at = float("-inf")
        """When the version that we hold was last seen to be the newest."""
        self._trusts = False
        self._glimpses = 0

    @property
    def held(self) -> ManifestTable | None:
        """The version that the last answer was about."""
        return self._table

    @property
    def is_indexed(self) -> bool:
        """Whether all rows of the version that we hold are at hand."""
        return self._table is not None and self._indexed == self._table.version

    def at_hand(self) -> ManifestTable | None:
        """The newest version, if it is indexed and that takes no reading to tell."""
        if self._table is None or self._indexed != self._table.version or not self._is_fresh():
            return None
        return self._table

    def about(self, object_ids: Iterable[str]) -> Snapshot:
        """A state that is right about some objects and the namespaces above them.

        It is the newest state, unless that would cost more to read than the rows in question: so a
        new process takes its first few answers straight from the table's index, and beside a
        writer that rewrites everything not everything is read again each time.
        """
        table = self.table()
        if table is not None and self._indexed == table.version and self._snapshot is not None:
            return self._snapshot
        if table is None or self._glimpses >= GLIMPSES or self._unread(table) <= WORTH_A_GLIMPSE:
            return self.snapshot()
        self._glimpses += 1
        return Snapshot(table.find({link for each in object_ids for link in _chain(each)}))

    def snapshot(self) -> Snapshot:
        """The newest state; empty where there is no manifest yet."""
        table = self.table()
        if table is None:
            self._snapshot, self.homes, self._indexed = Snapshot(), Homes(), 0
        elif self._snapshot is None or self._indexed != table.version:
            self._index(table)
        assert self._snapshot is not None
        return self._snapshot

    def version_rows(self, table: str, numbers: Collection[int]) -> list[Row]:
        """The rows of some versions of a table, read from where they lie."""
        held = self.table()
        if held is None or not numbers:
            return []
        if len(numbers) <= FEW_VERSIONS:
            return held.find(version_id(table, number) for number in numbers)
        wanted = set(numbers)
        found = (row for _, rows in held.rows(self.homes.of_versions(table)) for row in rows)
        return [r for r in found if r.version and r.version[0] == table and r.version[1] in wanted]

    def table(self) -> ManifestTable | None:
        """The newest version, or None where there is no manifest yet.

        Two probes prove that the version we hold is the newest: nothing younger than the window is
        removed, so if it is there and its successor is not, there is none. Half a window after the
        last listing we list again, as a tagged version may outlive its successors. Until then the
        one that was listed cannot be gone, so where a probe takes time that one is spared.
        """
        if self._trusts and self._was_proven_lately():
            return self._table
        return self._table if self._is_fresh() else self._look()

    @contextlib.contextmanager
    def trusting(self) -> Iterator[None]:
        """Let what was the newest version a moment ago pass for it, where asking takes time.

        For checks of what is about to be committed: a commit lands on the newest version alone.
        """
        before, self._trusts = self._trusts, not self._store.is_near
        try:
            yield
        finally:
            self._trusts = before

    def distrust(self) -> None:
        """Look anew next time: somebody has committed."""
        self.proven_at = float("-inf")

    def _was_proven_lately(self) -> bool:
        age = time.monotonic() - self.proven_at
        return self._table is not None and not self.torn and age < min(MOMENT, self._window / 4)

    def _is_fresh(self) -> bool:
        if self._table is None or self._clock() - self._listed_at >= self._window / 2:
            return False
        asked = time.monotonic()
        if self._next_exists() or (self._store.is_near and not self._own_exists()):
            return False
        self.proven_at = asked
        return True

    def advance(self, base: ManifestTable, commit: Commit, edit: Edit) -> None:
        """Take over a commit of our own, if nobody moved rows, or the view, meanwhile."""
        between = range(base.version + 1, commit.table.version)
        if self._table is not base or not all(map(commit.table.moves_no_rows, between)):
            return
        self.proven_at = time.monotonic()
        if self._indexed != base.version or self._snapshot is None:
            self._hold(commit.table, [], ours=True)
            return
        for key in self.homes.keys - {f.key for f in commit.table.fragments}:
            self.homes.forget(key)
        for key, residents in commit.placed.items():
            self.homes.put(key, residents)
        self._snapshot.apply(edit)
        self._hold(commit.table, [], ours=True)
        self._indexed = commit.table.version

    def _look(self) -> ManifestTable | None:
        failure: Exception | None = None
        for _ in range(TRIES):
            asked = time.monotonic()
            torn: list[int] = []
            versions = self._candidates()
            for version in versions:
                try:
                    table = self._open(version)
                except (OSError, ValueError) as cause:
                    failure = cause
                    if not self._files.is_torn(version):
                        break  # removed meanwhile: look again
                    torn.append(version)
                else:
                    self._hold(table, torn)
                    self.proven_at = asked
                    return table
            if len(torn) == len(versions) and not self._store.has_file(f"{MANIFEST}/data"):
                self._table, self._snapshot, self.torn = None, None, torn
                return None
            self._listed_at = float("-inf")
        raise InternalError(
            f"{self._store.location(MANIFEST)} is damaged: it holds data, and no version that can "
            f"be opened ({failure or 'there is none'}). Restore it from a backup"
        ) from failure

    def _candidates(self) -> list[int]:
        """Versions that may be the newest, best first."""
        recent = self._clock() - self._listed_at < self._window / 2
        if self._table is not None and recent and not self.torn and self._store.is_near:
            version = self._table.version
            while self._files.exists(version + 1):
                version += 1
            if version > self._table.version:
                return [version]
        self._listed_at = self._clock()
        return self._files.newest_first()

    def _open(self, version: int) -> ManifestTable:
        if self._table is not None and self._table.version == version:
            return self._table
        session: Any = None if self._table is None else self._table.dataset.session()
        return ManifestTable.open(self._store, version, session)

    def _hold(self, table: ManifestTable, torn: list[int], *, ours: bool = False) -> None:
        version = table.version
        if self._table is None and version <= YOUNG_VERSION:
            self.young_at = time.monotonic()
        news = self._table is not None and version > self._table.version
        if news and not ours and not (table.is_ours(version) or table.moves_no_rows(version)):
            self.foreign_at = time.monotonic()
        self._table = table
        self.torn = torn
        self._own_exists = self._store.probe(self._files.path(version))
        self._next_exists = self._store.probe(self._files.path(max([version, *torn]) + 1))

    def _index(self, table: ManifestTable) -> None:
        """Bring the snapshot to a version by reading only fragments not seen before."""
        keys = {fragment.key for fragment in table.fragments}
        new = keys - self.homes.keys
        if self._snapshot is None or self._unread(table) > len(self._snapshot):
            self._snapshot = self._read_all(table)
        else:
            self._read_new(table, self._snapshot, new, self.homes.keys - keys)
        self._indexed = table.version
        self._glimpses = 0

    def _unread(self, table: ManifestTable) -> int:
        known = self.homes.keys if self._snapshot is not None else set()
        return sum(f.rows for f in table.fragments if f.key not in known)

    def _read_all(self, table: ManifestTable) -> Snapshot:
        self.homes = Homes()
        rows = []
        for key, found in table.rows([f.key for f in table.fragments]):
            rows += found
            self.homes.put(key, _residents(found))
        return Snapshot(rows)

    def _read_new(
        self, table: ManifestTable, snapshot: Snapshot, new: set[FileKey], gone: set[FileKey]
    ) -> None:
        added: dict[str, Row] = {}
        for key, found in table.rows(new):
            added.update((row.object_id, row) for row in found)
            self.homes.put(key, _residents(found))
        lost = [self.homes.forget(key) for key in gone]
        ids = [object_id for residents in lost for object_id in residents.object_ids]
        before = {object_id: snapshot.raw(object_id) for object_id in (*ids, *added)}
        removed = {object_id: row for object_id, row in before.items() if row is not None}
        versions: dict[str, Ranges] = {}
        for residents in lost:
            for owner, numbers in residents.versions.items():
                versions[owner] = versions.get(owner, NONE).union(numbers)
        snapshot.apply(Edit(removed, added, {}, versions))


class PastView(View):
    """One version of the manifest, whatever comes after it."""

    def __init__(
        self, past: ManifestTable, store: Store, files: VersionFiles, **times: Any
    ) -> None:
        """Know that version."""
        super().__init__(store, files, **times)
        self._table = past

    def _is_fresh(self) -> bool:
        return True


def _residents(rows: Iterable[Row]) -> Residents:
    return Residents.of((row.object_id, row.object_type) for row in rows)


def _chain(object_id: str) -> Iterator[str]:
    """An object id and those of the namespaces above it."""
    while object_id:
        yield object_id
        object_id = parent_id(object_id)
