"""Group commit: writers of one process hand their changes to whichever of them commits next."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence

from lanceyard.catalog.changes import Change, Outcome
from lanceyard.catalog.draft import Draft
from lanceyard.errors import LanceNamespaceError, UnknownOutcomeError

LONGEST_GATHERING = 0.002
GATHERING_SHARE = 0.4
"""The part of a commit's time that it is worth to wait for those who come with the next."""
GATHERING_STEP = 0.0001
LONGEST_STEP = 0.002
FORGETTING = 0.8


class Ticket:
    """One writer's change on its way, and what became of it."""

    __slots__ = ("_ready", "change", "error", "id", "is_wanted", "outcome", "settled", "wake")

    def __init__(
        self, change: Change, mark: str | None = None, ready: Callable[[], object] | None = None
    ) -> None:
        """Start unsettled; the mark travels in the commit that lands the change.

        `ready` waits for what has to be in storage before that, and raises if it cannot be.
        """
        self.change = change
        self._ready = ready
        self.id = mark or uuid.uuid4().hex
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.settled = False
        self.wake = threading.Event()
        """Set when the ticket is settled, or its writer is to lead."""
        self.is_wanted: Callable[[], bool] = _always

    def attempt(self, draft: Draft) -> None:
        """Check the change on a draft; final only once the draft is committed."""
        try:
            self.outcome, self.error = self.change.apply(draft), None
        except LanceNamespaceError as refusal:
            self.outcome, self.error = None, refusal

    def is_ready(self) -> bool:
        """Wait until the change may land; if it never may, it has failed and is wanted no more."""
        try:
            if self._ready is not None:
                self._ready()
        except LanceNamespaceError as failure:
            self.outcome, self.error = None, failure
            self.is_wanted = _never
            return False
        return True

    def fail(self, failure: BaseException) -> None:
        """Settle by a failure of whoever was to carry the change out."""
        self.outcome, self.error = None, failure
        if not isinstance(failure, LanceNamespaceError):
            self.error = UnknownOutcomeError(f"the commit of this change was ended by {failure!r}")
            self.error.__cause__ = failure

    def result(self) -> Outcome:
        """The outcome, or raise what went wrong."""
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome


def _always() -> bool:
    """Whether the writer still waits: in its own process it does."""
    return True


def _never() -> bool:
    """Whether a writer still waits whose change cannot land."""
    return False


class Group:
    """Lands all changes that wait, in one go, in the thread of one of the waiting writers."""

    def __init__(self, land: Callable[[Sequence[Ticket]], None]) -> None:
        """Take what settles a batch of tickets."""
        self._land = land
        self._guard = threading.Lock()
        self._waiting: deque[Ticket] = deque()
        self._has_leader = False
        self._crowd = 1.0
        self._took = 0.0

    def submit(self, change: Change, ready: Callable[[], object] | None = None) -> Outcome:
        """Wait until a change has landed or was refused; it lands when it is `ready`."""
        ticket = Ticket(change, ready=ready)
        with self._guard:
            self._waiting.append(ticket)
            leads = not self._has_leader
            self._has_leader = True
        if not leads:
            ticket.wake.wait()
        if not ticket.settled:
            self._lead()
        return ticket.result()

    def _lead(self) -> None:
        """Settle all that wait, ourselves among them, then pass the lead on."""
        self._gather()
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._settle(batch)
        finally:
            with self._guard:
                self._has_leader = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].wake.set()

    def _gather(self) -> None:
        """Wait a moment for as many writers as lately came together, if it was more than one.

        A commit costs the same for one change as for twenty.
        """
        patience = max(LONGEST_GATHERING, GATHERING_SHARE * self._took)
        step = min(max(GATHERING_STEP, patience / 20), LONGEST_STEP)
        deadline = time.monotonic() + patience
        while len(self._waiting) < self._crowd - 1 and time.monotonic() < deadline:
            time.sleep(step)
        self._crowd = max(len(self._waiting), FORGETTING * self._crowd)

    def _settle(self, batch: list[Ticket]) -> None:
        began = time.monotonic()
        try:
            self._land(batch)
            self._took = time.monotonic() - began
        except BaseException as failure:
            # Whatever ended the leader's work ended that of those who rely on it.
            for ticket in batch:
                ticket.fail(failure)
            raise
        finally:
            for ticket in batch:
                ticket.settled = True
                ticket.wake.set()
