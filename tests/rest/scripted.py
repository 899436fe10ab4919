"""A server that does what a test tells it, well-behaved or not, on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import urllib3

from lanceyard.rest.async_client import AsyncRestNamespace

BLOCK = 2**16


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        """Without the query."""
        return urlsplit(self.target).path

    @property
    def said(self) -> Any:
        """The JSON in it."""
        return json.loads(self.body)


Act = Callable[[socket.socket, threading.Event], bool]
"""What the server does with a request; whether the connection goes on."""


def answer(said: Any = None, status: int = 200, **headers: str) -> Act:
    """Answer with JSON, or with bytes as they are."""
    body = said if isinstance(said, bytes) else json.dumps({} if said is None else said).encode()

    def act(connection: socket.socket, _: threading.Event) -> bool:
        connection.sendall(_head(status, len(body), headers) + body)
        return True

    return act


def hang_up(after: bytes = b"") -> Act:
    """Send so much, and close the connection."""

    def act(connection: socket.socket, _: threading.Event) -> bool:
        connection.sendall(after)
        return False

    return act


def cut(said: Any) -> Act:
    """Promise more than is sent."""
    body = json.dumps(said).encode()
    return hang_up(_head(200, len(body) + 10, {}) + body)


def silence(_: socket.socket, stopped: threading.Event) -> bool:
    """Never answer."""
    stopped.wait()
    return False


def drip(data: bytes) -> Act:
    """Send a byte now and then, for ever."""

    def act(connection: socket.socket, stopped: threading.Event) -> bool:
        connection.sendall(data)
        while not stopped.wait(0.05):
            connection.sendall(b"x")
        return False

    return act


def drip_body() -> Act:
    """A body that comes a byte at a time."""
    return drip(_head(200, 1_000_000, {}))


def forward(request: Received, address: str, statuses: list[int] | None = None) -> Act:
    """Carry a request to another server, and its reply back."""
    headers = {k: v for k, v in request.headers.items() if k not in ("host", "connection")}
    url = f"{address}{request.target}"
    reply = urllib3.request(request.method, url, body=request.body, headers=headers, retries=False)
    if statuses is not None:
        statuses.append(reply.status)
    kept = {k: v for k, v in reply.headers.items() if k.lower() != "content-length"}
    return answer(reply.data, reply.status, **kept)


class Scripted:
    """Answers each request with the next act, and with the last one for ever.

    Instead of acts it takes a function that chooses one for a request.
    """

    def __init__(self, *acts: Act, choose: Callable[[Received], Act] | None = None) -> None:
        self.requests: list[Received] = []
        self._acts = [*acts]
        self._choose = choose or self._next
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listening.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"

    def with_tls(self, context: ssl.SSLContext) -> Self:
        """Speak TLS."""
        self._tls = context
        self.address = f"https://localhost:{self.port}"
        return self

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _next(self, _: Received) -> Act:
        with self._lock:
            return self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._connections += 1
                given = (connection, self._connections)
                threading.Thread(target=self._serve, args=given, daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as file:
                while (received := _read(file, number)) is not None:
                    self.requests.append(received)
                    if not self._choose(received)(connection, self._stopped):
                        return
        connection.close()


class Awaited:
    """The client for asyncio, with each call awaited at once."""

    def __init__(self, **properties: str) -> None:
        self._inner = AsyncRestNamespace(**properties)
        self._runner = asyncio.Runner()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)
        return lambda *given: self._runner.run(method(*given))

    def close(self) -> None:
        """Close the connections and the loop."""
        self._runner.run(self._inner.close())
        self._runner.close()


def _head(status: int, size: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {size}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _read(file: Any, number: int) -> Received | None:
    line = file.readline().decode("latin-1").split()
    if not line:
        return None
    headers: dict[str, str] = {}
    while field := file.readline().decode("latin-1").strip():
        name, _, value = field.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join(_chunks(file))
    else:
        body = file.read(int(headers.get("content-length", 0)))
    return Received(line[0], line[1], headers, body, number)


def _chunks(file: Any) -> list[bytes]:
    found = []
    while size := int(file.readline(), 16):
        found.append(file.read(size))
        file.readline()
    file.readline()
    return found
