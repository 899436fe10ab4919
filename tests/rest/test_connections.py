"""Connections: who is slow, too large or makes no sense is refused, and others are not kept."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import lanceyard

from .serving import TestServer

PATIENCE = 0.4


@cache
def impatient() -> TestServer:
    """A server that does not wait long."""
    return TestServer(PATIENCE)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where a catalog with a table `t` is served, which must answer in the end."""
    with lanceyard.open(tmp_path) as yard:
        yard.create_table("t", pa.table({"n": [1, 2, 3]}))
        found = impatient().serve(yard.namespace, server={"json_limit": 10_000})
        yield found
        assert lanceyard.RestNamespace(uri=found).count_table_rows({"id": ["t"]}).count == 3


@contextlib.contextmanager
def talking(address: str) -> Iterator[tuple[socket.socket, str]]:
    """A connection, and the path of the catalog."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname or "", parts.port or 0), 10) as connection:
        yield connection, parts.path


def answer(connection: socket.socket) -> tuple[int, int]:
    """The status of the answer, and its code; the server closes the connection."""
    text = b""
    while data := connection.recv(65536):
        text += data
    head, _, content = text.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(content)["code"]


def head(path: str, *headers: str) -> bytes:
    """The beginning of a request."""
    return "\r\n".join([f"POST {path} HTTP/1.1", "host: x", *headers, "", ""]).encode()


def test_a_connection_on_which_nothing_comes_is_closed(address: str) -> None:
    with talking(address) as (connection, _):
        assert answer(connection) == (408, 13)


def test_headers_that_do_not_end_are_refused(address: str) -> None:
    with talking(address) as (connection, path):
        connection.sendall(f"POST {path} HTTP/1.1\r\nhost".encode())
        assert answer(connection) == (408, 13)


def test_headers_that_are_too_large_are_refused(address: str) -> None:
    with talking(address) as (connection, path):
        connection.sendall(head(path, *(f"h{n}: {'x' * 1_000}" for n in range(100))))
        assert answer(connection) == (431, 13)


def test_what_is_not_http_is_refused(address: str) -> None:
    with talking(address) as (connection, _):
        connection.sendall(b"\x16\x03\x01\x02\x00 hello\r\n\r\n")
        assert answer(connection) == (400, 13)


@pytest.mark.parametrize("route", ["describe", "insert", "create"])
def test_a_body_that_stops_coming_is_refused(address: str, route: str) -> None:
    with talking(address) as (connection, path):
        connection.sendall(head(f"{path}/v1/table/t/{route}", "content-length: 500") + b"{")
        assert answer(connection) == (408, 13)


def test_a_body_that_trickles_is_refused(address: str) -> None:
    with talking(address) as (connection, path):
        connection.sendall(head(f"{path}/v1/table/t/insert", "content-length: 50000"))
        with contextlib.suppress(ConnectionError):
            for _ in range(20):
                connection.sendall(b"x" * 10)
                time.sleep(PATIENCE / 8)
        assert answer(connection) == (408, 13)


def test_more_slow_senders_than_threads_keep_nobody_waiting(address: str) -> None:
    with contextlib.ExitStack() as open_ones:
        for _ in range(40):
            connection, path = open_ones.enter_context(talking(address))
            connection.sendall(head(f"{path}/v1/table/t/insert", "content-length: 500") + b"\xff")
        began = time.monotonic()
        assert lanceyard.RestNamespace(uri=address).count_table_rows({"id": ["t"]}).count == 3
        assert time.monotonic() - began < PATIENCE


@pytest.mark.parametrize("length", ["content-length: 20000", "transfer-encoding: chunked"])
def test_a_body_that_is_too_large_is_refused(address: str, length: str) -> None:
    with talking(address) as (connection, path):
        connection.sendall(head(f"{path}/v1/table/t/describe", length, "connection: close"))
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"4e20\r\n" if "chunked" in length else b"")
            connection.sendall(b" " * 20_000)
        assert answer(connection) == (413, 13)


def test_requests_that_come_at_once_are_answered_in_turn(address: str) -> None:
    with talking(address) as (connection, path):
        connection.sendall(
            head(f"{path}/v1/table/t/exists")
            + head(f"{path}/v1/table/u/exists", "connection: close")
        )
        text = b""
        while data := connection.recv(65536):
            text += data
        assert [int(part.split()[0]) for part in text.split(b"HTTP/1.1 ")[1:]] == [200, 404]


def answers(connection: socket.socket) -> list[bytes]:
    """All that a server says until it closes the connection, an answer each."""
    text = b""
    while data := connection.recv(65536):
        text += data
    return text.split(b"HTTP/1.1 ")[1:]


@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_who_wishes_for_another_protocol_gets_this_one(address: str, pause: float) -> None:
    body = b'{"properties": {"a": "b"}}'
    wish = ("connection: upgrade, close", "Upgrade: h2c", f"content-length: {len(body)}")
    with talking(address) as (connection, path):
        connection.sendall(head(f"{path}/v1/namespace/n/create", *wish))
        time.sleep(pause)
        connection.sendall(body)
        connection.sendall(head(f"{path}/v1/namespace/smuggled/create"))
        assert b'{"a":"b"}' in answers(connection)[0]
    client = lanceyard.RestNamespace(uri=address)
    assert "smuggled" not in client.list_namespaces({"id": []}).namespaces


def test_a_connection_on_which_only_an_empty_line_comes_is_closed(address: str) -> None:
    with talking(address) as (connection, _):
        connection.sendall(b"\r\n")
        assert answer(connection) == (408, 13)


@pytest.mark.parametrize("target", ["http://[", "http://x:99999/"])
def test_an_address_that_is_none_is_refused(address: str, target: str) -> None:
    with talking(address) as (connection, _):
        connection.sendall(f"GET {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        assert answer(connection) == (400, 13)


def test_a_bad_request_behind_a_good_one_does_not_change_its_answer(address: str) -> None:
    with talking(address) as (connection, path):
        good = head(f"{path}/v1/table/t/count_rows", "content-length: 0")
        connection.sendall(good + head("http://[", "content-length: 4") + b"body")
        assert [each.split()[0] for each in answers(connection)] == [b"200"]


def test_a_small_answer_of_rows_keeps_the_connection(address: str) -> None:
    with talking(address) as (connection, path):
        body = b'{"k": 1, "vector": {}}'
        ask = head(f"{path}/v1/table/t/query", f"content-length: {len(body)}") + body
        for _ in range(2):
            connection.sendall(ask)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
