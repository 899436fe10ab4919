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
    """One connection, and what has come of the answer it waits for."""

    socket: socket.socket
    answer: bytes = b""
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
    load, poll, clock = Load(), select.epoll(), time.perf_counter
    whole: set[int] = set()
    known: dict[int, Connection] = {}
    for _ in range(connections):
        opened = socket.create_connection(("127.0.0.1", port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(opened.fileno(), select.EPOLLIN)
        known[opened.fileno()] = Connection(opened)
    began = clock()
    for each in known.values():
        each.asked = clock()
        each.socket.sendall(next(requests))
    while clock() < began + seconds:
        for number, _ in poll.poll(1):
            each = known[number]
            data = each.socket.recv(262_144)
            if not each.answer:
                load.failed += data[9:10] != b"2"
            if each.answer or len(data) not in whole:
                each.answer += data
                if not is_whole(each.answer):
                    continue
                if each.answer == data:
                    whole.add(len(data))  # reading its head again would cost us as much as asking
                each.answer = b""
            now = clock()
            load.times.append(now - each.asked)
            each.asked = now
            each.socket.send(next(requests))
    load.seconds = clock() - began
    for each in known.values():
        each.socket.close()
    return load


def is_whole(answer: bytes) -> bool:
    """Whether all of an answer has come."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    return len(body) >= length


def post(path: str, body: bytes = b"{}") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
