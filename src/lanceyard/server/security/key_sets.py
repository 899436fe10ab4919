"""Key sets: the keys of an issuer, kept for a while and fetched anew when needed."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from lanceyard.server.security.discovery import FAILURES, fetch_keys
from lanceyard.server.security.settings import Issuer
from lanceyard.server.security.verification import VerificationKey

LOG = logging.getLogger("lanceyard.server.security")
FRESH = 3600.0
"""Seconds after which keys are fetched again, whether they are missed or not."""
GOOD = 24 * 3600.0
"""Seconds for which keys are used if they cannot be fetched again."""
PAUSE = 30.0
"""Seconds between two tries, so that tokens with made-up key ids cannot burden the issuer."""

Keys = tuple[VerificationKey, ...]


class KeySet:
    """Keys that never change."""

    def __init__(self, keys: Keys) -> None:
        """Hold keys."""
        self._keys = keys

    @property
    def keys(self) -> Keys:
        """The keys that may be used now."""
        return self._keys

    @property
    def is_old(self) -> bool:
        """Whether it is time to fetch them again, and nobody does."""
        return False

    @property
    def may_change(self) -> bool:
        """Whether `refresh` could bring a key that is missed."""
        return False

    def refresh(self) -> None:
        """Fetch them again, or wait for another thread that does."""


class _Fetched(NamedTuple):
    keys: Keys
    at: float


class FetchedKeySet(KeySet):
    """The keys that an issuer publishes. Nothing but `refresh` blocks."""

    def __init__(self, issuer: Issuer, clock: Callable[[], float] = time.monotonic) -> None:
        """Have none until `refresh` is called."""
        self._issuer = issuer
        self._clock = clock
        self._fetched = _Fetched((), -math.inf)
        self._tried = -math.inf
        self._lock = threading.Lock()

    @property
    def keys(self) -> Keys:
        fetched = self._fetched
        return fetched.keys if self._clock() - fetched.at < GOOD else ()

    @property
    def is_old(self) -> bool:
        now = self._clock()
        return now - self._fetched.at >= FRESH and now - self._tried >= PAUSE

    @property
    def may_change(self) -> bool:
        return self._lock.locked() or self._clock() - self._tried >= PAUSE

    def refresh(self) -> None:
        with self._lock:
            if self._clock() - self._tried < PAUSE:
                return
            self._tried = self._clock()
            try:
                self._fetched = _Fetched(fetch_keys(self._issuer), self._clock())
            except FAILURES as failure:
                LOG.warning("no keys from issuer %s: %s", self._issuer.issuer, failure)
