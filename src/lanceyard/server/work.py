"""Work: where operations are carried out, so that none keeps the others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lanceyard import errors
from lanceyard.rest.protocol import COMMITS, Body, Operation

_T = TypeVar("_T")
OTHERS = 4
"""Threads for what is no operation."""


class Work:
    """Threads for operations, which block, and others for streams, which wait for clients."""

    def __init__(self, *, threads: int, streams: int, queue: int, time_limit: float) -> None:
        """Carry out so many operations at a time, and let so many wait."""
        self._threads = ThreadPoolExecutor(threads, "lanceyard-server")
        self._streams = ThreadPoolExecutor(streams, "lanceyard-stream")
        self._others = ThreadPoolExecutor(OTHERS, "lanceyard-aside")
        self._queue = threads + queue
        self._time_limit = time_limit
        self._given = 0

    async def do(self, operation: Operation, task: Callable[[], _T]) -> _T:
        """Carry a task out in a thread.

        Raises `ServiceUnavailableError` when too many wait already, or when a read takes too long.
        A write is waited for, however long it takes: nobody could tell what became of it.
        """
        if self._given >= self._queue and operation.name not in COMMITS:
            raise errors.ServiceUnavailableError("the server is busy: ask again in a moment")
        pool = self._streams if operation.body is Body.STREAM else self._threads
        self._given += 1
        try:
            async with asyncio.timeout(self._time_limit if operation.only_reads else None):
                return await asyncio.get_running_loop().run_in_executor(pool, task)
        except TimeoutError as cause:
            raise errors.ServiceUnavailableError(
                f"{operation.name} took longer than {self._time_limit:g} s"
            ) from cause
        finally:
            self._given -= 1

    async def aside(self, task: Callable[[], _T]) -> _T:
        """Do something in a thread that is not an operation."""
        return await asyncio.get_running_loop().run_in_executor(self._others, task)

    def close(self) -> None:
        """Wait for what was begun."""
        self._others.shutdown()
        self._streams.shutdown()
        self._threads.shutdown()
