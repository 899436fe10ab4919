"""The pool: connections that threads take in turn, to the first server that can be reached."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TypeVar

from lanceyard.catalog.hive.metastore.connection import (
    BROKEN,
    BrokenConnectionError,
    Connection,
)
from lanceyard.catalog.hive.metastore.failures import LostReplyError
from lanceyard.catalog.hive.metastore.settings import Address, MetastoreSettings
from lanceyard.errors import ServiceUnavailableError

_V = TypeVar("_V")


class Pool:
    """Connections to metastores that keep the same names. Threads share it; so may processes.

    It is bounded: who finds all connections taken waits for one. A process that is forked begins
    with none.
    """

    def __init__(self, settings: MetastoreSettings) -> None:
        """Connect to nothing yet."""
        self._settings = settings
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        self._guard = threading.Lock()
        self._free = threading.Semaphore(self._settings.pool_size)
        self._idle: list[Connection] = []
        self._open: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._order = list(self._settings.uris)

    def read(self, work: Callable[[Connection], _V]) -> _V:
        """The result of work that changes nothing: if a connection breaks, on another.

        Raises `ServiceUnavailableError`, and what the work raises.
        """
        failures: list[str] = []
        for _ in range(1 + len(self._settings.uris)):
            try:
                with self._connection() as connection:
                    return work(connection)
            except BrokenConnectionError as failure:
                failures.append(str(failure))
                if _took_long(failure) and len(self._settings.uris) == 1:
                    break
        raise _unavailable(failures)

    def change(self, work: Callable[[Connection], _V]) -> _V:
        """The result of work that changes something, which is done once at most.

        Raises `ServiceUnavailableError` if nothing was sent, and `LostReplyError` if something was
        and no answer came; and what the work raises.
        """
        try:
            with self._connection() as connection:
                return work(connection)
        except BrokenConnectionError as failure:
            raise LostReplyError(
                f"the metastore gave no answer to a change, which it may have made or not "
                f"({failure}): look before you try again"
            ) from failure

    def close(self) -> None:
        """Close the connections that nobody uses. Using the pool again is allowed."""
        with self._guard:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def after_fork(self) -> None:
        """Forget the connections of the process that this one is a copy of."""
        for each in list(self._open):
            each.close()
        self._begin()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        wait = self._settings.read_timeout
        if not self._free.acquire(timeout=wait):
            raise ServiceUnavailableError(
                f"all {self._settings.pool_size} connections to the metastore were busy for "
                f"{wait:g} s: try again, or raise 'client.pool-size'"
            )
        try:
            connection = self._take() or self._connect()
            try:
                yield connection
            except BrokenConnectionError:
                self._avoid(connection.address)
                raise
            finally:
                if connection.is_open():
                    with self._guard:
                        self._idle.append(connection)
        finally:
            self._free.release()

    def _take(self) -> Connection | None:
        """One that nobody uses and that its server has not closed."""
        while True:
            with self._guard:
                if not self._idle:
                    return None
                found = self._idle.pop()
            if found.is_usable():
                return found
            found.close()

    def _connect(self) -> Connection:
        failures = []
        for address in list(self._order):
            try:
                made = Connection(address, self._settings)
            except (*BROKEN, BrokenConnectionError) as failure:
                failures.append(f"{address}: {failure}")
                self._avoid(address)
            else:
                self._open.add(made)
                return made
        raise _unavailable(failures)

    def _avoid(self, address: Address) -> None:
        """Try others first from now on, and use no other connection to this one."""
        with self._guard:
            self._order.remove(address)
            self._order.append(address)
            doubtful = [each for each in self._idle if each.address == address]
            self._idle = [each for each in self._idle if each.address != address]
        for each in doubtful:
            each.close()


def _unavailable(failures: list[str]) -> ServiceUnavailableError:
    tried = "; ".join(dict.fromkeys(failures))
    return ServiceUnavailableError(
        f"no Hive Metastore answers ({tried}): see that it runs and that 'uri' names it; one that "
        "closes connections may want 'kerberos.principal' or 'tls'"
    )


def _took_long(failure: BrokenConnectionError) -> bool:
    return isinstance(failure.__cause__, TimeoutError)


_ALL: weakref.WeakSet[Pool] = weakref.WeakSet()


def _begin_anew() -> None:
    for each in list(_ALL):
        each.after_fork()


os.register_at_fork(after_in_child=_begin_anew)
