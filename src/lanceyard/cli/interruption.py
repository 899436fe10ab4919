"""Interruption: Ctrl-C, which long work heeds where it can stop, and no question misses."""

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
def noticed() -> Iterator[None]:
    """Take what fails after Ctrl-C for its consequence: native code makes other errors of it."""
    with _handled(signal.default_int_handler):
        yield


@contextmanager
def heeded() -> Iterator[Heed]:
    """Let Ctrl-C wait for the next place at which the block heeds it; pressed again, it does not.

    So no step is cut in two, and what cleans up after the work finds all as it should be. Of what
    fails after Ctrl-C see `noticed`.
    """
    with _handled(lambda _number, _frame: None) as is_pressed:

        def heed() -> None:
            if is_pressed():
                raise StoppedError("interrupted")

        yield heed


@contextmanager
def _handled(
    react: Callable[[int, FrameType | None], None],
) -> Iterator[Callable[[], bool]]:
    """Do something else at the first Ctrl-C while the block runs, which is told whether it came."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # as in the background of a shell, where it means others
        yield lambda: False
        return
    is_pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal is_pressed
        is_pressed = True
        signal.signal(signal.SIGINT, before)
        react(number, frame)

    signal.signal(signal.SIGINT, press)
    try:
        yield lambda: is_pressed
    except Exception as consequence:
        if is_pressed:
            raise KeyboardInterrupt from consequence
        raise
    finally:
        signal.signal(signal.SIGINT, before)


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
