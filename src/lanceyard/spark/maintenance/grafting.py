"""Grafting: files with new values become part of fragments that are there already.

A file names its columns by numbers, which Lance gives out with every version. So those that a file
was written with are replaced by those that the columns have in the version that it goes into.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lanceyard.spark.maintenance.records import Record, open_place
from lanceyard.spark.reference import Place

if TYPE_CHECKING:
    from lance import LanceDataset, LanceOperation

REPLACED = -2
"""What Lance has in place of the number of a column whose values lie elsewhere now."""
NULLS = 8_192
"""Rows in a batch of nothing."""


def added(
    dataset: LanceDataset, place: Place, columns: pa.Schema, records: Mapping[int, Record]
) -> LanceOperation.BaseOperation:
    """The operation that adds columns, whose values the records know, to a version."""
    from lance import LanceOperation

    schema = _schema_with(dataset, place, columns)
    numbers = numbers_of(schema, columns.names)
    fragments = []
    for fragment in dataset.get_fragments():
        said = fragment.metadata.to_json()
        if fragment.fragment_id in records:
            record = records[fragment.fragment_id]
            said["files"] = [*said["files"], _renumbered(record, numbers)]
        fragments.append(_fragment(said))
    # Rows that are appended meanwhile have nulls there.
    return LanceOperation.Merge(fragments, schema, preserves_nullability=True)


def replaced(
    dataset: LanceDataset,
    place: Place,  # noqa: ARG001 - called like `added`
    columns: pa.Schema,
    records: Mapping[int, Record],
) -> LanceOperation.BaseOperation:
    """The operation that gives columns of a version the values that the records know."""
    from lance import LanceOperation

    numbers = numbers_of(dataset.lance_schema, columns.names)
    fragments = []
    for fragment in dataset.get_fragments():
        if fragment.fragment_id not in records:
            continue
        said = fragment.metadata.to_json()
        for file in said["files"]:
            file["fields"] = [REPLACED if n in numbers else n for n in file["fields"]]
        kept = [file for file in said["files"] if any(n >= 0 for n in file["fields"])]
        said["files"] = [*kept, _renumbered(records[fragment.fragment_id], numbers)]
        fragments.append(_fragment(said))
    return LanceOperation.Update(
        updated_fragments=fragments, fields_modified=numbers, update_mode="rewrite_columns"
    )


def numbers_of(schema: Any, names: Sequence[str]) -> list[int]:
    """The numbers that Lance gave to columns and all fields in them, in order."""
    by_name = {field.name(): field for field in schema.fields()}
    return [number for name in names for number in _walk(by_name[name])]


def _walk(field: Any) -> Iterator[int]:
    yield int(field.id())
    for child in field.children():
        yield from _walk(child)


def _schema_with(dataset: LanceDataset, place: Place, columns: pa.Schema) -> Any:
    """Lance's schema with the new columns, and the numbers that Lance gives them now.

    Lance tells that only to those who write, so nulls are written for one fragment, and deleted
    again.
    """
    smallest = min(dataset.get_fragments(), key=lambda fragment: int(fragment.metadata.num_rows))
    nulls = _nulls(columns, int(smallest.metadata.num_rows))
    reader = pa.RecordBatchReader.from_batches(columns, nulls)
    merged, schema = smallest.merge_columns(reader)
    before = {file.path for file in smallest.metadata.files}
    store = open_place(place)
    for file in merged.files:
        if file.path not in before:
            store.delete(f"data/{file.path}")
    return schema


def _nulls(schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, NULLS):
        count = min(NULLS, rows - start)
        yield pa.record_batch([pa.nulls(count, field.type) for field in schema], schema=schema)


def _renumbered(record: Record, numbers: Sequence[int]) -> dict[str, Any]:
    """The file of a record, with the numbers that its columns have now."""
    now = dict(zip(record.numbers, numbers, strict=True))
    return {**record.file, "fields": [now[number] for number in record.file["fields"]]}


def _fragment(said: Mapping[str, Any]) -> Any:
    from lance.fragment import FragmentMetadata

    return FragmentMetadata.from_json(json.dumps(said))
