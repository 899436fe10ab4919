"""Columns: ALTER TABLE, as Lance carries it out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import DataType, StructField, StructType
from pyspark.sql.types import _parse_datatype_json_value as read_type

from lanceyard import errors
from lanceyard.namespace import datasets
from lanceyard.namespace.content.fields import canonical_path
from lanceyard.namespace.content.new_columns import check_name
from lanceyard.spark.options import COLUMN_OPTION
from lanceyard.spark.reference import open_table
from lanceyard.spark.sql.tables import COMMENT, Request, Tables
from lanceyard.spark.types import lance_schema

Change = Mapping[str, Any]


def alter(tables: Tables, request: Request) -> dict[str, Any]:
    """Change properties and columns of a table; those of one kind in one commit.

    A property that describes a new column (``v.arrow.fixed-size-list.size``) may be set before the
    column is added, and holds for it then.
    """
    table, changes = list(request["id"]), request["changes"]
    _alter_properties(tables, table, changes)
    added = [change for change in changes if change["kind"] == "add"]
    if added:
        _add(tables, table, added)
    dropped = [canonical_path(each["column"]) for each in changes if each["kind"] == "drop"]
    if dropped:
        tables.namespace.alter_table_drop_columns({"id": table, "columns": dropped})  # type: ignore[arg-type]
    altered = [change for change in changes if change["kind"] in _ALTERATIONS]
    if altered:
        _alter(tables, table, altered)
    comments = {
        canonical_path(each["column"]): each["comment"]
        for each in changes
        if each["kind"] == "comment"
    }
    if comments:
        tables.comment(table, comments)
    return {}


def _alter_properties(tables: Tables, table: list[str], changes: Sequence[Change]) -> None:
    put = {each["property"]: each["value"] for each in changes if each["kind"] == "set"}
    unset = [each["property"] for each in changes if each["kind"] == "unset"]
    if put or unset:
        tables.namespace.alter_table({"id": table, "set": put, "unset": unset})  # type: ignore[arg-type]


def _add(tables: Tables, table: list[str], changes: Sequence[Change]) -> None:
    """Add columns without values."""
    dataset = open_table(tables.reference(table).require())
    described = tables.namespace.describe_table({"id": table})  # type: ignore[arg-type]
    columns = StructType([_column(change) for change in changes])
    said = {
        key: value
        for key, value in (described.properties or {}).items()
        if COLUMN_OPTION.fullmatch(key) and key.split(".")[0].lower() in _names(columns)
    }
    taken = _names(dataset.schema)
    for name in columns.names:
        if check_name(name).lower() in taken:
            raise errors.InvalidInputError(f"there is a column {name!r} already")
    fields = [
        _commented(found, change)
        for found, change in zip(lance_schema(columns, said), changes, strict=True)
    ]
    dataset.add_columns(pa.schema(fields))


def _names(columns: StructType | pa.Schema) -> set[str]:
    return {name.lower() for name in columns.names}


def _column(change: Change) -> StructField:
    if len(change["column"]) > 1:
        raise errors.UnsupportedOperationError(
            f"a field cannot be added to a struct, as in {'.'.join(change['column'])}"
        )
    if not change["nullable"]:
        raise errors.UnsupportedOperationError(
            f"column {change['column'][0]} would be null in all rows: add it without NOT NULL"
        )
    return StructField(change["column"][0], _type(change))


def _type(change: Change) -> DataType:
    return read_type(json.loads(change["type"]))


def _commented(found: pa.Field, change: Change) -> pa.Field:
    if not change.get(COMMENT):
        return found
    return found.with_metadata({**(found.metadata or {}), COMMENT: change[COMMENT]})


def _alter(tables: Tables, table: list[str], changes: Sequence[Change]) -> None:
    """Rename columns, cast them, or let them be null; all in one commit."""
    dataset = open_table(tables.reference(table).require())
    for change in changes:
        if change["kind"] == "rename":
            parent, taken = change["column"][:-1], _names(datasets.schema(dataset))
            if not parent and check_name(change["name"]).lower() in taken:
                raise errors.InvalidInputError(f"there is a column {change['name']!r} already")
    alterations: Any = [
        {"path": canonical_path(change["column"]), **_ALTERATIONS[change["kind"]](change)}
        for change in changes
    ]
    try:
        dataset.alter_columns(*alterations)
    except (OSError, ValueError) as cause:
        raise errors.InvalidInputError(f"table {'.'.join(table)}: {cause}") from cause


def _cast(change: Change) -> dict[str, Any]:
    (found,) = lance_schema(StructType([StructField("column", _type(change))]), {})
    return {"data_type": found.type}


_ALTERATIONS: dict[str, Any] = {
    "rename": lambda change: {"name": change["name"]},
    "nullable": lambda change: {"nullable": change["nullable"]},
    "type": _cast,
}
