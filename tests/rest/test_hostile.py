"""Requests that no client should send get an answer with a code, and the server goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
import urllib3

import lanceyard

from .serving import server

POOL = urllib3.PoolManager(retries=False)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where a catalog with one table `t` is served, which must live in the end."""
    yard = lanceyard.open(tmp_path)
    yard.create_table("t", pa.table({"n": [1, 2, 3]}))
    found = server().serve(yard.namespace)
    yield found
    assert ask("POST", f"{found}/v1/table/t/count_rows") == (200, 3)
    yard.close()


def ask(method: str, url: str, body: bytes = b"", **headers: str) -> tuple[int, object]:
    """The status of an answer, and the code of its error or what it says."""
    answer = POOL.request(method, url, body=body, headers=headers)
    said = json.loads(answer.data) if answer.data else None
    if answer.status >= 400:
        assert isinstance(said, dict)
        assert said["error"]
        assert said["instance"] == answer.headers["x-request-id"]
        return answer.status, said["code"]
    return answer.status, said


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", (404, 0)),
        ("POST", "/v1/table/t/frobnicate", (404, 0)),
        ("GET", "/v1/table/t/describe", (405, 0)),
        ("DELETE", "/v1/table", (405, 0)),
        ("POST", "/v1/table/%FF/describe", (400, 13)),
        ("POST", "/v1/table/a$$b/describe", (400, 13)),
        ("POST", "/v1/table/..%2F..%2Fetc/describe", (400, 13)),
        ("POST", "/v1/table/%00/describe", (400, 13)),
        ("POST", f"/v1/table/{'x' * 300}/describe", (400, 13)),
        ("POST", "/v1/table/t/describe?delimiter=", (400, 13)),
        ("GET", "/v1/table?limit=none", (400, 13)),
        ("GET", "/v1/table?limit=0", (400, 13)),
        ("GET", "/v1/table?include_declared=maybe", (400, 13)),
        ("POST", "/v1/table/nope/describe", (404, 4)),
        ("POST", "/v1/table/n$t/describe", (404, 1)),
    ],
)
def test_a_bad_path_or_query_is_answered_with_a_code(
    address: str, method: str, path: str, expected: tuple[int, int]
) -> None:
    assert ask(method, address + path) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"1",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"id": ["other"]}',
        b'{"id": 1}',
        b'{"version": "one"}',
    ],
    ids=["open", "list", "number", "text", "bytes", "deep", "other", "id", "type"],
)
def test_a_body_that_is_no_request_is_refused(address: str, body: bytes) -> None:
    assert ask("POST", f"{address}/v1/table/t/describe", body) == (400, 13)


@pytest.mark.parametrize("body", [b"", b"ARROW1", b"\x00" * 1_000], ids=["none", "file", "zeros"])
@pytest.mark.parametrize("route", ["create?mode=overwrite", "insert", "merge_insert?on=n"])
def test_a_stream_that_is_no_arrow_is_refused(address: str, route: str, body: bytes) -> None:
    assert ask("POST", f"{address}/v1/table/t/{route}", body) == (400, 13)


def test_unknown_fields_parameters_and_types_of_content_are_ignored(address: str) -> None:
    url = f"{address}/v1/table/t/count_rows?frobnicate=1"
    body = b'{"frobnicate": true, "predicate": null}'
    assert ask("POST", url, body, **{"content-type": "text/plain"}) == (200, 3)


def test_a_client_that_goes_away_in_its_body_changes_nothing(address: str) -> None:
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as connection:
        head = [f"POST {parts.path}/v1/table/t/insert HTTP/1.1", "host: x", "content-length: 999"]
        connection.sendall("\r\n".join([*head, "", ""]).encode() + b"\xff\xff\xff\xff")


def test_a_request_id_comes_back(address: str) -> None:
    answer = POOL.request("GET", f"{address}/v1/table", headers={"x-request-id": "mine"})
    assert answer.headers["x-request-id"] == "mine"


def test_older_clients_say_nothing_by_null(address: str) -> None:
    assert ask("POST", f"{address}/v1/table/t/count_rows", b"null") == (200, 3)
