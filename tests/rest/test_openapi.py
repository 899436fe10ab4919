"""The OpenAPI document says what the specification says, and no more than the server does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

import lanceyard
from lanceyard.rest.protocol import EXTENSIONS, STATUSES
from lanceyard.server.openapi import describe

from .serving import server

SPECIFICATION = """
CreateNamespace POST /v1/namespace/{id}/create 200 json
ListNamespaces GET /v1/namespace/{id}/list 200 - page_token limit
DescribeNamespace POST /v1/namespace/{id}/describe 200 json
DropNamespace POST /v1/namespace/{id}/drop 200 json
NamespaceExists POST /v1/namespace/{id}/exists 200 json
ListTables GET /v1/namespace/{id}/table/list 200 - page_token limit include_declared
ListAllTables GET /v1/table 200 - page_token limit include_declared
RegisterTable POST /v1/table/{id}/register 200 json
DescribeTable POST /v1/table/{id}/describe 200 json \
    with_table_uri load_detailed_metadata check_declared
TableExists POST /v1/table/{id}/exists 200 json
DropTable POST /v1/table/{id}/drop 200 -
DeregisterTable POST /v1/table/{id}/deregister 200 json
RestoreTable POST /v1/table/{id}/restore 200 json
RenameTable POST /v1/table/{id}/rename 200 json
UpdateTableSchemaMetadata POST /v1/table/{id}/schema_metadata/update 200 json branch
ListTableVersions POST /v1/table/{id}/version/list 200 - branch page_token limit descending
CreateTableVersion POST /v1/table/{id}/version/create 200 json
DescribeTableVersion POST /v1/table/{id}/version/describe 200 json
BatchDeleteTableVersions POST /v1/table/{id}/version/delete 200 json
BatchCreateTableVersions POST /v1/table/version/batch-create 200 json
BatchCommitTables POST /v1/table/batch-commit 200 json
AlterTableAlterColumns POST /v1/table/{id}/alter_columns 200 json
UpdateFieldMetadata POST /v1/table/{id}/update_field_metadata 200 json
AlterTableDropColumns POST /v1/table/{id}/drop_columns 200 json
GetTableStats POST /v1/table/{id}/stats 200 json
InsertIntoTable POST /v1/table/{id}/insert 200 arrow branch mode
MergeInsertIntoTable POST /v1/table/{id}/merge_insert 200 arrow branch on \
    when_matched_update_all when_matched_update_all_filt when_not_matched_insert_all \
    when_not_matched_by_source_delete when_not_matched_by_source_delete_filt timeout use_index
UpdateTable POST /v1/table/{id}/update 200 json
DeleteFromTable POST /v1/table/{id}/delete 200 json
QueryTable POST /v1/table/{id}/query 200 json
CountTableRows POST /v1/table/{id}/count_rows 200 json
CreateTable POST /v1/table/{id}/create 200 arrow mode properties storage_options
ExplainTableQueryPlan POST /v1/table/{id}/explain_plan 200 json
AnalyzeTableQueryPlan POST /v1/table/{id}/analyze_plan 200 json
AlterTableAddColumns POST /v1/table/{id}/add_columns 200 json
AlterTableBackfillColumns POST /v1/table/{id}/backfill_column 202 json
RefreshMaterializedView POST /v1/materialized_view/{id}/refresh 202 json
CreateMaterializedView POST /v1/materialized_view/{id}/create 201 json
CreateTableIndex POST /v1/table/{id}/create_index 200 json
CreateTableScalarIndex POST /v1/table/{id}/create_scalar_index 200 json
ListTableIndices POST /v1/table/{id}/index/list 200 json
DescribeTableIndexStats POST /v1/table/{id}/index/{index_name}/stats 200 json
DropTableIndex POST /v1/table/{id}/index/{index_name}/drop 200 - branch
ListTableTags POST /v1/table/{id}/tags/list 200 - page_token limit
GetTableTagVersion POST /v1/table/{id}/tags/version 200 json
DeclareTable POST /v1/table/{id}/declare 200 json
CreateTableTag POST /v1/table/{id}/tags/create 200 json
DeleteTableTag POST /v1/table/{id}/tags/delete 200 json
UpdateTableTag POST /v1/table/{id}/tags/update 200 json
ListTableBranches POST /v1/table/{id}/branches/list 200 - page_token limit
CreateTableBranch POST /v1/table/{id}/branches/create 200 json
DeleteTableBranch POST /v1/table/{id}/branches/delete 200 json
DescribeTransaction POST /v1/transaction/{id}/describe 200 json
AlterTransaction POST /v1/transaction/{id}/alter 200 json
"""
"""Operation, method, path, status of success, body, and what is in the query."""

DOCUMENT = describe()


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation of the document, with its method and path."""
    for path, methods in DOCUMENT["paths"].items():
        for method, told in methods.items():
            yield method.upper(), path, told


