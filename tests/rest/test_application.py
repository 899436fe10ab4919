"""What the application serves beside the operations, and what it does not let through."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import urllib3
from lance_namespace import ListNamespacesRequest, ListNamespacesResponse

import lanceyard
from lanceyard import errors
from lanceyard.server.command import build
from lanceyard.server.security.keys import new_key
from lanceyard.server.settings import Settings
from tests.conformance.kit import stream

from .serving import server

KEY, DIGEST = new_key()
KEYS = {"keys": [{"name": "ann", "sha256": DIGEST}]}
POOL = urllib3.PoolManager(retries=False, maxsize=20)


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[lanceyard.DirectoryNamespace]:
    found = lanceyard.DirectoryNamespace(root=str(tmp_path / "catalog"))
    found.create_namespace({"id": ["n"]})
    yield found
    found.close()


class Waiting(lanceyard.MemoryNamespace):
    """A namespace whose lists wait for a word."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.word = threading.Event()

    def state_at_hand(self, names: Any) -> object | None:
        return None

    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        self.begun.release()
        self.word.wait(10)
        return super().list_namespaces(request)


class Failing(lanceyard.MemoryNamespace):
    """A namespace that cannot be reached."""

    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        raise errors.InternalError("disk on fire at /secret/place")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json"])
def test_a_page_is_served_without_saying_who_asks(
    namespace: lanceyard.DirectoryNamespace, path: str
) -> None:
    address = server().serve(namespace, security=KEYS)
    assert POOL.request("GET", address + path).status == 200
    assert POOL.request("HEAD", address + path).status == 200
    refused = POOL.request("POST", address + path)
    assert (refused.status, refused.headers["allow"]) == (405, "GET")


def test_a_server_whose_catalog_fails_lives_and_is_not_ready() -> None:
    address = server().serve(Failing())
    assert POOL.request("GET", f"{address}/healthz").status == 200
    ready = POOL.request("GET", f"{address}/readyz")
    assert (ready.status, ready.json()["code"]) == (503, 17)
    assert b"secret" not in ready.data


def test_a_server_that_only_reads_changes_nothing(namespace: lanceyard.DirectoryNamespace) -> None:
    address = server().serve(namespace, server={"read_only": True})
    client = lanceyard.RestNamespace(uri=address)
    assert client.list_namespaces({"id": []}).namespaces == ["n"]
    with pytest.raises(errors.PermissionDeniedError, match="read-only"):
        client.drop_namespace({"id": ["n"]})
    assert client.list_namespaces({"id": []}).namespaces == ["n"]


def test_who_asks_too_often_is_told_when_to_ask_again(
    namespace: lanceyard.DirectoryNamespace,
) -> None:
    address = server().serve(namespace, server={"rate": 0.5, "burst": 3})
    answers = [POOL.request("GET", f"{address}/v1/table") for _ in range(4)]
    assert [each.status for each in answers] == [200, 200, 200, 429]
    assert answers[-1].json()["code"] == 21
    assert answers[-1].headers["retry-after"] == "2"


def test_a_read_that_takes_too_long_is_given_up() -> None:
    waiting = Waiting()
    address = server().serve(waiting, server={"time_limit": 0.2})
    answer = POOL.request("GET", f"{address}/v1/namespace/$/list")
    waiting.word.set()
    assert (answer.status, answer.json()["code"]) == (503, 17)
    assert "retry-after" in answer.headers


def test_when_too_many_wait_the_next_is_sent_away() -> None:
    waiting = Waiting()
    address = server().serve(waiting, server={"threads": 1, "queue": 1})
    with ThreadPoolExecutor(2) as clients:
        url = f"{address}/v1/namespace/$/list"
        begun = [clients.submit(POOL.request, "GET", url)]
        assert waiting.begun.acquire(timeout=5)
        begun.append(clients.submit(POOL.request, "GET", url))
        while begun[1].running() and not begun[1].done():
            try:
                if POOL.request("GET", url, timeout=0.5).status == 503:
                    break
            except urllib3.exceptions.TimeoutError:
                continue  # it was taken in before the other came
        assert POOL.request("GET", f"{address}/healthz").status == 200
        waiting.word.set()
        assert {each.result().status for each in begun} <= {200, 503}


async def answer_of(application: Any, **headers: str) -> dict[str, str]:
    """The headers with which an application answers a question for the tables."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/table",
        "raw_path": b"/v1/table",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await application(scope, receive, send)
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize(
    ("origin", "allowed"), [("https://a.example", "https://a.example"), ("https://b.example", None)]
)
def test_only_pages_of_listed_origins_may_ask(
    tmp_path: Path, origin: str, allowed: str | None
) -> None:
    import asyncio

    settings = Settings.load(str(tmp_path), {"origins": ["https://a.example"]}, {})
    headers = asyncio.run(answer_of(build(settings), origin=origin))
    assert headers.get("access-control-allow-origin") == allowed


def test_headers_in_a_context_do_not_reach_a_server_behind_the_server() -> None:
    inner = server().serve(lanceyard.MemoryNamespace(), security=KEYS)
    outer = server().serve(lanceyard.RestNamespace(uri=inner))
    said = {"context": {"header.x-api-key": KEY, "other": "x"}}
    refused = POOL.request("POST", f"{outer}/v1/namespace/n/create", json=said)
    assert refused.json()["code"] == 16


def test_a_page_that_is_not_listed_may_not_ask(namespace: lanceyard.DirectoryNamespace) -> None:
    address = server().serve(namespace)
    origin = {"origin": "https://evil.example", "content-type": "text/plain"}
    refused = POOL.request("POST", f"{address}/v1/namespace/n/drop", headers=origin)
    assert (refused.status, refused.json()["code"]) == (403, 15)
    namespace.namespace_exists({"id": ["n"]})


def test_what_fails_inside_is_not_told() -> None:
    answer = POOL.request("GET", f"{server().serve(Failing())}/v1/namespace/$/list")
    assert (answer.status, answer.json()["code"]) == (500, 18)
    assert b"secret" not in answer.data


@pytest.mark.parametrize("path", ["/oauth/token", "/v1/namespace/n/create"])
def test_little_is_read_of_whoever_has_not_said_who_they_are(path: str) -> None:
    address = server().serve(lanceyard.MemoryNamespace(), security=KEYS)
    refused = POOL.request("POST", address + path, body=b"a=&" * 100_000)
    assert (refused.status, refused.json()["code"]) == (413, 13)


def test_rows_do_not_make_a_table_a_view(namespace: lanceyard.DirectoryNamespace) -> None:
    said = json.dumps({"lanceyard.view": "{}", "protected": "true"})
    schema = pa.schema({"n": pa.int64()}, {"lanceyard:properties": said})
    rows = stream(pa.table([pa.array([1])], schema=schema))
    namespace.create_table({"id": ["t"]}, rows)
    namespace.insert_into_table({"id": ["t"], "mode": "overwrite"}, rows)
    assert not namespace.describe_table({"id": ["t"]}).properties
    namespace.drop_table({"id": ["t"]})
