"""The process lock: writers on one local disk take turns, which spares them conflicts.

It is never what correctness rests on: that is the compare-and-swap. Where locks do not work, or a
holder is stuck, writers go on without.
"""

from __future__ import annotations

import fcntl
import os


class FileLock:
    """A lock on a file, which ends with the process that holds it."""

    def __init__(self, path: str, mode: int = 0o666) -> None:
        """Open the file at `path`, creating it with this mode; it is not locked yet."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)

    def try_to_hold(self) -> bool:
        """Take the lock if nobody has it."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Give the lock up."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def is_held(path: str) -> bool:
    """Whether some process holds the lock on a file that exists."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
