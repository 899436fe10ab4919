"""Metadata tables: what is known about a table, as rows (``yard.shop.fruits.history``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType, StructType

from lanceyard import errors
from lanceyard.namespace import datasets
from lanceyard.spark.planning import extent
from lanceyard.spark.reference import open_table
from lanceyard.spark.sql.tables import Request, Tables

if TYPE_CHECKING:
    from lance import LanceDataset

Rows = Iterator[Sequence[Any]]


def metadata(tables: Tables, request: Request) -> dict[str, Any]:
    """The rows of a metadata table, with its schema."""
    columns, read = METADATA[request["table"]]
    dataset = open_table(tables.reference(request["id"]).require())
    return answer(columns, read(dataset))


def answer(columns: str, rows: Iterator[Sequence[Any]]) -> dict[str, Any]:
    """Rows as they travel to Spark; moments are microseconds since 1970."""
    schema = DataType.fromDDL(columns)
    assert isinstance(schema, StructType)
    return {"schema": json.loads(schema.json()), "rows": [[*map(_plain, row)] for row in rows]}


def _plain(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    seconds = value.astimezone(UTC).timestamp()
    return round(seconds * 1_000_000)


def _history(dataset: LanceDataset) -> Rows:
    """What each version did, newest first, as far as its transaction is still there."""
    for found in reversed(dataset.versions()):
        number = int(found["version"])
        try:
            transaction = dataset.read_transaction(number)
        except (OSError, ValueError):  # cleaned away meanwhile
            transaction = None
        operation = None if transaction is None else type(transaction.operation).__name__
        properties = {} if transaction is None else transaction.transaction_properties or {}
        yield (
            number,
            found["timestamp"],
            operation,
            None if transaction is None else int(transaction.read_version),
            json.dumps(dict(sorted(properties.items()))),
        )


def _versions(dataset: LanceDataset) -> Rows:
    for found in dataset.versions():
        described = json.dumps(dict(sorted(found["metadata"].items())))
        yield int(found["version"]), found["timestamp"], described


def _fragments(dataset: LanceDataset) -> Rows:
    for fragment in dataset.get_fragments():
        size = extent(fragment.metadata)
        deleted = int(fragment.metadata.physical_rows) - size.rows
        files = [str(file.path) for file in fragment.metadata.files]
        yield size.fragment, size.rows, deleted, size.size, files


def _indexes(dataset: LanceDataset) -> Rows:
    for index in dataset.describe_indices():
        yield (
            str(index.name),
            str(index.index_type),
            [str(name) for name in index.field_names],
            int(index.num_rows_indexed),
            max(0, dataset.count_rows() - int(index.num_rows_indexed)),
        )


def _tags(dataset: LanceDataset) -> Rows:
    for name, tag in sorted(datasets.list_tags(dataset).items()):
        yield name, int(tag["version"]), tag.get("branch"), tag.get("created_at")


METADATA: dict[str, tuple[str, Callable[[LanceDataset], Rows]]] = {
    "history": (
        "version long, timestamp timestamp, operation string, read_version long, properties string",
        _history,
    ),
    "versions": ("version long, timestamp timestamp, metadata string", _versions),
    "fragments": (
        "fragment long, rows long, deleted_rows long, bytes long, files array<string>",
        _fragments,
    ),
    "indexes": (
        "name string, type string, columns array<string>, indexed_rows long, unindexed_rows long",
        _indexes,
    ),
    "tags": ("tag string, version long, branch string, created_at timestamp", _tags),
}
"""By name: the columns, and what reads the rows."""


def require_known(name: str) -> None:
    """Refuse a metadata table that does not exist."""
    if name not in METADATA:
        raise errors.InvalidInputError(f"there is no {name!r}: known are {', '.join(METADATA)}")
