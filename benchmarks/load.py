"""Load: many connections that ask one server as fast as it answers, from one thread.

The requests are made beforehand and the answers are only measured, so that asking costs a small
part of what answering does.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Connection:
    """One connection, and where it is in the answer it waits for."""

    socket: socket.socket
    head: bytes = b""
    left: int | None = None
    asked: float = 0.0


@dataclass
class Load:
    """What a server got done."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    failed: int = 0

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def quantile(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        return sorted(self.times)[int(len(self.times) * share)] * 1000


def ask(port: int, requests: Iterator[bytes], connections: int, seconds: float) -> Load:
    """Keep so many connections busy for some seconds."""
    load, poll = Load(), select.epoll()
    known: dict[int, Connection] = {}
    for _ in range(connections):
        opened = socket.create_connection(("127.0.0.1", port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(opened.fileno(), select.EPOLLIN)
        known[opened.fileno()] = Connection(opened)
    began = time.perf_counter()
    for each in known.values():
        each.asked = time.perf_counter()
        each.socket.sendall(next(requests))
    while time.perf_counter() < began + seconds:
        for number, _ in poll.poll(1):
            each = known[number]
            if not _is_answered(each, load):
                continue
            now = time.perf_counter()
            load.times.append(now - each.asked)
            each.asked = now
            each.socket.sendall(next(requests))
    load.seconds = time.perf_counter() - began
    for each in known.values():
        each.socket.close()
    return load


def _is_answered(each: Connection, load: Load) -> bool:
    """Take what has come; whether that is the end of an answer."""
    data = each.socket.recv(262_144)
    if each.left is not None:
        each.left -= len(data)
    else:
        each.head += data
        head, end, body = each.head.partition(b"\r\n\r\n")
        if not end:
            return False
        head = head.lower()
        load.failed += head[9:10] != b"2"
        each.left = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]) - len(body)
        each.head = b""
    if each.left > 0:
        return False
    each.left = None
    return True


def post(path: str, body: bytes = b"{}") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
