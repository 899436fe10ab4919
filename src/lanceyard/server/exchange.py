"""Exchanges: one request and its answer, as they become known."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Scope

from lanceyard.rest.protocol import Operation

REQUEST_ID = b"x-request-id"
ID_LENGTH = 200
"""More of an id than anybody needs is cut off."""

_PROCESS = os.urandom(8).hex()
_NUMBERS = itertools.count(1)


@dataclass(slots=True)
class Exchange:
    """What those who watch the server are told of a request."""

    request_id: str
    method: str
    path: str
    headers: Mapping[bytes, bytes]
    client: str
    """The address that it came from."""
    started: float = field(default_factory=time.perf_counter)
    operation: Operation | None = None
    principal: str = "anyone"
    said: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the request. Secrets may be among them: it is never shown whole."""
    status: int = 0
    code: int | None = None
    """Of the error that it was answered with."""
    received: int = 0
    """Bytes of its body."""
    sent: int = 0
    """Bytes of the body of its answer."""
    seconds: float = 0.0

    @classmethod
    def begin(cls, scope: Scope) -> Exchange:
        """A request has come."""
        headers = dict(scope["headers"])
        client = scope.get("client")
        return cls(
            _identifier(headers.get(REQUEST_ID)),
            scope["method"],
            scope["path"],
            headers,
            client[0] if client else "",
        )

    def end(self) -> None:
        """Its answer is sent."""
        self.seconds = time.perf_counter() - self.started


def _identifier(given: bytes | None) -> str:
    """The id that a client gave its request, if it can be told again; else one of our own."""
    if given:
        text = given[:ID_LENGTH].decode("latin-1")
        if text.isascii() and text.isprintable():
            return text
    return f"{_PROCESS}-{next(_NUMBERS):x}"
