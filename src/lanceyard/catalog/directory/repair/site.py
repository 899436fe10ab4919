"""The site: what every check of a repair works with, and the rules that all of them keep."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lanceyard.catalog.changes import Change
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.claims import Claims
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.repair.trash import Trash
from lanceyard.catalog.directory.transactions import DirectoryTransactions
from lanceyard.catalog.directory.versions import ManagedVersions
from lanceyard.catalog.maintenance import Finding, Kind
from lanceyard.catalog.snapshot import Row, Snapshot
from lanceyard.errors import ConcurrentModificationError
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store


class BusyError(Exception):
    """Raised when somebody is at work on what is to be mended."""


class Case(NamedTuple):
    """A finding, and how it is mended. Mending what has mended itself does nothing."""

    finding: Finding
    mend: Callable[[], None]


@dataclass
class Site:
    """A root under repair."""

    store: Store
    manifest: Manifest
    trash: Trash
    window: float
    clock: Callable[[], float]
    unreferenced_for: timedelta
    versions: ManagedVersions
    transactions: DirectoryTransactions
    bare: bool
    """The layout of document 001."""
    lists_directories: bool
    """Whether root tables are found without a row."""
    obeys_rows: bool
    """Whether the manifest decides; programs that know only directories see what lies there."""
    rebuilds: bool = False
    """Whether the manifest has lost rows, so that a table without one is not an orphan."""
    rows: Snapshot = field(default_factory=Snapshot)
    """What the manifest said when it was last read."""
    owners: dict[str, Row] = field(default_factory=dict)
    """The rows of tables by their locations."""

    def read_rows(self) -> None:
        """Read the manifest. Raises what reading it raises."""
        self.rows = Snapshot(self.manifest.read(lambda state: [*state.rows()]))
        self.rows.is_occupied("")  # indexed here, before threads ask
        self.owners = {row.location: row for row in self.rows.rows() if row.location}

    def finding(self, kind: Kind, path: str, why: str, since: datetime | None) -> Finding:
        """A finding about a directory, with the table whose row refers to it, if one does."""
        row = self.owners.get(path)
        return Finding(kind, path, why, row.object_id if row else None, since)

    def quiet_since(self, path: str) -> datetime | None:
        """When something at a path last changed; None if that is within the window."""
        changed = self.store.changed(path)
        if changed is None or changed > self.clock() - self.window:
            return None
        return datetime.fromtimestamp(changed, UTC)

    def with_path(self, path: str, mend: Callable[[], None]) -> None:
        """Mend a directory that nobody changes; `BusyError` if somebody turns out to do so."""

        def mend_if_quiet() -> None:
            if self.quiet_since(path) is None:
                raise BusyError(path)
            with self._claimed(path):
                mend()

        self.while_held(path, mend_if_quiet)

    def is_claimed(self, path: str) -> bool:
        """Whether a claim keeps others from a directory that we mend: those of root tables."""
        return not self.store.has_locks and layout.table_name(path, bare=self.bare) is not None

    @contextlib.contextmanager
    def _claimed(self, path: str) -> Iterator[None]:
        """Keep others from a directory that has been quiet, where a claim does."""
        name = layout.table_name(path, bare=self.bare)
        if name is None or not self.is_claimed(path):
            yield
            return
        claims = Claims(self.store, self.window, self.clock)
        with contextlib.ExitStack() as claimed:
            try:
                claimed.enter_context(claims.taken(Identifier((name,)), path, patience=0.0))
            except ConcurrentModificationError as held:
                raise BusyError(path) from held
            if not claims.is_abandoned(path, claimed=True):
                raise BusyError(path)
            yield

    def while_held(self, path: str, mend: Callable[[], None]) -> None:
        """Mend something in a directory that others change; `BusyError` if one of them holds it."""
        try:
            with self.store.hold(path, 0.0):
                mend()
        except TimeoutError as held:
            raise BusyError(path) from held

    def commit(self, change: Change) -> None:
        """Change rows, if they are as they were when they were looked at."""
        try:
            self.manifest.commit(change)
        except ConcurrentModificationError:
            return
