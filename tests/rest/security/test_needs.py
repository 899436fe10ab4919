"""Needs: which role each operation takes, on all the objects that a request names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lanceyard.rest.protocol import BY_NAME, OPERATIONS
from lanceyard.server.security.needs import NEEDS
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.security import Security

from .people import ALICE, granting, may, security

WRITER_OF_A = granting(("alice", "writer", "a"))
OWNER_OF_A = granting(("alice", "owner", "a"))
OWNER_OF_T = granting(("alice", "owner", "a$t"))
OWNER_OF_ALL = granting(("alice", "owner", ""))


def test_every_operation_has_its_needs() -> None:
    assert NEEDS.keys() == BY_NAME.keys()
    assert len(OPERATIONS) == 54


def test_every_operation_that_reads_is_for_readers_and_no_other() -> None:
    reader = granting(("alice", "reader", ""))
    said = {"id": ["a", "t"], "source_query": "{}", "operations": [{}]}
    allowed = {name for name in BY_NAME if may(reader, ALICE, name, **said)}
    assert allowed == {name for name, each in BY_NAME.items() if each.only_reads}


def test_roles_are_inherited_downward_and_not_sideways() -> None:
    for path in (["a"], ["a", "t"], ["a", "b", "c", "t"]):
        assert may(WRITER_OF_A, ALICE, "InsertIntoTable", id=path)
    for path in ([], ["b"], ["aa"], ["b", "a"], ["a$t"]):
        assert not may(WRITER_OF_A, ALICE, "InsertIntoTable", id=path)


def test_the_highest_role_counts_whoever_it_was_granted_to() -> None:
    guard = granting(
        ("*", "reader", ""),
        ("group:dev", "writer", "a"),
        ("bob", "owner", "a"),
        ("bob", "reader", "a"),
    )
    bob, dev = Principal("bob"), Principal("eve", frozenset({"dev"}))
    assert may(guard, bob, "DropTable", id=["a", "t"])
    assert may(guard, dev, "UpdateTable", id=["a", "t"])
    assert not may(guard, dev, "DropTable", id=["a", "t"])
    assert may(guard, ALICE, "QueryTable", id=["b", "t"])
    assert not may(guard, ALICE, "UpdateTable", id=["a", "t"])


def test_a_principal_named_like_a_group_has_nothing_of_it() -> None:
    guard = granting(("group:dev", "owner", ""))
    assert not may(guard, Principal("dev"), "ListTables")
    assert not may(guard, Principal("eve", frozenset({"group:dev"})), "ListTables")


def test_without_grants_every_principal_may_do_everything() -> None:
    guard = security(keys=[{"name": "alice", "sha256": "0" * 64}])
    assert guard.is_on
    assert not guard.has_roles
    assert all(may(guard, ALICE, name) for name in BY_NAME)
    assert guard.may_write(ALICE, {"id": ["a"]})


@pytest.mark.parametrize("operation", ["CreateNamespace", "CreateTable", "DeclareTable"])
def test_creating_takes_a_writer_of_the_parent(operation: str) -> None:
    assert may(WRITER_OF_A, ALICE, operation, id=["a", "new"])
    assert may(WRITER_OF_A, ALICE, operation, id=["a", "new"], mode="exist_ok")
    assert not may(WRITER_OF_A, ALICE, operation, id=["a"])
    assert not may(OWNER_OF_T, ALICE, operation, id=["a", "t"], mode="overwrite")


@pytest.mark.parametrize("mode", ["overwrite", "Overwrite", "OVER_WRITE", "frobnicate", 7])
def test_overwriting_a_namespace_drops_it_and_takes_its_owner(mode: Any) -> None:
    assert not may(WRITER_OF_A, ALICE, "CreateNamespace", id=["a", "n"], mode=mode)
    assert may(OWNER_OF_A, ALICE, "CreateNamespace", id=["a", "n"], mode=mode)
    assert may(WRITER_OF_A, ALICE, "CreateTable", id=["a", "t"], mode=mode)


def test_a_location_or_options_of_ones_own_take_the_owner_of_all() -> None:
    for operation, said in [
        ("DeclareTable", {"location": "elsewhere"}),
        ("CreateTable", {"storage_options": {"endpoint": "http://elsewhere"}}),
        ("RegisterTable", {"location": "elsewhere"}),
    ]:
        assert not may(OWNER_OF_A, ALICE, operation, id=["a", "t"], **said)
        assert may(OWNER_OF_ALL, ALICE, operation, id=["a", "t"], **said)
    assert may(WRITER_OF_A, ALICE, "CreateTable", id=["a", "t"], storage_options={})


def test_renaming_takes_a_writer_where_the_table_lands() -> None:
    assert may(OWNER_OF_A, ALICE, "RenameTable", id=["a", "t"], new_table_name="u")
    assert may(OWNER_OF_A, ALICE, "RenameTable", id=["a", "t"], new_namespace_id=["a", "b"])
    assert not may(OWNER_OF_A, ALICE, "RenameTable", id=["a", "t"], new_namespace_id=["b"])
    assert not may(OWNER_OF_A, ALICE, "RenameTable", id=["a", "t"], new_namespace_id=[])
    assert not may(OWNER_OF_T, ALICE, "RenameTable", id=["a", "t"], new_table_name="u")
    both = granting(("alice", "owner", "a$t"), ("alice", "writer", "b"))
    assert may(both, ALICE, "RenameTable", id=["a", "t"], new_namespace_id=["b"])


def test_a_plan_is_about_each_table_that_it_names() -> None:
    for said in (
        {"id": ["a", "t"]},
        {"query": {"id": ["a", "t"]}},
        {"id": ["a", "t"], "query": {}},
    ):
        assert may(OWNER_OF_A, ALICE, "ExplainTableQueryPlan", **said)
    for said in ({"query": {"id": ["b"]}, "id": ["a"]}, {"query": {"id": ["b"]}}, {"query": 7}):
        assert not may(OWNER_OF_A, ALICE, "ExplainTableQueryPlan", **said)


@pytest.mark.parametrize(
    ("tables", "allowed"),
    [
        ({"x": ["a", "t"]}, True),
        ({"x": "a$t", "y": "b$t"}, True),
        ({"x": "a$t", "y": "c$t"}, False),
        ({"x": ["c", "t"]}, False),
        ({}, False),
        ([], False),
        ({"x": 7}, False),
    ],
)
def test_a_view_takes_a_reader_of_each_of_its_bases(tables: Any, allowed: bool) -> None:
    guard = granting(("alice", "writer", "a"), ("alice", "reader", "b"))
    said = {"id": ["a", "v"], "source_query": json.dumps({"sql": "", "tables": tables})}
    assert may(guard, ALICE, "CreateMaterializedView", **said) is allowed
    assert not may(guard, ALICE, "CreateMaterializedView", **{**said, "id": ["b", "v"]})
    assert not may(guard, ALICE, "CreateMaterializedView", id=["a", "v"], source_query="SELECT 1")


def test_a_batch_of_versions_takes_a_writer_of_each_table() -> None:
    mine, other = {"id": ["a", "t"]}, {"id": ["b", "t"]}
    assert may(WRITER_OF_A, ALICE, "BatchCreateTableVersions", entries=[mine, mine])
    assert not may(WRITER_OF_A, ALICE, "BatchCreateTableVersions", entries=[mine, other])
    assert not may(WRITER_OF_A, ALICE, "BatchCreateTableVersions", entries=[mine, {}])


@pytest.mark.parametrize(
    ("step", "writer", "owner"),
    [
        ({"declare_table": {"id": ["a", "t"]}}, True, True),
        ({"create_table_version": {"id": ["a", "t"]}}, True, True),
        ({"delete_table_versions": {"id": ["a", "t"]}}, True, True),
        ({"deregister_table": {"id": ["a", "t"]}}, False, True),
        ({"declare_table": {"id": ["a"]}}, False, False),
        ({"declare_table": {"id": ["a", "t"], "location": "x"}}, False, False),
        ({"declare_table": {"id": ["a", "t"], "properties": {"lanceyard.view": ""}}}, False, False),
        ({"declare_table": {"id": ["a", "t"], "properties": 7}}, False, False),
        ({"create_table_version": {"id": ["b", "t"]}}, False, False),
        ({"declare_table": {"id": ["a"]}, "create_table_version": {"id": ["b"]}}, False, False),
        ({}, False, False),
        ({"declare_table": None}, False, False),
        ({"declare_table": []}, False, False),
        (None, False, False),
    ],
)
def test_a_batch_takes_what_each_of_its_steps_takes(step: Any, writer: bool, owner: bool) -> None:
    mine = {"create_table_version": {"id": ["a", "t"]}}
    for guard, allowed in ((WRITER_OF_A, writer), (OWNER_OF_A, owner), (OWNER_OF_ALL, True)):
        assert may(guard, ALICE, "BatchCommitTables", operations=[mine, step]) is allowed


@pytest.mark.parametrize("operations", [None, [], {}, "text", 7])
def test_a_batch_of_nothing_is_left_to_the_owner_of_all(operations: Any) -> None:
    assert not may(OWNER_OF_A, ALICE, "BatchCommitTables", operations=operations)
    assert may(OWNER_OF_ALL, ALICE, "BatchCommitTables", operations=operations)


@pytest.mark.parametrize("names", ["a", "a$t", {"a": 1}, 7, [7], [["a"]], ["a", ""], ["a", "x$y"]])
def test_a_malformed_id_is_left_to_those_with_the_role_on_the_root(names: Any) -> None:
    for operation in ("QueryTable", "DropTable", "NamespaceExists", "ListTables", "CreateTable"):
        assert not may(OWNER_OF_A, ALICE, operation, id=names)
        assert may(OWNER_OF_ALL, ALICE, operation, id=names)
    assert not OWNER_OF_A.may_write(ALICE, {"id": names})


def test_transactions_take_a_role_on_everything() -> None:
    assert not may(OWNER_OF_A, ALICE, "AlterTransaction", id=["a"])
    assert may(granting(("alice", "writer", "")), ALICE, "AlterTransaction", id=["a"])
    assert not may(OWNER_OF_A, ALICE, "DescribeTransaction", id=["a"])
    assert may(granting(("alice", "reader", "")), ALICE, "DescribeTransaction", id=["a"])


@pytest.mark.parametrize(("path", "allowed"), [([], True), (["a"], True), (["a", "u"], False)])
def test_the_way_to_a_role_may_be_walked_but_not_described(path: list[str], allowed: bool) -> None:
    for operation in ("NamespaceExists", "ListNamespaces", "ListTables"):
        assert may(OWNER_OF_T, ALICE, operation, id=path) is allowed
    assert not may(OWNER_OF_T, ALICE, "DescribeNamespace", id=path)


def test_whoever_has_no_role_at_all_gets_nothing_but_the_list_of_operations() -> None:
    said = {"id": ["a", "t"]}
    nobody = Principal("nobody")
    assert [name for name in BY_NAME if may(OWNER_OF_ALL, nobody, name, **said)] == [
        "ListOperations"
    ]


@pytest.mark.parametrize(
    ("guard", "allowed"), [(WRITER_OF_A, True), (granting(("alice", "reader", "a")), False)]
)
def test_it_is_known_who_may_write_to_a_table(guard: Security, allowed: bool) -> None:
    assert guard.may_write(ALICE, {"id": ["a", "t"]}) is allowed
    assert not guard.may_write(ALICE, {})
