"""The protocol: every operation of the specification, and where each part of it travels.

Server, client, the routes of earlier releases and the tests all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import lance_namespace
from pydantic import BaseModel

from lanceyard.namespace import requests

VERSION = "v1"
DELIMITER = "delimiter"
"""The parameter of every route that says what joins the names of an identifier."""


TYPE = "type"
"""What an error says beyond the specification: the class of `lanceyard.errors` that it was."""


READING = (
    "Analyze",
    "Count",
    "Describe",
    "Explain",
    "Get",
    "List",
    "NamespaceExists",
    "Query",
    "TableExists",
)
"""How the names of operations begin that change nothing."""


class Body(Enum):
    """What a request carries."""

    NONE = "nothing"
    JSON = "the request, without what travels in the path or the query"
    MAP = "the request's metadata as a bare map"
    STREAM = "an Arrow IPC stream"


class Answer(Enum):
    """What a response carries."""

    JSON = "the response"
    NOTHING = "the status alone"
    NUMBER = "a bare number"
    TEXT = "a bare JSON text"
    MAP = "the response's metadata as a bare map"
    FILE = "an Arrow IPC file"


@dataclass(frozen=True)
class Operation:
    """One operation of the specification over HTTP."""

    name: str
    """As the specification writes it."""
    route: str
    """After the version; names in braces are fields of the request."""
    method: str = "POST"
    query: tuple[str, ...] = ()
    """The fields of the request that travel in the query; clients may send them in the body too."""
    body: Body = Body.JSON
    answer: Answer = Answer.JSON
    status: int = 200

    @cached_property
    def function(self) -> str:
        """The name of the method of a `LanceNamespace`."""
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in self.name).lstrip("_")

    @cached_property
    def only_reads(self) -> bool:
        """Whether it changes nothing, so that it may be tried again whatever became of it."""
        return self.name.startswith(READING)

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The parts of the path."""
        return (VERSION, *self.route.split("/"))

    @cached_property
    def request(self) -> type[BaseModel]:
        """The model of the request."""
        return _model(f"{_REQUESTS.get(self.name, self.name)}Request")

    @cached_property
    def response(self) -> type[BaseModel]:
        """The model of the response."""
        return _model(f"{_RESPONSES.get(self.name, self.name)}Response")


_REQUESTS = {
    "CreateTableScalarIndex": "CreateTableIndex",
    "ListAllTables": "ListTables",
    "AlterNamespace": "Alter",
    "AlterTable": "Alter",
}
_RESPONSES = {"ListAllTables": "ListTables", "AlterNamespace": "Alter", "AlterTable": "Alter"}


def _model(name: str) -> type[BaseModel]:
    model: type[BaseModel] = getattr(lance_namespace, name, None) or getattr(requests, name)
    return model


PAGE = ("page_token", "limit")
MERGE = (
    "branch",
    "on",
    "when_matched_update_all",
    "when_matched_update_all_filt",
    "when_not_matched_insert_all",
    "when_not_matched_by_source_delete",
    "when_not_matched_by_source_delete_filt",
    "timeout",
    "use_index",
)

