"""Rows of Arrow in values of Python, whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

UNITS = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many units of a time make a second."""


def rows_of(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch, in values of Python.

    It has none for nanoseconds, unless pandas is there, and for years after 9999. A column with
    such times has texts instead, and one with such durations has seconds.
    """
    columns = [_values(column) for column in batch.columns]
    names = batch.schema.names
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def _values(column: pa.Array) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return list(_told(column).to_pylist())


def _told(column: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    if pa.types.is_duration(column.type):
        return pc.divide(
            column.cast(pa.int64()).cast(pa.float64(), safe=False), UNITS[column.type.unit]
        )
    if pa.types.is_timestamp(column.type):
        zone = "%Ez" if column.type.tz else ""
        return pc.strftime(column, f"%Y-%m-%dT%H:%M:%S{zone}")
    return column.cast(_with_texts(column.type))


def _with_texts(kind: pa.DataType) -> pa.DataType:
    """A type with texts where it had times, at any depth."""
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_texts(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_with_texts(kind.key_type), _with_texts(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_texts(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_with_texts(kind.value_type))
    return kind
