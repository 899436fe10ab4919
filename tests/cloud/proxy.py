"""A proxy in front of an object store, which counts requests, delays them and lets them fail.

Bytes are passed on as they are, so signatures stay right.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit

LARGEST_HEAD = 1 << 20
COPIES = {"x-amz-copy-source", "x-ms-copy-source"}
CONDITION_FAILED = (409, 412)
BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
WRITTEN = b'HTTP/1.1 200 OK\r\netag: "0"\r\ncontent-length: 0\r\n\r\n'
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"


class Fault(Enum):
    """What happens to a request."""

    BUSY = "busy"
    """It is answered 503, and does not reach the store."""
    RESET = "reset"
    """Its connection ends before it reaches the store."""
    LOST = "lost"
    """It is carried out, and its connection ends before the answer."""
    BROKEN = "broken"
    """It is carried out, and answered 500."""
    SILENT = "silent"
    """It is never answered."""
    SLOW = "slow"
    """It is carried out after a second."""
    IGNORED = "ignored"
    """A condition that does not hold is answered as if it had, by a store that knows none."""
    STALE = "stale"
    """A listing is answered as it was the first time."""


@dataclass
class Request:
    """One request, and what was answered."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    status: int = 0
    sent: int = 0
    received: int = 0

    @property
    def kind(self) -> str:
        """The method, or what a request for many objects does."""
        asks = self.query.get("comp", [])  # Azure's word for what S3 has names of its own for
        if self.method == "GET" and ("list-type" in self.query or "list" in asks):
            return "LIST"
        if self.method == "POST" and ("delete" in self.query or "batch" in asks):
            return "DELETE MANY"
        if self.method == "PUT" and not COPIES.isdisjoint(self.headers):
            return "COPY"
        return self.method

    @property
    def what(self) -> str:
        """The kind, and the key or prefix it is about."""
        about = self.query.get("prefix", [self.path])[0]
        return f"{self.kind} {about.rsplit('/root', 1)[-1]}"


@dataclass
class Rule:
    """A fault for requests of some kind, as often as `times` says."""

    fault: Fault
    applies: Callable[[Request], bool]
    times: int = 1
    met: list[Request] = field(default_factory=list)

    def take(self, request: Request) -> bool:
        if len(self.met) >= self.times or not self.applies(request):
            return False
        self.met.append(request)
        return True


class Message(NamedTuple):
    """The head of a message."""

    first: str
    headers: Mapping[str, str]
    raw: bytes


class Proxy:
    """A running proxy. `requests` are those since `forget` was last called."""

    def __init__(self, upstream: str, latency: float = 0.0) -> None:
        self._upstream = urlsplit(upstream)
        self.latency = latency
        self.requests: list[Request] = []
        self._rules: list[Rule] = []
        self._first_lists: dict[str, bytes] = {}
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_failure: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()
        self._loop.close()

    def forget(self) -> None:
        """Begin to count anew."""
        self.requests.clear()

    def counts(self) -> Counter[str]:
        """How many requests of each kind came."""
        return Counter(request.kind for request in self.requests)

    @contextlib.contextmanager
    def failing(
        self, fault: Fault, applies: Callable[[Request], bool], times: int = 1
    ) -> Iterator[Rule]:
        """Let requests fail that a function chooses, the first of them or more."""
        rule = Rule(fault, applies, times)
        self._rules.append(rule)
        try:
            yield rule
        finally:
            self._rules.remove(rule)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LARGEST_HEAD, backlog=512)
        )
        self.endpoint = "http://{}:{}".format(*server.sockets[0].getsockname())
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))

    def _stop(self) -> None:
        self._loop.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        upstream = None
        try:
            upstream = await asyncio.open_connection(
                self._upstream.hostname, self._upstream.port, limit=LARGEST_HEAD
            )
            while await self._exchange(reader, writer, *upstream):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # one of them hung up, or the proxy stops
        finally:
            self._tasks.discard(task)
            for each in (writer, upstream[1] if upstream else None):
                if each is not None:
                    each.close()

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        store: asyncio.StreamReader,
        to_store: asyncio.StreamWriter,
    ) -> bool:
        """Pass one request and its answer on; False if the connection is to end."""
        head = await _head(reader)
        request = _request(head)
        body = await _body(reader, head.headers)
        request.sent = len(body)
        self.requests.append(request)
        fault = next((rule.fault for rule in self._rules if rule.take(request)), None)
        await asyncio.sleep(self.latency)
        if fault is Fault.SILENT:
            await asyncio.sleep(3600)
        if fault is Fault.SLOW:
            await asyncio.sleep(1.0)
        if fault is Fault.RESET:
            return False
        if fault is Fault.BUSY:
            request.status = 503
            writer.write(BUSY)
            return True
        to_store.write(head.raw + body)
        answer = await _head(store)
        request.status = int(answer.first.split(" ")[1])
        empty = request.method == "HEAD" or request.status in (204, 304)
        content = b"" if empty else await _body(store, answer.headers)
        request.received = len(content)
        if fault is Fault.LOST:
            return False
        told = answer.raw + content
        before = self._first_lists.setdefault(head.first, told) if request.kind == "LIST" else told
        if fault is Fault.STALE:
            told = before
        if fault is Fault.BROKEN:
            told = BROKEN
        if fault is Fault.IGNORED and request.status in CONDITION_FAILED:
            told = WRITTEN
        writer.write(told)
        await writer.drain()
        return "close" not in answer.headers.get("connection", "").lower()


async def _head(reader: asyncio.StreamReader) -> Message:
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if ":" in line)
    return Message(first, {name.strip().lower(): value.strip() for name, _, value in pairs}, raw)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    parts = []
    while True:
        line = await reader.readline()
        size = int(line.split(b";")[0], 16)
        parts += [line, await reader.readexactly(size + 2)]
        if size == 0:
            return b"".join(parts)


def _request(head: Message) -> Request:
    method, target, _ = head.first.split(" ")
    path, _, query = target.partition("?")
    return Request(method, unquote(path), parse_qs(query, keep_blank_values=True), head.headers)
