"""Roles on a real catalog: every operation, asked for by everybody."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.rest.protocol import BY_NAME, Body
from lanceyard.server.security.security import Security

from .people import ALICE, granting, rows

T = {"id": ["n", "t"]}
QUERY = {"k": 1, "vector": {"single_vector": []}, "columns": {"column_names": ["id"]}}
VIEW = {"sql": "SELECT id FROM t", "tables": {"t": ["n", "t"]}}
STAGED = {"version": 99, "manifest_path": "99.manifest-x"}

FREE: dict[str, Any] = {"ListOperations": {}}
READER: dict[str, Any] = {
    "ListNamespaces": {"id": ["n"]},
    "DescribeNamespace": {"id": ["n"]},
    "NamespaceExists": {"id": ["n"]},
    "ListTables": {"id": ["n"]},
    "ListAllTables": {},
    "DescribeTable": T,
    "TableExists": T,
    "ListTableVersions": T,
    "DescribeTableVersion": T,
    "GetTableStats": T,
    "QueryTable": {**T, **QUERY},
    "CountTableRows": T,
    "ExplainTableQueryPlan": {**T, "query": QUERY},
    "AnalyzeTableQueryPlan": {**T, **QUERY},
    "ListTableIndices": T,
    "DescribeTableIndexStats": {**T, "index_name": "id_idx"},
    "ListTableTags": T,
    "GetTableTagVersion": {**T, "tag": "x"},
    "ListTableBranches": T,
}
WRITER: dict[str, Any] = {
    "InsertIntoTable": T,
    "MergeInsertIntoTable": {**T, "on": ["id"], "when_not_matched_insert_all": True},
    "UpdateTable": {**T, "updates": [["id", "id + 1"]]},
    "DeleteFromTable": {**T, "predicate": "id > 100"},
    "AlterTableAddColumns": {**T, "new_columns": [{"name": "more", "expression": "id"}]},
    "AlterTableAlterColumns": {**T, "alterations": [{"path": "more", "rename": "most"}]},
    "AlterTableBackfillColumns": {**T, "column": "most"},
    "AlterTableDropColumns": {**T, "columns": ["most"]},
    "UpdateFieldMetadata": {**T, "updates": [{"path": "id", "metadata": {"a": "b"}}]},
    "UpdateTableSchemaMetadata": {**T, "metadata": {"a": "b"}},
    "CreateTableIndex": {**T, "column": "id", "index_type": "BTREE"},
    "CreateTableScalarIndex": {**T, "column": "id", "index_type": "BTREE", "name": "second"},
    "DropTableIndex": {**T, "index_name": "id_idx"},
    "CreateTableTag": {**T, "tag": "x", "version": 1},
    "UpdateTableTag": {**T, "tag": "x", "version": 1},
    "DeleteTableTag": {**T, "tag": "x"},
    "CreateTableBranch": {**T, "name": "b"},
    "DeleteTableBranch": {**T, "name": "b"},
    "RestoreTable": {**T, "version": 1},
    "CreateTableVersion": {**T, **STAGED},
    "BatchDeleteTableVersions": {**T, "ranges": [{"start_version": 90, "end_version": 91}]},
    "BatchCreateTableVersions": {"entries": [{**T, **STAGED}]},
    "CreateMaterializedView": {
        "id": ["n", "v"],
        "kind": "query",
        "source_query": json.dumps(VIEW),
        "output_schema": "",
    },
    "RefreshMaterializedView": {"id": ["n", "v"]},
    "CreateNamespace": {"id": ["n", "m"]},
    "DeclareTable": {"id": ["n", "d"]},
    "CreateTable": {"id": ["n", "c"]},
}
OWNER: dict[str, Any] = {
    "AlterNamespace": {"id": ["n"], "set": {"a": "b"}},
    "AlterTable": {**T, "set": {"a": "b"}},
    "RenameTable": {"id": ["n", "c"], "new_table_name": "e"},
    "BatchCommitTables": {"operations": [{"deregister_table": {"id": ["n", "d"]}}]},
    "DeregisterTable": {"id": ["n", "e"]},
    "DropTable": {"id": ["n", "v"]},
    "DropNamespace": {"id": ["n", "m"]},
}
ROOT: dict[str, Any] = {
    "RegisterTable": {"id": ["n", "r"], "location": "nothing.lance"},
    "DescribeTransaction": {"id": ["none"]},
    "AlterTransaction": {"id": ["none"], "actions": [{"setStatusAction": {"status": "Canceled"}}]},
}
ABOUT_NOTHING = {
    "AlterTableBackfillColumns",
    "BatchCommitTables",
    "BatchCreateTableVersions",
    "CreateTableVersion",
    "DescribeTableIndexStats",
    "GetTableTagVersion",
}
"""Those that fail for another reason: what they are about is not there."""
REQUESTS = {**FREE, **READER, **WRITER, **OWNER, **ROOT}
"""A request for each operation, in an order in which the others can be carried out."""


def ask(guard: Security, catalog: Any, operation: str, said: dict[str, Any]) -> int | None:
    """Ask for an operation as the server does, and tell the code of its error."""
    asked = BY_NAME[operation]
    body = [rows()] if asked.body is Body.STREAM else []
    try:
        guard.authorize(ALICE, asked, said)
        guard.carry_out(ALICE, catalog, asked, said, *body)
    except errors.LanceNamespaceError as refusal:
        return int(refusal.code)
    return None


@pytest.mark.parametrize(
    ("role", "on", "refused"),
    [
        ("owner", "other", {*READER, *WRITER, *OWNER, *ROOT} - {"ListAllTables"}),
        ("reader", "n", {*WRITER, *OWNER, *ROOT}),
        ("writer", "n", {*OWNER, *ROOT}),
        ("owner", "n", {*ROOT}),
        ("owner", "", set()),
    ],
)
def test_each_role_does_what_it_may_and_nothing_else(
    catalog: Any, role: str, on: str, refused: set[str]
) -> None:
    guard = granting(("alice", role, on))
    codes = {name: ask(guard, catalog, name, said) for name, said in REQUESTS.items()}
    assert codes.keys() == BY_NAME.keys()
    assert {name for name, code in codes.items() if code == 15} == refused
    if role == "owner" and on == "n":
        failed = {name for name, code in codes.items() if code not in (None, 15)}
        assert failed <= ABOUT_NOTHING


def test_a_role_on_a_table_reaches_no_further(catalog: Any) -> None:
    guard = granting(("alice", "owner", "n$t"))
    assert ask(guard, catalog, "CountTableRows", T) is None
    assert ask(guard, catalog, "CreateTable", {"id": ["n", "c"]}) == 15
    assert ask(guard, catalog, "RenameTable", {**T, "new_table_name": "u"}) == 15
    assert ask(guard, catalog, "DescribeNamespace", {"id": ["n"]}) == 15
    assert ask(guard, catalog, "NamespaceExists", {"id": ["n"]}) is None
    assert ask(guard, catalog, "DropTable", T) is None
