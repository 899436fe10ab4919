"""The relay: of several processes that want to commit, one commits for all."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest.group import Ticket
from lanceyard.catalog.directory.manifest.intents import INTENTS, Claim, Intent, claim_all
from lanceyard.storage.base import Store
from lanceyard.storage.lock import FileLock

LOCK = f"{MANIFEST}/_lanceyard/lock"
PATIENCE = 5.0
FIRST_PAUSE = 0.0002
LONGEST_PAUSE = 0.002

CarryOut = Callable[[Sequence[Ticket], Callable[[], None]], None]


class Relay:
    """Lands tickets under a lock on a local disk, those of other processes along with our own.

    Whoever has the lock leads: it lands what others filed while it was waiting or working. Where
    there is no lock to be had, everybody commits alone.
    """

    def __init__(
        self,
        store: Store,
        *,
        carry_out: CarryOut,
        prepare: Callable[[], None],
        landed: Callable[[Sequence[Ticket]], bool],
    ) -> None:
        """Take how tickets are carried out, what goes before that, and how to tell if they were."""
        self._lock_path = store.local_path(LOCK)
        self._folder = store.local_path(INTENTS) or ""
        self._carry_out = carry_out
        self._prepare = prepare
        self._landed = landed

    def land(self, tickets: Sequence[Ticket]) -> None:
        """Settle tickets, as the leader or by handing them to one."""
        with self._open() as lock:
            if lock is None:
                self._carry_out(tickets, _nothing)
            elif lock.try_to_hold():
                self._lead(tickets)
            else:
                self._wait(lock, tickets)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock, if it can be had, while something else than a ticket is carried out."""
        with self._open() as lock:
            if lock is not None:
                for _ in _pauses():
                    if lock.try_to_hold():
                        break
            yield

    @contextlib.contextmanager
    def _open(self) -> Iterator[FileLock | None]:
        lock = None
        if self._lock_path is not None:
            # A read-only disk, or one without locks: the commit itself will say so, or not.
            with contextlib.suppress(OSError):
                lock = FileLock(self._lock_path)
        try:
            yield lock
        finally:
            if lock is not None:
                lock.close()

    def _lead(self, tickets: Sequence[Ticket]) -> None:
        self._prepare()
        claims = claim_all(self._folder)
        everything = [*tickets, *(ticket for claim in claims for ticket in claim.tickets)]
        try:
            self._carry_out(everything, lambda: _announce(claims))
        except BaseException as failure:
            for claim in claims:
                claim.finish(failure)
            raise
        for claim in claims:
            claim.finish(None)

    def _wait(self, lock: FileLock, tickets: Sequence[Ticket]) -> None:
        intent = Intent(self._folder, tickets)
        try:
            for _ in _pauses():
                if intent.settle():
                    return
                if lock.try_to_hold():
                    self._take_over(intent, tickets)
                    return
        except BaseException:
            intent.abandon()
            raise
        # The leader is stuck. What it does with our intent cannot land once we have committed.
        if not intent.withdraw():
            intent.abandon()
        self._carry_out(tickets, _nothing)

    def _take_over(self, intent: Intent, tickets: Sequence[Ticket]) -> None:
        """Lead ourselves, unless a leader before us had settled our tickets."""
        if intent.withdraw():
            self._lead(tickets)
        elif intent.settle():
            return
        elif self._landed(tickets):
            intent.settle_pending()
        else:
            intent.abandon()
            self._lead(tickets)


def _announce(claims: list[Claim]) -> None:
    for claim in claims:
        claim.announce()


def _nothing() -> None:
    """Announce nothing: nobody waits."""


def _pauses() -> Iterator[None]:
    """Wait in small steps, for as long as patience lasts."""
    deadline = time.monotonic() + PATIENCE
    pause = FIRST_PAUSE
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)
