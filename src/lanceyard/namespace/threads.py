"""Threads: where operations run that Lance itself asks for, in the middle of a call of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

THREADS = 64

_R = TypeVar("_R")
_pool: ThreadPoolExecutor | None = None


def is_called_by_lance() -> bool:
    """Whether the current thread is not one of Python's.

    Lance calls a namespace back from a thread of its own, for the versions of a table. A call into
    Lance from there can end the process: its own threads do not hold the interpreter lock the way
    that such a call expects.
    """
    return type(threading.current_thread()) is threading._DummyThread  # noqa: SLF001


def apart_from_lance(call: Callable[[], _R]) -> _R:
    """Carry out a call in a thread of Python's."""
    global _pool  # noqa: PLW0603 - one pool serves all namespaces
    pool = _pool
    if pool is None:
        pool = _pool = ThreadPoolExecutor(THREADS, "lanceyard-callback")
    return pool.submit(call).result()


def _forget() -> None:
    global _pool  # noqa: PLW0603 - its threads did not come along
    _pool = None


os.register_at_fork(after_in_child=_forget)