OPERATIONS: tuple[Operation, ...] = (
    Operation("CreateNamespace", "namespace/{id}/create"),
    Operation("ListNamespaces", "namespace/{id}/list", "GET", PAGE, Body.NONE),
    Operation("DescribeNamespace", "namespace/{id}/describe"),
    Operation("DropNamespace", "namespace/{id}/drop"),
    Operation("NamespaceExists", "namespace/{id}/exists", answer=Answer.NOTHING),
    Operation(
        "ListTables",
        "namespace/{id}/table/list",
        "GET",
        (*PAGE, "include_declared"),
        Body.NONE,
    ),
    Operation("ListAllTables", "table", "GET", (*PAGE, "include_declared"), Body.NONE),
    Operation("RegisterTable", "table/{id}/register"),
    Operation(
        "DescribeTable",
        "table/{id}/describe",
        query=("with_table_uri", "load_detailed_metadata", "check_declared"),
    ),
    Operation("TableExists", "table/{id}/exists", answer=Answer.NOTHING),
    Operation("DropTable", "table/{id}/drop", body=Body.NONE),
    Operation("DeregisterTable", "table/{id}/deregister"),
    Operation("RestoreTable", "table/{id}/restore"),
    Operation("RenameTable", "table/{id}/rename"),
    Operation(
        "UpdateTableSchemaMetadata",
        "table/{id}/schema_metadata/update",
        query=("branch",),
        body=Body.MAP,
        answer=Answer.MAP,
    ),
    Operation(
        "ListTableVersions",
        "table/{id}/version/list",
        query=("branch", *PAGE, "descending"),
        body=Body.NONE,
    ),
    Operation("CreateTableVersion", "table/{id}/version/create"),
    Operation("DescribeTableVersion", "table/{id}/version/describe"),
    Operation("BatchDeleteTableVersions", "table/{id}/version/delete"),
    Operation("BatchCreateTableVersions", "table/version/batch-create"),
    Operation("BatchCommitTables", "table/batch-commit"),
    Operation("AlterTableAlterColumns", "table/{id}/alter_columns"),
    Operation("UpdateFieldMetadata", "table/{id}/update_field_metadata"),
    Operation("AlterTableDropColumns", "table/{id}/drop_columns"),
    Operation("GetTableStats", "table/{id}/stats"),
    Operation("InsertIntoTable", "table/{id}/insert", query=("branch", "mode"), body=Body.STREAM),
    Operation("MergeInsertIntoTable", "table/{id}/merge_insert", query=MERGE, body=Body.STREAM),
    Operation("UpdateTable", "table/{id}/update"),
    Operation("DeleteFromTable", "table/{id}/delete"),
    Operation("QueryTable", "table/{id}/query", answer=Answer.FILE),
    Operation("CountTableRows", "table/{id}/count_rows", answer=Answer.NUMBER),
    Operation(
        "CreateTable",
        "table/{id}/create",
        query=("mode", "properties", "storage_options"),
        body=Body.STREAM,
    ),
    Operation("ExplainTableQueryPlan", "table/{id}/explain_plan", answer=Answer.TEXT),
    Operation("AnalyzeTableQueryPlan", "table/{id}/analyze_plan", answer=Answer.TEXT),
    Operation("AlterTableAddColumns", "table/{id}/add_columns"),
    Operation("AlterTableBackfillColumns", "table/{id}/backfill_column", status=202),
    Operation("RefreshMaterializedView", "materialized_view/{id}/refresh", status=202),
    Operation("CreateMaterializedView", "materialized_view/{id}/create", status=201),
    Operation("CreateTableIndex", "table/{id}/create_index"),
    Operation("CreateTableScalarIndex", "table/{id}/create_scalar_index"),
    Operation("ListTableIndices", "table/{id}/index/list"),
    Operation("DescribeTableIndexStats", "table/{id}/index/{index_name}/stats"),
    Operation(
        "DropTableIndex", "table/{id}/index/{index_name}/drop", query=("branch",), body=Body.NONE
    ),
    Operation("ListTableTags", "table/{id}/tags/list", query=PAGE, body=Body.NONE),
    Operation("GetTableTagVersion", "table/{id}/tags/version"),
    Operation("DeclareTable", "table/{id}/declare"),
    Operation("CreateTableTag", "table/{id}/tags/create"),
    Operation("DeleteTableTag", "table/{id}/tags/delete"),
    Operation("UpdateTableTag", "table/{id}/tags/update"),
    Operation("ListTableBranches", "table/{id}/branches/list", query=PAGE, body=Body.NONE),
    Operation("CreateTableBranch", "table/{id}/branches/create"),
    Operation("DeleteTableBranch", "table/{id}/branches/delete"),
    Operation("DescribeTransaction", "transaction/{id}/describe"),
    Operation("AlterTransaction", "transaction/{id}/alter"),
)
EXTENSIONS: tuple[Operation, ...] = (
    Operation("ListOperations", "operations", "GET", body=Body.NONE),
    Operation("AlterNamespace", "namespace/{id}/alter"),
    Operation("AlterTable", "table/{id}/alter"),
)
"""What Lanceyard serves beyond the specification."""
BY_NAME = {operation.name: operation for operation in (*OPERATIONS, *EXTENSIONS)}

COMMITS = frozenset({"CreateTableVersion", "BatchCreateTableVersions", "BatchCommitTables"})
"""What decides between writers: whoever sent it has to find out what became of it."""
KEYED = frozenset(
    {
        "CreateMaterializedView",
        "CreateNamespace",
        "CreateTable",
        "DeclareTable",
        "RegisterTable",
        "RenameTable",
    }
)
"""What carries a key, by which a server answers it again instead of carrying it out twice.

All else can be repeated, or is asked for by what it replaces.
"""

STATUSES = {
    0: 406,
    **dict.fromkeys((1, 4, 6, 8, 10, 11, 12, 22), 404),
    **dict.fromkeys((2, 3, 5, 7, 9, 14, 19, 23), 409),
    **dict.fromkeys((13, 20), 400),
    15: 403,
    16: 401,
    17: 503,
    18: 500,
    21: 429,
}
"""The status of a response, by the code of its error."""
