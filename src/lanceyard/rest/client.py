"""The client: a namespace on another machine."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import closing
from typing import Any, NoReturn

import urllib3
from lance_namespace import LanceNamespace

from lanceyard import errors
from lanceyard.rest.connections import pool_of_connections, until
from lanceyard.rest.conversation import Conversation, Peer
from lanceyard.rest.messages import Reply
from lanceyard.rest.protocol import Operation
from lanceyard.rest.remote import RemoteNamespace, with_operations
from lanceyard.rest.steps import Fate, Pause, Renewal, Sending, Step, TransportError

CONNECTIONS = 64
"""How many are kept."""
UNCONNECTED = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
ELSEWHERE = (
    "as_of",
    "begin_transaction",
    "difference",
    "dropped",
    "join_transaction",
    "manage_versions",
    "migrate",
    "repair",
    "states",
    "tag",
    "undrop",
    "untag",
)
"""What catalogs can do that the protocol has no route for."""


@with_operations
class RestNamespace(RemoteNamespace, LanceNamespace):
    """The namespace of a server that speaks the REST protocol.

    Connections are kept and shared between threads. Reads, and what was refused for now (429, 503),
    are tried again. A write whose answer was lost is not, unless the server is known to answer it
    again instead of carrying it out twice: `UnknownOutcomeError` says so.
    """

    def __init__(self, **properties: str) -> None:
        """Take the properties of `RestSettings`, as strings."""
        super().__init__(**properties)
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        """Know nothing of the server, and have no connection."""
        self._peer = Peer(self._settings)
        self._renewing = threading.Lock()
        self._pool = pool_of_connections(CONNECTIONS, **self._settings.tls)

    def close(self) -> None:
        """Close the connections. Using the namespace again is allowed."""
        self._pool.clear()

    def carry_out(self, operation: Operation, request: Any, body: Any = None) -> Any:
        """Carry out an operation of the protocol."""
        return self._hold(self._peer.call(operation, request, body))

    def _hold(self, conversation: Conversation) -> Any:
        with closing(conversation):
            try:
                step = next(conversation)
                while True:
                    try:
                        told = self._do(step)
                    except (TransportError, errors.LanceNamespaceError) as failure:
                        step = conversation.throw(failure)
                    else:
                        step = conversation.send(told)
            except StopIteration as end:
                return end.value

    def _do(self, step: Step) -> Reply | None:
        match step:
            case Sending():
                return self._send(step)
            case Pause():
                time.sleep(step.seconds)
            case Renewal():
                self._renew(step)
        return None

    def _send(self, sending: Sending) -> Reply:
        outgoing, left = sending.outgoing, sending.deadline.left()
        if left == 0:
            raise TransportError(Fate.UNSENT, "the deadline is over")
        timeout = urllib3.Timeout(connect=sending.connect, read=sending.read, total=left)
        try:
            with until(sending.deadline):
                response = self._pool.urlopen(
                    outgoing.method,
                    outgoing.url,
                    body=outgoing.content,
                    headers=outgoing.headers,
                    redirect=False,
                    retries=False,
                    timeout=timeout,
                )
        except UNCONNECTED as cause:
            raise TransportError(Fate.UNSENT, str(cause)) from cause
        except urllib3.exceptions.HTTPError as cause:
            raise TransportError(Fate.UNKNOWN, str(cause)) from cause
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, headers, response.data)

    def _renew(self, step: Renewal) -> None:
        left = step.deadline.left()
        patience = (-1 if left is None else left) if step.must else 0
        if not self._renewing.acquire(timeout=patience):
            if step.must:
                raise errors.ServiceUnavailableError("no token could be got in time")
            return
        try:
            tokens = self._peer.tokens
            if tokens is not None and tokens.is_due():
                self._hold(tokens.fetch(step.deadline))
        finally:
            self._renewing.release()


def _absence(name: str) -> Callable[..., Any]:
    def absent(*_: Any, **__: Any) -> NoReturn:
        raise errors.UnsupportedOperationError(
            f"{name} has no route in the REST protocol: open the catalog itself, where it lies"
        )

    absent.__name__ = name
    absent.__doc__ = "Not for a namespace on another machine: raises `UnsupportedOperationError`."
    return absent


for _name in ELSEWHERE:
    setattr(RestNamespace, _name, _absence(_name))


_ALL: weakref.WeakSet[RestNamespace] = weakref.WeakSet()


def _begin_anew() -> None:
    """A child of a fork must not speak on the connections of its parent."""
    for namespace in _ALL:
        namespace._begin()  # noqa: SLF001 - it is the child's own


os.register_at_fork(after_in_child=_begin_anew)
