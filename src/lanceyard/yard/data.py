"""Data as people have it: Arrow, pandas, rows, batches; all of it becomes one Arrow stream."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from lanceyard.errors import InvalidInputError


def read_data(data: Any, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
    """Open data as a stream that is read once; a schema alone is an empty table.

    Tables, batches, readers, pandas frames, dicts of columns, lists of dicts, and iterables of
    batches or tables are understood. Iterables are not held in memory.

    Raises
    ------
    InvalidInputError
        The data is of another kind, or does not fit the schema.
    """
    try:
        return _reader(data, schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, KeyError) as cause:
        raise InvalidInputError(f"cannot read {type(data).__name__} as a table: {cause}") from cause


def fit_data(data: Any, schema: pa.Schema) -> pa.RecordBatchReader:
    """Open data as a stream whose columns have the types of a table they go into.

    Columns are matched by name; what the table does not have is left for it to refuse.
    """
    reader = read_data(data)
    known = set(schema.names)
    fields = [schema.field(f.name) if f.name in known else f for f in reader.schema]
    try:
        return reader.cast(pa.schema(fields))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as cause:
        raise InvalidInputError(f"the data does not fit the table: {cause}") from cause


def as_body(reader: pa.RecordBatchReader) -> Iterator[bytes]:
    """A reader as the body of a request: an Arrow IPC stream, batch by batch."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def _reader(data: Any, schema: pa.Schema | None) -> pa.RecordBatchReader:  # noqa: PLR0911
    if isinstance(data, pa.Schema):
        return data.empty_table().to_reader()
    if isinstance(data, pa.RecordBatchReader):
        return data if schema is None else data.cast(schema)
    if isinstance(data, Mapping):
        return pa.table(dict(data), schema=schema).to_reader()
    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, schema=schema, preserve_index=False).to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return _reader(pa.RecordBatchReader.from_stream(data), schema)
    if hasattr(data, "__arrow_c_array__"):
        return _reader(pa.table(data), schema)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _from_parts(iter(data), schema)
    raise TypeError("give Arrow, pandas, a dict of columns, rows as dicts, or batches")


def _from_parts(parts: Iterator[Any], schema: pa.Schema | None) -> pa.RecordBatchReader:
    first = next(parts, None)
    if first is None:
        if schema is None:
            raise TypeError("there are no rows, and no schema to make an empty table from")
        return schema.empty_table().to_reader()
    everything = itertools.chain([first], parts)
    if isinstance(first, Mapping):
        return pa.Table.from_pylist(list(everything), schema=schema).to_reader()
    if schema is None:
        schema = first.schema if hasattr(first, "schema") else pa.table(first).schema
    batches = (batch.cast(schema) for part in everything for batch in pa.table(part).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)
