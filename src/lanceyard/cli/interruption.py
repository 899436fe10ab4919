"""Interruption: Ctrl-C that long work heeds where it can stop, and that no question misses."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType

Heed = Callable[[], None]
"""Raises an exception if Ctrl-C was pressed; to be called where nothing is half-done."""
GLANCE = 0.1
"""Seconds after which it is seen that Ctrl-C was pressed."""


class StoppedError(Exception):
    """Raised where work stops because of Ctrl-C: an error as any other, of any thread."""


@contextmanager
def heeded() -> Iterator[Heed]:
    """Let Ctrl-C wait for the next place at which the block heeds it; pressed again, it does not.

    So no step is cut in two, and what cleans up after the work finds all as it should be. A failure
    after Ctrl-C is taken for its consequence.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None  # somebody else has the say
        return
    is_pressed = False

    def press(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_pressed
        is_pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def heed() -> None:
        if is_pressed:
            raise StoppedError("interrupted")

    signal.signal(signal.SIGINT, press)
    try:
        yield heed
    except Exception as consequence:
        if is_pressed:
            raise KeyboardInterrupt from consequence
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def typed_line() -> str:
    """The next line that is typed; Ctrl-D in place of one is Ctrl-C.

    A thread waits for it, for who waits for a terminal misses the Ctrl-C that comes right before.
    """
    lines: list[str] = []
    reading = Thread(target=lambda: lines.append(sys.stdin.readline()), daemon=True)
    reading.start()
    while reading.is_alive():
        reading.join(GLANCE)
    line = "".join(lines)
    if not line:
        raise KeyboardInterrupt
    return line.rstrip("\n")
