"""Headway: how far a store is with many files, told to the log and to whoever waits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger(__name__)
STEP = 1_000
"""After how many files something is said again; of fewer nothing is."""

Hear = Callable[[str, int], None]
"""Hears what is done, and with how many files so far."""


class Headway:
    """Files that something is done with, counted."""

    def __init__(self, doing: str, path: str) -> None:
        """Begin with none; `doing` is what is done with them, "deleting" for example."""
        self._doing, self._path = doing, path
        self._done = 0

    def add(self, count: int) -> None:
        """Count files that are done, and say so at every thousandth."""
        before, self._done = self._done, self._done + count
        if self._done > STEP and self._done // STEP > before // STEP:
            LOGGER.info(
                "%s %r: %d files so far",
                *(self._doing, self._path, self._done),
                extra={"doing": self._doing, "done": self._done},
            )


@contextmanager
def heard(hear: Hear) -> Iterator[None]:
    """Let somebody hear of all headway in this process while the block runs."""
    listener, level = _Listener(hear), LOGGER.level
    LOGGER.addHandler(listener)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(listener)


class _Listener(logging.Handler):
    def __init__(self, hear: Hear) -> None:
        super().__init__()
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.__dict__["doing"], record.__dict__["done"])
