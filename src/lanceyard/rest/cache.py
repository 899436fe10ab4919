"""A cache of answers, each with the tag by which a server says that it still holds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple


class Known(NamedTuple):
    """An answer as it came, and its tag."""

    etag: str
    body: bytes


class AnswerCache:
    """The answers that were asked for last. Threads may share it."""

    def __init__(self, size: int) -> None:
        """Keep so many answers; 0 keeps none."""
        self._size = size
        self._answers: OrderedDict[Hashable, Known] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def is_on(self) -> bool:
        """Whether it keeps anything."""
        return self._size > 0

    def find(self, request: Hashable) -> Known | None:
        """What was answered to a request."""
        with self._lock:
            known = self._answers.get(request)
            if known is not None:
                self._answers.move_to_end(request)
            return known

    def put(self, request: Hashable, known: Known) -> None:
        """Remember an answer, and forget the one that was not asked for the longest."""
        with self._lock:
            self._answers[request] = known
            self._answers.move_to_end(request)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)
