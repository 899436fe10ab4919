"""What all operations on the content of tables have in common: how they miss what is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, numbers, refused, stream

pytestmark = [applies(extensions=True)]

BODY = stream(numbers(4))
VECTOR = {"single_vector": []}

READS: dict[str, dict[str, Any]] = {
    "count_table_rows": {},
    "query_table": {"k": 1, "vector": VECTOR},
    "analyze_table_query_plan": {"k": 1, "vector": VECTOR},
    "explain_table_query_plan": {"query": {"k": 1, "vector": VECTOR}},
    "list_table_indices": {},
    "describe_table_index_stats": {"index_name": "i"},
    "list_table_tags": {},
    "get_table_tag_version": {"tag": "x"},
    "list_table_branches": {},
    "get_table_stats": {},
}
WRITES: dict[str, dict[str, Any]] = {
    "insert_into_table": {"body": BODY},
    "merge_insert_into_table": {"body": BODY, "on": ["n"], "when_not_matched_insert_all": True},
    "update_table": {"updates": [["n", "0"]]},
    "delete_from_table": {"predicate": "n = 1"},
    "create_table_index": {"column": "n", "index_type": "BTREE"},
    "create_table_scalar_index": {"column": "n", "index_type": "BITMAP"},
    "drop_table_index": {"index_name": "i"},
    "alter_table_add_columns": {"new_columns": [{"name": "m", "expression": "n + 1"}]},
    "alter_table_alter_columns": {"alterations": [{"path": "n", "rename": "m"}]},
    "alter_table_drop_columns": {"columns": ["n"]},
    "alter_table_backfill_columns": {"column": "n"},
    "update_field_metadata": {"updates": [{"path": "n", "metadata": {"a": "b"}}]},
    "update_table_schema_metadata": {"metadata": {"a": "b"}},
    "create_table_tag": {"tag": "x", "version": 1},
    "update_table_tag": {"tag": "x", "version": 1},
    "delete_table_tag": {"tag": "x"},
    "create_table_branch": {"name": "b"},
    "delete_table_branch": {"name": "b"},
    "restore_table": {"version": 1},
}
ON_BRANCHES = {
    name: fields
    for name, fields in (READS | WRITES).items()
    if "branch" not in name
    and name not in ("list_table_tags", "get_table_tag_version", "delete_table_tag")
}
AT_VERSIONS = {
    name: READS[name]
    for name in (
        "count_table_rows",
        "query_table",
        "analyze_table_query_plan",
        "list_table_indices",
        "describe_table_index_stats",
    )
}

Act = Callable[[Catalog, list[str]], Any]


def acts(operations: dict[str, dict[str, Any]], **more: Any) -> pytest.MarkDecorator:
    """Try a rule with each of these operations, as the argument `act`."""

    def act(name: str, fields: dict[str, Any]) -> Act:
        given = {**fields, **more}
        body = [given.pop("body")] if "body" in given else []
        return lambda catalog, table: catalog.do(name, table, *body, **given)

    return pytest.mark.parametrize(
        "act", [pytest.param(act(*each), id=each[0]) for each in operations.items()]
    )


@acts(READS | WRITES)
def test_a_missing_table_is_told(catalog: Catalog, act: Act) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ["nope"])


@applies(nested=True)
@acts(READS | WRITES)
def test_a_missing_namespace_is_told(catalog: Catalog, act: Act) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        act(catalog, ["nope", "t"])


@acts(READS | WRITES)
def test_no_table_at_all_is_refused(catalog: Catalog, act: Act) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, [])


@applies(declare=True)
@acts(READS | WRITES)
def test_a_declared_table_has_no_content(catalog: Catalog, act: Act) -> None:
    catalog.declare_table(["d"])
    with refused(ErrorCode.INVALID_TABLE_STATE):
        act(catalog, ["d"])


@applies(listing=True)
@acts(READS | WRITES)
def test_a_directory_that_is_no_lance_table_is_told(catalog: Catalog, act: Act) -> None:
    (catalog.root / "t.lance").mkdir(parents=True)
    (catalog.root / "t.lance" / "notes.txt").write_text("not a table")
    with refused(ErrorCode.INVALID_TABLE_STATE):
        act(catalog, ["t"])


@acts(ON_BRANCHES, branch="nope")
def test_a_missing_branch_is_told(catalog: Catalog, act: Act) -> None:
    catalog.create_table(["t"], 1)
    with refused(ErrorCode.TABLE_BRANCH_NOT_FOUND):
        act(catalog, ["t"])


@acts(AT_VERSIONS, version=99)
def test_a_missing_version_is_told(catalog: Catalog, act: Act) -> None:
    catalog.create_table(["t"], 1)
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        act(catalog, ["t"])


def test_every_operation_of_the_specification_is_carried_out(catalog: Catalog) -> None:
    operations = catalog.plain.list_operations().operations
    missing = {name.title().replace("_", "") for name in READS | WRITES} - {*operations}
    assert not missing