def row(method: str, path: str, told: dict[str, Any]) -> list[str]:
    """An operation as the table above has it."""
    (status,) = (each for each in told["responses"] if each.startswith("2"))
    (media,) = told.get("requestBody", {}).get("content", {"": None})
    body = {"": "-", "application/json": "json"}.get(media, "arrow")
    query = [each["name"] for each in told["parameters"] if each["in"] == "query"]
    assert query[0] == "delimiter"
    return [told["operationId"], method, path, status, body, *query[1:]]


def references(value: Any) -> Iterator[str]:
    """What a part of the document refers to."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def parameter(name: str, operation: str) -> dict[str, Any]:
    """A parameter of an operation."""
    (told,) = (each for _, _, each in operations() if each["operationId"] == operation)
    (found,) = (each for each in told["parameters"] if each["name"] == name)
    return dict(found)


def test_the_document_has_the_routes_of_the_specification() -> None:
    extensions = {each.name for each in EXTENSIONS}
    ours = [row(*each) for each in operations() if each[2]["operationId"] not in extensions]
    expected = [line.split() for line in SPECIFICATION.strip().splitlines()]
    assert len(expected) == 54
    assert sorted(ours) == sorted(expected)


def test_the_document_has_our_extensions() -> None:
    names = {told["operationId"] for _, _, told in operations()}
    assert {each.name for each in EXTENSIONS} <= names


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        found: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


def test_every_operation_tells_its_errors() -> None:
    for _, _, told in operations():
        assert {str(status) for status in STATUSES.values()} <= told["responses"].keys()


def test_an_error_has_a_code_of_the_specification() -> None:
    error = DOCUMENT["components"]["schemas"]["ErrorResponse"]
    assert error["required"] == ["error", "code", "instance"]
    assert error["properties"]["code"]["enum"] == list(range(24))


def test_names_in_the_path_have_parameters() -> None:
    for _, path, told in operations():
        named = [each["name"] for each in told["parameters"] if each["in"] == "path"]
        assert named == [part[1:-1] for part in path.split("/") if part.startswith("{")]


@pytest.mark.parametrize(
    ("name", "operation", "schema"),
    [
        ("limit", "ListTables", {"type": "integer"}),
        ("include_declared", "ListTables", {"type": "boolean", "default": True}),
        ("page_token", "ListTableTags", {"type": "string"}),
        (
            "on",
            "MergeInsertIntoTable",
            {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        ),
        (
            "properties",
            "CreateTable",
            {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        ),
    ],
)
def test_a_parameter_has_the_type_of_its_field(
    name: str, operation: str, schema: dict[str, Any]
) -> None:
    assert parameter(name, operation)["schema"] == schema


def test_a_merge_needs_columns_to_match() -> None:
    assert parameter("on", "MergeInsertIntoTable")["required"]
    assert not parameter("branch", "MergeInsertIntoTable")["required"]


def test_fields_of_the_path_may_be_repeated_in_the_body() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert "id" in schemas["DescribeTableRequest"]["properties"]
    assert "load_detailed_metadata" in schemas["DescribeTableRequest"]["properties"]


def test_fields_have_the_names_that_travel() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert "manifestSize" in schemas["TagContents"]["properties"]
    assert "set" in schemas["AlterRequest"]["properties"]


def test_clients_are_told_how_to_say_who_they_are() -> None:
    kinds = [each["type"] for each in DOCUMENT["components"]["securitySchemes"].values()]
    assert kinds == ["oauth2", "http", "apiKey"]
    assert len(DOCUMENT["security"]) == 3
    assert describe(secured=False)["security"] == []


def test_the_document_is_served() -> None:
    address = server().serve(lanceyard.MemoryNamespace())
    served = urllib3.request("GET", f"{address}/openapi.json")
    assert served.headers["content-type"] == "application/json"
    assert served.json()["paths"] == DOCUMENT["paths"]
