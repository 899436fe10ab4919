"""Clients of earlier releases find their routes, and what they expect there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import urllib3

import lanceyard
from lanceyard.rest.protocol import EXTENSIONS, OPERATIONS
from tests.conformance.kit import stream

from .serving import server

POOL = urllib3.PoolManager(retries=False)
NUMBERS = pa.table({"n": pa.array([1, 2, 3], pa.int64())})
PLACE = {"name": "t", "namespace": ["a"]}
"""A table, as document 002 names it."""


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[lanceyard.Yard]:
    """A catalog with a namespace `a`, which has properties, and a table `t` in it."""
    with lanceyard.open(tmp_path, dir_listing_enabled="false") as found:
        found.create_namespace("a", properties={"owner": "ada"})
        found.create_table("a.t", NUMBERS)
        yield found


@pytest.fixture
def address(yard: lanceyard.Yard) -> str:
    """Where it is served."""
    return server().serve(yard.namespace)


def ask(url: str, said: Any = None, method: str = "POST") -> tuple[int, Any]:
    """The status of an answer, and what it says."""
    body = said if isinstance(said, bytes) else json.dumps(said or {}).encode()
    answer = POOL.request(method, url, body=None if method == "GET" else body)
    return answer.status, json.loads(answer.data) if answer.data else None


def test_namespaces_are_created_described_and_dropped(address: str) -> None:
    said = {"name": "b", "parent": ["a"], "mode": "CREATE", "options": {"k": "v"}}
    told = {"name": "b", "parent": ["a"], "properties": {"k": "v"}}
    assert ask(f"{address}/CreateNamespace", said) == (200, told)
    assert ask(f"{address}/GetNamespace", {"name": "b", "parent": ["a"]}) == (200, told)
    status, dropped = ask(f"{address}/DropNamespace", {"name": "b", "parent": ["a"]})
    assert (status, dropped["name"], dropped["parent"]) == (200, "b", ["a"])
    status, problem = ask(f"{address}/GetNamespace", {"name": "b", "parent": ["a"]})
    assert (status, problem["code"]) == (404, 1)


def test_a_namespace_without_a_parent_is_in_the_root(address: str) -> None:
    told = {"name": "a", "parent": [], "properties": {"owner": "ada"}}
    assert ask(f"{address}/GetNamespace", {"name": "a"}) == (200, told)


def test_namespaces_are_listed_page_by_page(address: str) -> None:
    for name in ("b", "c"):
        ask(f"{address}/CreateNamespace", {"name": name, "mode": "CREATE"})
    status, page = ask(f"{address}/ListNamespaces", {"pageSize": 2})
    assert (status, page["namespaces"]) == (200, ["a", "b"])
    said = {"pageToken": page["nextPageToken"], "pageSize": 2}
    assert ask(f"{address}/ListNamespaces", said) == (200, {"namespaces": ["c"]})
    assert ask(f"{address}/ListNamespaces", {"parent": ["a"]}) == (200, {"namespaces": []})


def test_a_table_is_told_by_its_name_and_namespace(address: str, tmp_path: Path) -> None:
    status, told = ask(f"{address}/GetTable", PLACE)
    assert status == 200
    assert Path(told.pop("location")).parent == tmp_path
    assert told == {**PLACE, "properties": {}}


def test_tables_are_deregistered_and_registered(address: str, tmp_path: Path) -> None:
    status, gone = ask(f"{address}/DeregisterTable", PLACE)
    assert (status, gone["name"], gone["namespace"]) == (200, "t", ["a"])
    location = Path(gone["location"]).name
    again = {"name": "u", "namespace": [], "location": location}
    status, told = ask(f"{address}/RegisterTable", again)
    assert (status, told["name"], told["namespace"]) == (200, "u", [])
    status, told = ask(f"{address}/DropTable", {"name": "u"})
    assert (status, told["name"]) == (200, "u")


@pytest.mark.parametrize(
    ("operation", "said", "exists"),
    [
        ("NamespaceExists", {"name": "a"}, True),
        ("NamespaceExists", {"name": "b", "parent": []}, False),
        ("NamespaceExists", {"id": ["b"]}, False),
        ("TableExists", PLACE, True),
        ("TableExists", {"name": "u", "namespace": ["a"]}, False),
        ("TableExists", {"name": "u", "namespace": ["b"]}, False),
        ("TableExists", {"id": ["a", "t"]}, True),
    ],
)
def test_existence_is_told_in_the_body(
    address: str, operation: str, said: dict[str, Any], exists: bool
) -> None:
    assert ask(f"{address}/{operation}", said) == (200, {"exists": exists})


def test_transactions_are_told_by_their_id(tmp_path: Path) -> None:
    with lanceyard.open(tmp_path / "managed", dir_listing_enabled="false") as yard:
        yard.manage_versions(wait=timedelta(0))
        name = yard.namespace.begin_transaction({"k": "v"}).id
        address = server().serve(yard.namespace)
        told = {"id": name, "status": "RUNNING", "properties": {"k": "v"}}
        assert ask(f"{address}/GetTransaction", {"id": name}) == (200, told)
        cancel = {"id": name, "actions": [{"setStatusAction": {"status": "CANCELED"}}]}
        status, ended = ask(f"{address}/AlterTransaction", cancel)
        assert (status, ended["id"], ended["status"]) == (200, name, "CANCELED")


def test_errors_are_problems_of_rfc_7807(address: str) -> None:
    status, problem = ask(f"{address}/GetTable", {"name": "u", "namespace": ["a"]})
    instance = problem.pop("instance")
    assert instance
    assert status == 404
    assert problem == {
        "type": "/errors/table-not-found",
        "title": "Table not found",
        "status": 404,
        "detail": "table 'a$u' was not found",
        "code": 4,
    }


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"namespace": ["a"]},
        {"name": "t", "namespace": "a"},
        {"name": 1, "namespace": ["a"]},
        {"name": "t", "namespace": [1]},
        {"name": ["t"]},
        {"id": "a$t"},
        b"{",
        b"[]",
    ],
)
def test_a_request_that_names_nothing_is_refused(address: str, said: Any) -> None:
    status, problem = ask(f"{address}/GetTable", said)
    assert (status, problem["code"], problem["type"]) == (400, 13, "/errors/invalid-input")


def test_todays_request_gets_todays_answer(address: str) -> None:
    today = ask(f"{address}/v1/table/a$t/describe")
    assert ask(f"{address}/DescribeTable", {"id": ["a", "t"]}) == today
    status, error = ask(f"{address}/DescribeTable", {"id": ["a", "u"]})
    assert (status, error["code"], error["error"]) == (404, 4, "table 'a$u' was not found")


def test_every_operation_has_a_route_of_its_name(address: str) -> None:
    for operation in (*OPERATIONS, *EXTENSIONS):
        status, _ = ask(f"{address}/{operation.name}", {"id": ["nope"]})
        assert (operation.name, status) != (operation.name, 405)
        assert (operation.name, ask(f"{address}/{operation.name}", method="GET")[0]) == (
            operation.name,
            405,
        )


def test_operations_of_today_have_their_identifier_in_the_body(address: str) -> None:
    table = {"id": ["a", "t"]}
    assert ask(f"{address}/CountTableRows", table) == (200, 3)
    assert ask(f"{address}/ListTables", {"id": ["a"]}) == (200, {"tables": ["t"]})
    assert ask(f"{address}/ListAllTables") == (200, {"tables": ["a$t"]})
    metadata = {**table, "metadata": {"k": "v"}}
    assert ask(f"{address}/UpdateTableSchemaMetadata", metadata) == (200, {"k": "v"})
    assert "CountTableRows" in ask(f"{address}/ListOperations")[1]["operations"]


@pytest.mark.parametrize("identifier", ["a$t", "a%24t", "a&id=t"])
def test_rows_are_inserted_into_the_table_of_the_query(address: str, identifier: str) -> None:
    assert ask(f"{address}/InsertIntoTable?id={identifier}", stream(NUMBERS))[0] == 200
    assert ask(f"{address}/CountTableRows", {"id": ["a", "t"]}) == (200, 6)


def test_a_table_is_created_by_its_name(address: str) -> None:
    status, created = ask(f"{address}/CreateTable?id=a$u&mode=create", stream(NUMBERS))
    assert (status, created["version"]) == (200, 1)
    assert ask(f"{address}/CreateTable?id=a$u", stream(NUMBERS))[1]["code"] == 5
    assert ask(f"{address}/CreateTable", stream(NUMBERS))[1]["code"] == 13


@pytest.mark.parametrize("name", ["ListTablesV2", "GetTableV3", "FrobnicateV1"])
def test_an_operation_of_a_later_version_is_not_supported(address: str, name: str) -> None:
    status, error = ask(f"{address}/{name}")
    assert (status, error["code"]) == (406, 0)


@pytest.mark.parametrize("name", ["Frobnicate", "listTables", "ListTablesV", "V2", "gettablev2"])
def test_what_is_no_operation_is_no_route(address: str, name: str) -> None:
    status, error = ask(f"{address}/{name}")
    assert (status, error["code"]) == (404, 0)


def test_an_empty_table_is_declared(address: str) -> None:
    status, declared = ask(f"{address}/v1/table/a$u/create-empty")
    assert status == 200
    assert declared["location"]
    assert ask(f"{address}/ListTables", {"id": ["a"]}) == (200, {"tables": ["t", "u"]})


def test_tags_are_listed_by_get(address: str) -> None:
    ask(f"{address}/v1/table/a$t/tags/create", {"tag": "x", "version": 1})
    status, told = ask(f"{address}/v1/table/a$t/tags/list?limit=5", method="GET")
    assert (status, told["tags"]["x"]["version"]) == (200, 1)


def test_a_view_is_refreshed_as_a_table(address: str, yard: lanceyard.Yard) -> None:
    query = '{"sql": "SELECT n FROM x", "tables": {"x": ["a", "t"]}}'
    view = {"id": ["v"], "kind": "query", "source_query": query, "output_schema": ""}
    yard.namespace.create_materialized_view(view)
    assert ask(f"{address}/v1/table/v/refresh")[0] == 202
