"""The manifest engine: fresh reads from memory, writes by compare-and-swap, many in one commit."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TypeVar

from lanceyard.catalog.changes import Change, Outcome
from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest.group import Group, Ticket
from lanceyard.catalog.directory.manifest.relay import Relay
from lanceyard.catalog.directory.manifest.table import ConflictError, Management, ManifestTable
from lanceyard.catalog.directory.manifest.upkeep import Upkeep
from lanceyard.catalog.directory.manifest.view import PastView, View
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.snapshot import Edit, Row, Snapshot
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.errors import (
    ConcurrentModificationError,
    InternalError,
    UnknownOutcomeError,
    UnsupportedOperationError,
    is_unanswered,
    storage_failure,
)
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

PATIENCE = 60.0
LONGEST_BACKOFF = 0.1
SETTLE = 0.05
FOREIGN_MEMORY = 2.0
FOREIGN_COMMIT = 0.03
FOREIGN_ROW = 4e-6

_A = TypeVar("_A")


class Manifest:
    """The rows of a V2 catalog.

    Reads answer from a snapshot in memory that is proven fresh on every call. Writes are checked on
    a fresh snapshot and land only if it still is the newest. One instance serves any number of
    threads; any number of processes may write at once.
    """

    def __init__(
        self,
        store: Store,
        *,
        window: float,
        clock: Callable[[], float] = time.time,
        manage_versions: bool = False,
        history: float | None = None,
        past: ManifestTable | None = None,
    ) -> None:
        """Look at the manifest below a root. Nothing is read or written yet.

        With `manage_versions` the versions of tables are rows from the start, if the catalog is
        still empty; one that is not has its own way. Old states are kept for `history` seconds.
        With a `past` version of it that is all there is to be seen, and nothing can be changed.
        """
        self._store = store
        self._manage_versions = manage_versions
        self._history = history
        self._past = past
        self._window = window
        self._clock = clock
        self._files = VersionFiles(store, MANIFEST)
        self._due_work: list[Callable[[], None]] = []
        self._relay = Relay(
            store, carry_out=self._carry_out, prepare=self._give_way, landed=self._have_landed
        )
        self.reset()
        _ALL.add(self)

    def reset(self) -> None:
        """Forget what was read: the child of a fork starts so, its threads and locks being gone."""
        view = View if self._past is None else partial(PastView, self._past)
        self._view = view(self._store, self._files, window=self._window, clock=self._clock)
        self._group = Group(self._relay.land)
        self._upkeep = Upkeep(
            self._store,
            self._files,
            self._due_work,
            window=self._window,
            history=self._history,
            clock=self._clock,
        )
        self._landing = threading.Lock()

    def state_at_hand(self) -> object | None:
        """A mark of the newest state, if that is in memory and nobody keeps it."""
        view = self._view
        if not (self._store.is_near and view.lock.acquire(blocking=False)):
            return None
        try:
            return view.at_hand()
        finally:
            view.lock.release()

    def read(self, ask: Callable[[Snapshot], _A]) -> _A:
        """Ask something of the newest state. The snapshot must not be kept."""
        view = self._view
        with view.lock:
            return ask(view.snapshot())

    def find(self, identifier: Identifier) -> Row | None:
        """The row of an object, unless one of the namespaces above it is missing."""
        object_id = identifier.object_id
        view = self._view
        with view.lock:
            return view.about((object_id,)).row(object_id)

    @contextlib.contextmanager
    def lately(self) -> Iterator[None]:
        """Let reads answer from what was the newest state a moment ago, where asking takes time.

        For what only a commit has to prove.
        """
        with self._view.lock, self._view.trusting():
            yield

    def management(self) -> Management:
        """Whether the versions of tables are rows."""
        with self._view.lock:
            return self._management_of(self._view.table())

    @property
    def held_management(self) -> Management:
        """Whether the versions of tables were rows when we last looked; nothing is read."""
        return self._management_of(self._view.held)

    def manage(self, management: Management) -> None:
        """Say whether the versions of tables are rows."""
        with self.alone(), self._view.lock:
            self._ready().manage(management)

    def look_up(self, identifier: Identifier) -> tuple[Row | None, Management, Ranges | None]:
        """The row of an object as `find` gives it, and its versions if those are rows."""
        object_id = identifier.object_id
        view = self._view
        with view.lock:
            state = view.about((object_id,))
            management = self.held_management
            if management is Management.ON:
                state = view.snapshot()
                return state.row(object_id), management, state.versions(object_id)
            return state.row(object_id), management, None

    def _management_of(self, table: ManifestTable | None) -> Management:
        if table is not None and not (self._manage_versions and not table.count):
            return table.management
        return Management.ON if self._manage_versions else Management.OFF

    def version_rows(self, table: str, numbers: Collection[int]) -> list[Row]:
        """The rows of some versions of a table, in any order."""
        with self._view.lock:
            state = self._view.snapshot()
            latest = state.latest(table)
            if latest is not None and latest.version == (table, *numbers):
                return [latest]
            found = self._view.version_rows(table, numbers)
            for row in found:
                state.has_read(row)
            return found

    def staged(self) -> list[Row]:
        """The rows of versions that say their manifests are staged."""
        with self._view.lock:
            table = self._view.table()
            return [] if table is None else table.staged()

    def properties(self) -> Mapping[str, str]:
        """The properties of the root namespace."""
        with self._view.lock:
            table = self._view.table()
            return {} if table is None else table.properties

    def alter_properties(self, put: Mapping[str, str], unset: Collection[str]) -> None:
        """Put and unset properties of the root namespace."""
        with self.alone(), self._view.lock:
            self._ready().alter_properties(put, unset)

    def commit(self, change: Change, ready: Callable[[], object] | None = None) -> Outcome:
        """Carry out a change. When this returns, it has landed and will stay.

        `ready` waits for what has to be in storage before, and raises if it cannot be.
        """
        if self._past is not None:
            raise UnsupportedOperationError("this is the catalog as of an earlier moment")
        return self._group.submit(change, ready)

    def before_upkeep(self, work: Callable[[], None]) -> None:
        """Have something done, off the write path, some time after each write."""
        self._due_work.append(work)

    def poke(self) -> None:
        """Say that there is work for upkeep."""
        if self._past is None:
            self._upkeep.poke()

    def past(self, version: int) -> Manifest:
        """The manifest as it was at one of its versions. Raises `OSError` or `ValueError`."""
        table = ManifestTable.open(self._store, version)
        return Manifest(self._store, window=self._window, clock=self._clock, past=table)

    @property
    def is_past(self) -> bool:
        """Whether this is an earlier version, which says nothing of what came after it."""
        return self._past is not None

    def states(self) -> Sequence[int]:
        """The versions of the manifest that are kept, oldest first."""
        return self._files.newest_first()[::-1]

    def committed_at(self, version: int) -> float | None:
        """When a version was committed, in seconds since the epoch; None if it is not kept."""
        return self._store.modified(self._files.path(version))

    def version(self) -> int:
        """The newest version; 0 where there is none yet."""
        with self._view.lock:
            table = self._view.table()
            return 0 if table is None else table.version

    def ensure(self) -> int:
        """The newest version, of a manifest that is created if there is none."""
        with self._view.lock:
            return self._ready().version

    def tags(self) -> dict[str, int]:
        """The versions that have names."""
        with self._view.lock:
            table = self._view.table()
        return {} if table is None else table.tags()

    def tag(self, name: str, version: int | None) -> None:
        """Give a version a name, for ever; None takes the name away."""
        with self._view.lock:
            table = self._ready()
        table.tag(name, version)

    def doubled(self) -> set[str]:
        """Object ids that more than one row has, which only other writers can bring about."""
        with self._view.lock:
            self._view.snapshot()
            return self._view.homes.doubled

    def settled(self) -> dict[str, Row]:
        """The rows that were there a window ago, as they were then."""
        before = self._clock() - self._window
        for version in self._files.newest_first():
            written = self._store.modified(self._files.path(version))
            if written is None or written > before:
                continue
            with contextlib.suppress(OSError, ValueError):  # torn, or its files are lost
                table = ManifestTable.open(self._store, version)
                rows = table.rows([fragment.key for fragment in table.fragments])
                return {row.object_id: row for _, found in rows for row in found}
        return {}

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes on this disk from committing, for repairs of the table itself."""
        with self._relay.alone(), self._without_upkeep():
            yield

    def _without_upkeep(self) -> AbstractContextManager[object]:
        """Keep upkeep, a writer like any other, from committing where no condition does."""
        kept_apart = self._store.keeps_conditions
        return contextlib.nullcontext() if kept_apart else self._upkeep.at_work

    def close(self) -> None:
        """Finish background work."""
        self._upkeep.close()

    def pause(self) -> None:
        """Wait until no thread is inside Lance, and keep all out; `resume` lets them in again.

        A fork in the middle of its native code would crash the child.
        """
        self._landing.acquire()
        self._upkeep.at_work.acquire()
        self._view.lock.acquire()

    def resume(self) -> None:
        """End a `pause`, in the thread that made it."""
        self._view.lock.release()
        self._upkeep.at_work.release()
        self._landing.release()

    def _carry_out(self, tickets: Sequence[Ticket], announce: Callable[[], None]) -> None:
        """Settle a batch of tickets, in one commit; `announce` is called right before it."""
        deadline = time.monotonic() + PATIENCE
        backoff = 0.001
        while True:
            try:
                with self._landing, self._without_upkeep():
                    landed = self._try_to_land([t for t in tickets if t.is_wanted()], announce)
                if landed:
                    self._upkeep.poke()
                    return
            except ConflictError as conflict:
                self._view.distrust()
                if time.monotonic() > deadline:
                    raise ConcurrentModificationError(
                        f"other writers kept committing for {PATIENCE:.0f} s; try again"
                    ) from conflict
            time.sleep(random.uniform(0, backoff))
            backoff = min(2 * backoff, LONGEST_BACKOFF)
            self._give_way()

    def _try_to_land(self, tickets: Sequence[Ticket], announce: Callable[[], None]) -> bool:
        """Check changes on the newest state and commit them; False to do it all again."""
        view = self._view
        began = time.monotonic()
        try:
            with view.lock:
                with view.trusting():
                    self._prepared()
                    draft = Draft(self._state_for(tickets))
                    table = view.held
                    assert table is not None
                    for ticket in tickets:
                        ticket.attempt(draft)
                    edit = draft.edit
                    touched = view.homes.touched(edit)
                    if view.is_indexed:
                        touched |= table.to_fold()
                    verified = view.proven_at
                # What a commit does not prove has to be looked at.
                if edit.is_empty and verified < began and view.table() is not table:
                    return False
            announce()
        except OSError as cause:
            raise storage_failure(f"reading {MANIFEST}", cause) from cause
        if edit.is_empty:
            return True
        # A commit from a state older than what clean-up may have removed could land unseen.
        if time.monotonic() - verified > self._window / 2:
            return False
        try:
            self._store.prove_conditions(self._files.path(table.version))
            ids = [ticket.id for ticket in tickets]
            commit = table.commit(edit, touched, ids, partial(_require_ready, tickets))
        except OSError as failure:
            return self._landed_after_all(table, tickets, failure)
        try:
            self._store.sync(self._files.path(commit.table.version))
            self._store.sync(self._files.folder)
            with view.lock:
                view.advance(table, commit, edit)
                self._examine(table, commit.table, edit)
            return self._survived(edit, commit.table.version)
        except OSError as cause:
            raise UnknownOutcomeError(
                f"the change was committed, but {MANIFEST} could not be made durable: {cause}"
            ) from cause

    def _prepared(self) -> ManifestTable:
        """The newest version, ready to be written: it exists, and nothing torn is in the way."""
        view = self._view
        table = view.table()
        if view.torn:
            for version in view.torn:
                self._files.move_aside(version, uuid.uuid4().hex)
            table = view.table()
        if table is None:
            ManifestTable.create(self._store)
            table = view.table()
            if table is None:
                raise InternalError(f"{MANIFEST} was created and cannot be found")
        table.check_writable()
        if self._manage_versions and table.management is Management.OFF and not table.count:
            table.manage(Management.ON)
            table = view.table()
            assert table is not None
        return table

    def _ready(self) -> ManifestTable:
        """`_prepared`, also if somebody else creates the manifest at the same time."""
        try:
            return self._prepared()
        except ConflictError:
            return self._prepared()

    def _state_for(self, tickets: Sequence[Ticket]) -> Snapshot:
        """A state on which changes can be checked: the rows they depend on are enough."""
        needed: set[str] = set()
        for ticket in tickets:
            ids = ticket.change.depends_on()
            if ids is None:
                return self._view.snapshot()
            needed.update(ids)
        return self._view.about(needed)

    def _examine(self, base: ManifestTable, landed: ManifestTable, edit: Edit) -> None:
        """Look for rows that another writer added between the version we saw and ours.

        Only an `Append` can come in between, and only before an `Update`; nobody is known to write
        a manifest so.
        """
        if landed.version == base.version + 1:
            return
        self._view.snapshot()
        doubled = self._view.homes.doubled & edit.added.keys()
        if doubled:
            raise ConcurrentModificationError(
                f"{sorted(doubled)} were also added by another writer, which wins; "
                "repair removes the copies"
            )

    def _landed_after_all(
        self, table: ManifestTable, tickets: Sequence[Ticket], failure: OSError
    ) -> bool:
        """Find out whether a commit whose reply was lost has landed; False to do it all again."""
        mark = tickets[0].id
        try:
            with self._view.lock:
                newest = self._view.table()
                before = newest is None or newest.version == table.version
                if newest is not None and not before:
                    later = range(table.version + 1, newest.version + 1)
                    return any(mark in newest.changes(version) for version in later)
        except (OSError, InternalError) as unreadable:
            raise UnknownOutcomeError(
                f"committing to {MANIFEST} failed ({failure}), and it cannot be read to see "
                f"whether the change landed: {unreadable}"
            ) from failure
        if not self._store.is_near and is_unanswered(failure):
            raise UnknownOutcomeError(
                f"committing to {MANIFEST} was not answered, and may yet land: {failure}"
            ) from failure
        raise storage_failure(f"committing to {MANIFEST}", failure) from failure

    def _have_landed(self, tickets: Sequence[Ticket]) -> bool:
        """Whether another process that was asked to has committed tickets within the window."""
        with self._view.lock:
            newest = self._view.table()
            if newest is None:
                return False
            for version in range(newest.version, 0, -1):
                if not self._files.exists(version):
                    return False
                if tickets[0].id in newest.changes(version):
                    return True
        return False

    def _survived(self, edit: Edit, version: int) -> bool:
        """Whether new rows of a young manifest are still there after the reference had its chance.

        Its bootstrap can land late, as a new empty version over rows that were committed.
        """
        young_for = time.monotonic() - self._view.young_at
        if young_for > SETTLE:
            return True
        time.sleep(SETTLE - young_for)
        with self._view.lock:
            state, newest = self._view.snapshot(), self._view.table()
            if newest is None or all(map(state.holds, edit.added.values())):
                return newest is not None
            later = range(version + 1, newest.version + 1)
            return not any(newest.begins_anew(version) for version in later)

    def _give_way(self) -> None:
        """Leave another kind of writer time for a commit, which it rewrites everything for."""
        if time.monotonic() - self._view.foreign_at < FOREIGN_MEMORY:
            with self._view.lock:
                table = self._view.table()
            rows = 0 if table is None else table.count
            time.sleep(FOREIGN_COMMIT + FOREIGN_ROW * rows)


def _require_ready(tickets: Sequence[Ticket]) -> None:
    """Wait until all changes may land; those that never may are left out of the next try."""
    lacking = [ticket for ticket in tickets if not ticket.is_ready()]
    if lacking:
        raise ConflictError("something that was to be there before its row is not")


_ALL: weakref.WeakSet[Manifest] = weakref.WeakSet()


_PAUSED: list[Manifest] = []


def _pause_all() -> None:
    for manifest in sorted(_ALL, key=id):
        manifest.pause()
        _PAUSED.append(manifest)


def _resume_all() -> None:
    while _PAUSED:
        _PAUSED.pop().resume()


def _reset_all() -> None:
    while _PAUSED:
        _PAUSED.pop().reset()


os.register_at_fork(before=_pause_all, after_in_parent=_resume_all, after_in_child=_reset_all)
