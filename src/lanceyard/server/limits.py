"""Limits: how often each principal may ask."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from lanceyard import errors
from lanceyard.rest.protocol import COMMITS, Operation

REMEMBERED = 10_000
"""Principals whose last requests are remembered."""


class ThrottledError(errors.ThrottlingError):
    """Raised when a principal asks too often; it knows when to ask again."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        """Ask again after some seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class RateLimits:
    """So many requests a second for each principal, and a number more at once."""

    def __init__(
        self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow a rate; 0 allows any."""
        self._rate = rate
        self._burst = max(1, burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, principal: str, operation: Operation) -> None:
        """Count a request. Raises `ThrottledError`.

        Commits are not limited: who is refused there cannot know what became of its rows.
        """
        if not self._rate or operation.name in COMMITS:
            return
        now = self._clock()
        left, then = self._buckets.pop(principal, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        refused = left < 1
        self._buckets[principal] = (left if refused else left - 1, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        if refused:
            seconds = max(1, math.ceil((1 - left) / self._rate))
            raise ThrottledError(
                f"more than {self._rate:g} requests a second: ask again in {seconds} s",
                retry_after=seconds,
            )
