"""Progress: how far maintenance has come, shown as a bar or as lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

PAUSE = 5.0
"""Seconds between two lines, where there is no bar."""


class Progress(NamedTuple):
    """How far maintenance has come."""

    operation: str
    done: int
    total: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.operation}: {self.done:,} of {self.total:,} tasks, {self.seconds:.1f} s"


Watcher = Callable[[Progress], object]
"""What is told of progress."""


class Bar:
    """Shows progress to people: a bar of tqdm where that is installed, in notebooks too.

    Without it, a line now and then. What is done in no time shows nothing.
    """

    def __init__(self) -> None:
        """Show nothing yet."""
        self._bar: Any = None
        self._told = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show how far it has come."""
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped]
        except ImportError:
            self._tell(progress)
            return
        if self._bar is None or self._bar.total != progress.total or self._bar.n > progress.done:
            self.close()
            self._bar = tqdm(total=progress.total, desc=progress.operation, unit="task", delay=1)
        self._bar.update(progress.done - self._bar.n)
        if progress.done == progress.total:
            self.close()

    def close(self) -> None:
        """Show it no longer."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _tell(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.seconds > PAUSE and now - self._told > PAUSE:
            print(progress, file=sys.stderr)  # noqa: T201
            self._told = now


def silent(progress: Progress) -> None:
    """Show nothing."""
