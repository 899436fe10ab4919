"""The stock: credentials that were fetched already."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from lanceyard import errors
from lanceyard.server.vending.credentials import UNAVAILABLE, Credentials, NoAnswerError, Vendor

SIZE = 4_096
"""Credentials that are kept."""
AT_ONCE = 64
"""Fetches that may be under way, those that nobody waits for any longer among them."""
UNENDING = 300.0
"""Seconds to keep credentials that do not end."""
PAUSE = 5.0
"""Seconds for which a failure is told again before the next try."""


@dataclass(slots=True)
class _Fetch:
    """One call of the vendor, under way or over."""

    spare: Credentials | None
    """What an earlier one brought."""
    outcome: Future[Credentials] = field(default_factory=Future)
    begun: float = field(default_factory=time.monotonic)
    good_until: float = float("inf")

    def brought(self) -> Credentials | None:
        """What it brought, or else an earlier one."""
        if self.outcome.done() and self.outcome.exception() is None:
            return self.outcome.result()
        return self.spare

    def wait(self, patience: float) -> Credentials:
        """What it brings, or raise what it ended with; counted from its beginning."""
        left = self.begun + patience - time.monotonic()
        try:
            return self.outcome.result(max(left, 0))
        except TimeoutError:
            raise NoAnswerError(UNAVAILABLE) from None


class Stock:
    """Credentials by location and by what they allow, each kept for half of its life.

    What several ask for at once is fetched once. A fetch runs in a thread of its own, so that one
    that hangs holds nobody longer than the patience of the stock. Where it fails, credentials that
    are beyond half of their life are given until they end.
    """

    def __init__(self, vendor: Vendor, *, patience: float, clock: Callable[[], float]) -> None:
        """Start empty; the clock tells seconds since 1970."""
        self._vendor, self._patience, self._clock = vendor, patience, clock
        self._lock = threading.Lock()
        self._fetches: OrderedDict[tuple[str, bool], _Fetch] = OrderedDict()
        self._under_way = 0
        self._silent_until = float("-inf")

    def covers(self, location: str) -> bool:
        """Whether there are credentials for such a location at all."""
        return self._vendor.covers(location)

    def take(self, location: str, options: Mapping[str, str], *, write: bool) -> Credentials:
        """Credentials for a location.

        Raises what the vendor raises, and `ServiceUnavailableError` if it takes too long.
        """
        with self._lock:
            found = self._fetches.get((location, write))
            spare = None if found is None else found.brought()
            if found is None or self._is_stale(found):
                found = self._begin(location, options, spare, write=write)
        try:
            if found is None:
                raise errors.ServiceUnavailableError(UNAVAILABLE)
            return found.wait(self._patience)
        except errors.LanceNamespaceError:
            if spare is None or spare.ends_before(self._clock()):
                raise
            return spare

    def _is_stale(self, fetch: _Fetch) -> bool:
        """Whether a fetch has brought nothing that is still good, and will not."""
        abandoned = time.monotonic() > fetch.begun + self._patience + PAUSE
        return fetch.good_until <= self._clock() or (abandoned and not fetch.outcome.done())

    def _begin(
        self, location: str, options: Mapping[str, str], spare: Credentials | None, *, write: bool
    ) -> _Fetch | None:
        """Fetch in the background; None if there is no use in it now. The lock is held."""
        if self._clock() < self._silent_until or self._under_way >= AT_ONCE:
            return None
        fetch, key = _Fetch(spare), (location, write)

        def run() -> None:
            self._settle(fetch, lambda: self._vendor.fetch(location, options, write=write))

        threading.Thread(target=run, name="lanceyard-vending", daemon=True).start()
        self._under_way += 1
        self._fetches.pop(key, None)
        self._fetches[key] = fetch
        if len(self._fetches) > SIZE:
            self._fetches.popitem(last=False)
        return fetch

    def _settle(self, fetch: _Fetch, call: Callable[[], Credentials]) -> None:
        try:
            found = call()
        except BaseException as failure:  # the edge of the thread: whoever waits raises it
            self._end(fetch, self._clock() + PAUSE, silent=isinstance(failure, NoAnswerError))
            fetch.outcome.set_exception(failure)
            return
        now = self._clock()
        life = UNENDING if found.expires_at is None else (found.expires_at - now) / 2
        self._end(fetch, now + life)
        fetch.outcome.set_result(found)

    def _end(self, fetch: _Fetch, good_until: float, *, silent: bool = False) -> None:
        with self._lock:
            self._under_way -= 1
            fetch.good_until = good_until
            if silent:
                self._silent_until = good_until
