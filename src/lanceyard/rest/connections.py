"""Connections of urllib3 that keep a deadline, however slowly a server sends or takes."""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from lanceyard.rest.steps import Deadline

_DEADLINE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextlib.contextmanager
def until(deadline: Deadline) -> Iterator[None]:
    """Let what is sent and received in this block end by then: with a `TimeoutError`."""
    token = _DEADLINE.set(deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def pool_of_connections(size: int, **tls: Any) -> urllib3.PoolManager:
    """A pool whose connections keep the deadline of `until`."""
    pool = urllib3.PoolManager(maxsize=size, **tls)
    pool.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return pool


def _hurry(connected: socket.socket, patience: float | None) -> None:
    """Let the next thing that a socket does end by the deadline, or when patience does."""
    deadline = _DEADLINE.get()
    left = None if deadline is None else deadline.left()
    if left is None:
        return
    if not left:
        raise TimeoutError("the deadline is over")
    connected.settimeout(left if patience is None else min(left, patience))


class _Bytes(io.RawIOBase):
    """What a socket receives."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._patience = connected.gettimeout()
        self._file = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        _hurry(self._socket, self._patience)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response that is read by the deadline."""

    def __init__(self, sock: socket.socket, *given: Any, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        deadline = _DEADLINE.get()
        if deadline is not None and deadline.moment is not None:
            self.fp.close()
            self.fp = io.BufferedReader(_Bytes(sock))


class _Connection(HTTPConnection):
    """A connection that says whether it was made at all."""

    response_class = _Response

    def connect(self) -> None:
        try:
            super().connect()
        except (OSError, ValueError) as cause:  # TLS and its certificates raise these
            raise NewConnectionError(self, str(cause)) from cause

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        _hurry(self.sock, self.timeout)
        super().send(data)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
