"""Files: Parquet, CSV, JSON and Arrow, as streams of batches in and out."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from lanceyard.errors import InvalidInputError
from lanceyard.values import as_json, plain
from lanceyard.yard.rows import rows_of

Source = str | os.PathLike[str] | IO[bytes]
SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PACKED = (".gz", ".bz2", ".zst", ".lz4", ".br")


def read_files(sources: Sequence[Source], kind: str | None = None) -> pa.RecordBatchReader:
    """Read files, by name or open already, as one stream with the columns of the first.

    All have to be there; each is opened when its turn comes.

    Raises
    ------
    InvalidInputError
        A format is not known, or a file is not what its format says.
    """
    for source in sources:
        _check(source, kind)
    first = _told(sources[0], kind)
    schema = first.schema

    def batches() -> Iterator[pa.RecordBatch]:
        for number, source in enumerate(sources):
            reader = _told(source, kind) if number else first
            with _reading(source):
                for batch in reader:
                    yield batch if batch.schema == schema else _fitted(batch, schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def write_file(
    reader: pa.RecordBatchReader,
    path: str | os.PathLike[str],
    kind: str | None = None,
    *,
    replace: bool = False,
) -> None:
    """Write a stream to a file, which has its name only once it is complete.

    Raises `FileExistsError` if there is a file of that name, unless `replace`.
    """
    target = Path(path)
    kind = kind or format_of(target)
    if not replace and target.exists():
        raise FileExistsError(f"{target} exists")
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as sink:
            write_stream(reader, sink, kind)
            sink.flush()
            os.fsync(sink.fileno())
        _put(part, target, replace=replace)
    finally:
        part.unlink(missing_ok=True)


def write_stream(reader: pa.RecordBatchReader, sink: IO[bytes], kind: str) -> None:
    """Write a stream to an open file."""
    {"parquet": _parquet, "csv": _csv, "json": _json, "arrow": _arrow}[kind](reader, sink)


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that the name of a file says. Raises `InvalidInputError`."""
    name = Path(path)
    suffix = Path(name.stem).suffix if name.suffix in PACKED else name.suffix
    found = SUFFIXES.get(suffix.lower())
    if found is None:
        known = ", ".join(SUFFIXES)
        raise InvalidInputError(f"{name} does not say its format: known are {known}")
    return found


def _check(source: Source, kind: str | None) -> None:
    """Refuse what is not there, or of no known format, before anything is read."""
    if isinstance(source, str | os.PathLike):
        kind or format_of(source)
        with _reading(source):
            os.stat(source)
    elif kind is None:
        raise InvalidInputError("say the format of what has no name")


def _told(source: Source, kind: str | None) -> pa.RecordBatchReader:
    with _reading(source):
        return _open(source, kind)


def _open(source: Source, kind: str | None) -> pa.RecordBatchReader:
    if kind is None:
        assert isinstance(source, str | os.PathLike)
        kind = format_of(source)
    if kind == "parquet":
        import pyarrow.parquet as pq

        file = pq.ParquetFile(_seekable(source))
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    if kind == "csv":
        import pyarrow.csv

        return pyarrow.csv.open_csv(_unpacked(source))
    return _open_arrow(source) if kind == "arrow" else _open_json(source)


def _open_arrow(source: Source) -> pa.RecordBatchReader:
    opened = _seekable(source)
    file = pa.memory_map(os.fspath(opened)) if isinstance(opened, str | os.PathLike) else opened
    try:
        found = pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)
    batches = (found.get_batch(number) for number in range(found.num_record_batches))
    return pa.RecordBatchReader.from_batches(found.schema, batches)


def _open_json(source: Source) -> pa.RecordBatchReader:
    import pyarrow.json

    with _unpacked(source) as file:
        data = file.read()
    if data[:1_000].lstrip()[:1] == b"[":
        return pa.Table.from_pylist(json.loads(data)).to_reader()
    return pyarrow.json.read_json(pa.BufferReader(data)).to_reader()


def _unpacked(source: Source) -> Any:
    if isinstance(source, str | os.PathLike):
        return pa.input_stream(os.fspath(source), compression="detect")
    return pa.PythonFile(source, mode="r")


def _seekable(source: Source) -> Any:
    """A file by its name; what is open already may be a pipe, and is read as a whole."""
    return source if isinstance(source, str | os.PathLike) else pa.BufferReader(source.read())


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return batch.select(schema.names).cast(schema)


@contextlib.contextmanager
def _reading(source: Source) -> Iterator[None]:
    """Tell which file is not what it should be."""
    try:
        yield
    except (pa.ArrowException, ValueError, KeyError, TypeError, AttributeError) as cause:
        if isinstance(cause, InvalidInputError):
            raise
        name = source if isinstance(source, str | os.PathLike) else "the input"
        raise InvalidInputError(f"{name} cannot be read: {cause}") from cause


def _parquet(reader: pa.RecordBatchReader, sink: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _arrow(reader: pa.RecordBatchReader, sink: IO[bytes]) -> None:
    with pa.ipc.new_file(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _csv(reader: pa.RecordBatchReader, sink: IO[bytes]) -> None:
    """What CSV has no cells for, such as vectors, becomes JSON."""
    import pyarrow.csv

    schema = pa.schema([_flat(field) for field in reader.schema])
    with pyarrow.csv.CSVWriter(sink, schema) as writer:
        for batch in reader:
            columns = [
                column
                if field.type == column.type
                else pa.array(map(_text, column.to_pylist()), pa.string())
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _json(reader: pa.RecordBatchReader, sink: IO[bytes]) -> None:
    for batch in reader:
        for row in rows_of(batch):
            sink.write(as_json(row).encode() + b"\n")


def _flat(field: pa.Field) -> pa.Field:
    is_nested = pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
    is_nested |= pa.types.is_large_binary(field.type) or pa.types.is_fixed_size_binary(field.type)
    return field.with_type(pa.string()) if is_nested else field


def _text(value: Any) -> str | None:
    """A value as a cell of CSV: bytes in base64 as they are, all else as JSON."""
    found = plain(value)
    return found if found is None or isinstance(found, str) else as_json(found)


def _put(part: Path, target: Path, *, replace: bool) -> None:
    """Give a file its name; of two at once only one does, unless told to replace."""
    if not replace:
        try:
            os.link(part, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            pass
        else:
            return
    part.replace(target)
