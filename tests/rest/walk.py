"""A walk over all operations: one request for each, in an order in which all of them succeed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pyarrow as pa

from tests.conformance.kit import stream
from tests.versions.managed import on_stage

ROWS = pa.table(
    {
        "n": pa.array([1, 2, 3], pa.int64()),
        "text": ["one two", "two", None],
        "v": pa.FixedSizeListArray.from_arrays(pa.array(range(12), pa.float32()), 4),
    }
)
VIEW = {
    "kind": "query",
    "source_query": '{"sql": "SELECT n FROM x", "tables": {"x": ["t"]}}',
    "output_schema": "",
}
NEAR = {"k": 2, "vector": {"single_vector": [1, 2, 3, 4]}, "vector_column": "v"}
MERGE = {"on": ["n"], "when_matched_update_all": "true", "when_not_matched_insert_all": "true"}
COMPUTED = {"name": "c", "computed": "n * 2"}


class Step(NamedTuple):
    """A request."""

    name: str
    """Of the operation."""
    id: str = ""
    body: Any = None
    query: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    index_name: str | None = None


BEGINNING = (
    Step("ListOperations"),
    Step("CreateNamespace", "a", {"properties": {"k": "v"}}),
    Step("AlterNamespace", "a", {"set": {"x": "y"}, "unset": ["k"]}),
    Step("DescribeNamespace", "a", {}),
    Step("NamespaceExists", "a", {}),
    Step("ListNamespaces", "$", query={"limit": 1}),
    Step("CreateTable", "t", stream(ROWS), {"mode": "create", "properties": '{"k": "v"}'}),
    Step("DeclareTable", "a$declared", {}),
    Step("TableExists", "t", {}),
    Step("AlterTable", "t", {"set": {"x": "y"}}),
    Step("ListTables", "$", query={"limit": 1}),
    Step("ListAllTables", query={"include_declared": "true"}),
)
CONTENT = (
    Step("InsertIntoTable", "t", stream(ROWS), {"mode": "append"}),
    Step("MergeInsertIntoTable", "t", stream(ROWS.slice(1)), {**MERGE, "on": ["n", "text"]}),
    Step("UpdateTable", "t", {"updates": [["text", "'x'"]], "predicate": "n = 1"}),
    Step("DeleteFromTable", "t", {"predicate": "n = 3"}),
    Step("CountTableRows", "t", {"predicate": "n > 0"}),
    Step("QueryTable", "t", NEAR),
    Step("ExplainTableQueryPlan", "t", {"query": NEAR}),
    Step("AnalyzeTableQueryPlan", "t", NEAR),
    Step("AlterTableAddColumns", "t", {"new_columns": [COMPUTED]}),
    Step("AlterTableBackfillColumns", "t", {"column": "c"}),
    Step("AlterTableAlterColumns", "t", {"alterations": [{"path": "c", "rename": "d"}]}),
    Step("AlterTableDropColumns", "t", {"columns": ["d"]}),
    Step("UpdateFieldMetadata", "t", {"updates": [{"path": "n", "metadata": {"k": "v"}}]}),
    Step("UpdateTableSchemaMetadata", "t", {"k": "v"}),
    Step("CreateTableScalarIndex", "t", {"column": "n", "index_type": "BTREE"}),
    Step("CreateTableIndex", "t", {"column": "text", "index_type": "FTS"}),
    Step("ListTableIndices", "t", {}),
    Step("DescribeTableIndexStats", "t", {}, index_name="n_idx"),
    Step("DropTableIndex", "t", index_name="n_idx"),
    Step("GetTableStats", "t", {}),
    Step("DescribeTable", "t", {}, {"load_detailed_metadata": "true", "with_table_uri": "true"}),
    Step("CreateMaterializedView", "a$view", VIEW),
    Step("RefreshMaterializedView", "a$view", {}),
)
REFERENCES = (
    Step("CreateTableTag", "t", {"tag": "x", "version": 1}),
    Step("UpdateTableTag", "t", {"tag": "x", "version": 2}),
    Step("GetTableTagVersion", "t", {"tag": "x"}),
    Step("ListTableTags", "t", query={"limit": 5}),
    Step("DeleteTableTag", "t", {"tag": "x"}),
    Step("CreateTableBranch", "t", {"name": "b"}),
    Step("ListTableBranches", "t"),
    Step("DeleteTableBranch", "t", {"name": "b"}),
    Step("ListTableVersions", "t", query={"limit": 2, "descending": "true"}),
    Step("DescribeTableVersion", "t", {"version": 1}),
    Step("RestoreTable", "t", {"version": 1}),
)
END = (
    Step("DropTable", "a$view"),
    Step("RenameTable", "t", {"new_table_name": "u", "new_namespace_id": ["a"]}),
    Step("DeregisterTable", "a$u", {}),
    Step("RegisterTable", "r", {"location": "loose.lance"}),
    Step("DropNamespace", "a", {"behavior": "Cascade"}),
)


def walk(namespace: Any, root: Path) -> Iterator[Step]:
    """The requests, for an empty catalog that manages the versions of its tables."""
    lance.write_dataset(ROWS, root / "loose.lance")
    yield from (*BEGINNING, *CONTENT, *REFERENCES)
    yield from _versions(namespace)
    transaction = namespace.begin_transaction({"k": "v"}).id
    cancelled = {"setStatusAction": {"status": "Canceled"}}
    yield Step("DescribeTransaction", transaction, {})
    yield Step("AlterTransaction", transaction, {"actions": [cancelled]})
    yield from END


def _versions(namespace: Any) -> Iterator[Step]:
    """Versions that writers staged; the catalog is asked to create them."""
    staged = on_stage(namespace, ["t"])

    def next_one() -> dict[str, Any]:
        staged.handles[0].insert(ROWS)
        (request,) = staged.stage.take()
        return request

    yield Step("CreateTableVersion", "t", next_one())
    yield Step("BatchCreateTableVersions", "", {"entries": [next_one()]})
    commit = {"operations": [{"create_table_version": next_one()}]}
    yield Step("BatchCommitTables", "", commit)
    ranges = [{"start_version": 1, "end_version": 2}]
    yield Step("BatchDeleteTableVersions", "t", {"ranges": ranges})
