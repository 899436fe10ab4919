"""Answers that are told again: by a tag of their content, or by the key of a request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import urllib3

import lanceyard
from lanceyard import errors
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.answers import Reply
from lanceyard.server.remembered import LIFETIME, RememberedAnswers
from tests.conformance.kit import stream

from .serving import server

POOL = urllib3.PoolManager(retries=False)
CREATE = BY_NAME["CreateNamespace"]


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[lanceyard.DirectoryNamespace]:
    found = lanceyard.DirectoryNamespace(root=str(tmp_path / "catalog"))
    found.create_namespace({"id": ["n"]})
    yield found
    found.close()


@pytest.fixture
def address(namespace: lanceyard.DirectoryNamespace) -> str:
    return server().serve(namespace)


def post(url: str, said: object = None, **headers: str) -> urllib3.BaseHTTPResponse:
    """Post JSON."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return POOL.request("POST", url, body=json.dumps(said or {}), headers=names)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/namespace/$/list"),
        ("GET", "/v1/namespace/n/table/list"),
        ("GET", "/v1/table"),
        ("POST", "/v1/namespace/n/describe"),
        ("POST", "/v1/table/n$t/describe"),
    ],
)
def test_what_did_not_change_is_not_sent_again(
    namespace: lanceyard.DirectoryNamespace, address: str, method: str, path: str
) -> None:
    namespace.declare_table({"id": ["n", "t"]})
    first = POOL.request(method, address + path)
    known = {"if-none-match": f'"other", {first.headers["etag"]}'}
    again = POOL.request(method, address + path, headers=known)
    assert (first.status, again.status, again.data) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_what_changed_is_sent(namespace: lanceyard.DirectoryNamespace, address: str) -> None:
    first = POOL.request("GET", f"{address}/v1/namespace/$/list")
    namespace.create_namespace({"id": ["m"]})
    known = {"if-none-match": first.headers["etag"]}
    again = POOL.request("GET", f"{address}/v1/namespace/$/list", headers=known)
    assert again.json()["namespaces"] == ["m", "n"]


def test_a_request_with_a_key_is_carried_out_once(address: str) -> None:
    said = {"properties": {"a": "b"}}
    first = post(f"{address}/v1/namespace/m/create", said, idempotency_key="k")
    again = post(f"{address}/v1/namespace/m/create", said, idempotency_key="k")
    assert (first.status, again.status, again.data) == (200, 200, first.data)
    assert again.headers["idempotency-replayed"] == "true"
    assert post(f"{address}/v1/namespace/m/create", said).json()["code"] == 2


def test_a_key_that_was_used_for_another_request_is_refused(address: str) -> None:
    post(f"{address}/v1/namespace/m/create", idempotency_key="k")
    other = post(f"{address}/v1/namespace/o/create", idempotency_key="k")
    assert (other.status, other.json()["code"]) == (400, 13)


def test_what_failed_is_carried_out_again(
    namespace: lanceyard.DirectoryNamespace, address: str
) -> None:
    url = f"{address}/v1/table/m$t/declare"
    assert post(url, idempotency_key="k").json()["code"] == 1
    namespace.create_namespace({"id": ["m"]})
    assert post(url, idempotency_key="k").status == 200


@pytest.mark.parametrize("key", ["", "x" * 300, "ü"])
def test_a_bad_key_is_refused(address: str, key: str) -> None:
    refused = post(f"{address}/v1/namespace/m/create", idempotency_key=key)
    assert (refused.status, refused.json()["code"]) == (400, 13)


def test_a_table_is_created_once_though_its_rows_are_sent_twice(address: str) -> None:
    body = stream(pa.table({"n": [1, 2]}))
    url, headers = f"{address}/v1/table/n$t/create", {"idempotency-key": "k"}
    answers = [POOL.request("POST", url, body=body, headers=headers) for _ in "ab"]
    assert [each.status for each in answers] == [200, 200]
    assert post(f"{address}/v1/table/n$t/count_rows").json() == 2


def test_nobody_else_can_read_the_answers(tmp_path: Path) -> None:
    RememberedAnswers(tmp_path).once("ann", "k", CREATE, {}, lambda: Reply(200, b"1"))
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_a_key_belongs_to_who_sent_it(tmp_path: Path) -> None:
    answers = RememberedAnswers(tmp_path)
    answers.once("ann", "k", CREATE, {"id": ["a"]}, lambda: Reply(200, b"1"))
    other = answers.once("bob", "k", CREATE, {"id": ["a"]}, lambda: Reply(200, b"2"))
    assert other.content == b"2"


def test_another_process_of_the_server_knows_the_answer(tmp_path: Path) -> None:
    RememberedAnswers(tmp_path).once("ann", "k", CREATE, {}, lambda: Reply(200, b"1"))
    again = RememberedAnswers(tmp_path).once("ann", "k", CREATE, {}, lambda: Reply(200, b"2"))
    assert again.content == b"1"


def test_a_request_that_is_being_carried_out_is_not_begun_again(tmp_path: Path) -> None:
    answers = RememberedAnswers(tmp_path)

    def again() -> Reply:
        with pytest.raises(errors.ConcurrentModificationError, match="still being carried out"):
            answers.once("ann", "k", CREATE, {}, lambda: Reply(200, b"2"))
        return Reply(200, b"1")

    assert answers.once("ann", "k", CREATE, {}, again).content == b"1"


def test_an_answer_is_forgotten_after_a_day(tmp_path: Path) -> None:
    now = 0.0
    answers = RememberedAnswers(tmp_path, clock=lambda: now)
    answers.once("ann", "k", CREATE, {}, lambda: Reply(200, b"1"))
    now = LIFETIME + 1
    assert answers.once("ann", "k", CREATE, {}, lambda: Reply(200, b"2")).content == b"2"
