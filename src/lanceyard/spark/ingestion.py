"""Ingest: files of many kinds into catalog tables, each file once."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lanceyard import errors
from lanceyard.namespace import datasets
from lanceyard.spark.commits import rows_of
from lanceyard.spark.ledger import Intent, Ledger, SourceFile
from lanceyard.spark.options import Options
from lanceyard.spark.reference import Place, open_table
from lanceyard.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"), "binary"),
}
"""By the ending of a file's name; images are binary files too."""
READER_OPTIONS = {
    "parquet": {},
    # A header that does not name the columns, or a value that does not fit, is an error.
    "csv": {"header": "true", "enforceSchema": "false", "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST"},
    "binary": {},
}
BLOB = {"content.lance.encoding": "blob"}


@dataclass(frozen=True)
class Progress:
    """How far an ingest has come."""

    table: str
    files: int
    of: int
    rows: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"ingest into {self.table}: {self.files:,} of {self.of:,} files, {self.rows:,} rows, "
            f"{self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class Ingested:
    """What an ingest has done."""

    table: str
    files: int
    """How many files were read."""
    skipped: int
    """How many had been ingested before."""
    changed: tuple[str, ...]
    """Those of the skipped that are not what they were then."""
    rows: int

    def __str__(self) -> str:
        changed = f" ({len(self.changed):,} of them changed since)" if self.changed else ""
        return (
            f"{self.table}: {self.rows:,} rows from {self.files:,} files, "
            f"{self.skipped:,} files skipped{changed}"
        )


def show(progress: Progress) -> None:
    """Print progress for people."""
    print(progress, file=sys.stderr)  # noqa: T201


def ingest(
    spark: SparkSession,
    source: str | os.PathLike[str],
    table: str,
    *,
    catalog: str | os.PathLike[str] | Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
    pattern: str | None = None,
    reader: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    files_per_commit: int = 10_000,
    progress: Callable[[Progress], object] = show,
) -> Ingested:
    """Read files into a table, each file once, however often this is called or interrupted.

    A table that does not exist is created. Files are told apart by their paths: one that was
    ingested before is skipped, and reported if it has changed since.

    Parameters
    ----------
    spark
        The session that reads and writes.
    source
        A file, or a folder with all below it.
    table
        The name of the table in `catalog`; without a catalog, its path.
    catalog
        The root of a directory catalog, or the properties of any other.
    format
        ``parquet``, ``csv``, ``json`` or ``binary`` (images and all other files: path, size, time
        and content as a blob); by default what the endings of the names say.
    pattern
        Only files whose names match, such as ``*.png``.
    reader
        More options for Spark's reader, such as ``delimiter``.
    columns
        Types of columns of a new table, as ``{"v.arrow.fixed-size-list.size": "128"}``.
    files_per_commit
        So many files become one version of the table.
    progress
        Called after every commit.

    Raises
    ------
    InvalidInputError
        The files do not fit the table, or are of several kinds.
    """
    named = _named(table, catalog)
    found = _files(spark, os.fspath(source), pattern)
    kind = format or _kind(found, source)
    if kind not in READER_OPTIONS:
        raise errors.InvalidInputError(
            f"unknown format {kind!r}: known are {', '.join(READER_OPTIONS)}"
        )
    job = _Job(spark, table, named, kind, dict(reader or {}), dict(columns or {}))
    started, rows = time.monotonic(), 0
    with Ledger.hold(Options.parse(named).reference.claim()) as ledger:
        new = [file for file in found if ledger.known(file) is None]
        changed = [file.path for file in found if ledger.known(file) not in (None, file)]
        for start in range(0, len(new), files_per_commit):
            files = new[start : start + files_per_commit]
            rows += job.run(ledger, files)
            seconds = time.monotonic() - started
            progress(Progress(table, start + len(files), len(new), rows, seconds))
    return Ingested(table, len(new), len(found) - len(new), tuple(changed), rows)


@dataclass(frozen=True)
class _Job:
    """How the files of an ingest are read and written."""

    spark: SparkSession
    table: str
    named: Mapping[str, str]
    kind: str
    reader: Mapping[str, str]
    columns: Mapping[str, str]

    def run(self, ledger: Ledger, files: Sequence[SourceFile]) -> int:
        """Ingest some files in one commit; the number of rows."""
        place = Options.parse(self.named).reference.claim()
        frame = self._frame([file.path for file in files], place)
        columns = {**(BLOB if self.kind == "binary" and place.is_empty else {}), **self.columns}
        writer = (
            frame.write.format("lanceyard")
            .mode("append")
            .options(**self.named, **(columns if place.is_empty else {}))
        )
        intent = ledger.note(files)
        with self._told(ledger, intent):
            writer.option("write_id", intent.write_id).save()
        ledger.done(intent)
        return rows_of(Options.parse(self.named).reference.claim(), intent.write_id, intent.version)

    @contextmanager
    def _told(self, ledger: Ledger, intent: Intent) -> Iterator[None]:
        """Let the ledger know of a failure, so that the next one need not wait.

        Not through Connect: a server that we have lost may go on with the job.
        """
        from pyspark.sql import is_remote

        try:
            yield
        except Exception:
            if not is_remote():
                with suppress(OSError, errors.LanceNamespaceError):
                    ledger.failed(intent)
            raise

    def _frame(self, paths: list[str], place: Place) -> DataFrame:
        options = {**READER_OPTIONS[self.kind], **self.reader}
        if self.kind == "binary":
            found = self.spark.read.format("binaryFile").options(**options).load(paths)
            return found.selectExpr(
                "path", "length as size", "modificationTime as modified", "content"
            )
        reader = self.spark.read.format(self.kind).options(**options)
        if self.kind == "parquet":
            return reader.load(paths)
        # Without a table types are inferred; with one they are the table's.
        inferred = reader.option("inferSchema", str(place.is_empty).lower()).load(paths)
        if place.is_empty:
            return inferred
        return reader.schema(self._schema(inferred.schema, place)).load(paths)

    def _schema(self, inferred: StructType, place: Place) -> StructType:
        """The table's types for the columns that the files have."""
        from pyspark.sql.types import StructType

        held = {field.name: field for field in spark_schema(datasets.schema(open_table(place)))}
        strange = [name for name in inferred.names if name not in held]
        if strange:
            raise errors.InvalidInputError(
                f"the files have columns that table {self.table} does not have: "
                f"{', '.join(strange)}"
            )
        return StructType([held[name] for name in inferred.names])


def _named(
    table: str, catalog: str | os.PathLike[str] | Mapping[str, str] | None
) -> dict[str, str]:
    if catalog is None:
        return {"path": table}
    properties = catalog if isinstance(catalog, Mapping) else {"root": os.fspath(catalog)}
    return {"table": table, **{f"catalog.{key}": value for key, value in properties.items()}}


def _files(spark: SparkSession, source: str, pattern: str | None) -> list[SourceFile]:
    """The files below a folder, as Spark sees them, sorted; their content is not read."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    if pattern is not None:
        reader = reader.option("pathGlobFilter", pattern)
    listed = reader.load(source).selectExpr(
        "path", "length", "cast(modificationTime as double) as modified"
    )
    return sorted(SourceFile(row.path, row.length, row.modified) for row in listed.collect())


def _kind(files: Sequence[SourceFile], source: object) -> str:
    endings = {os.path.splitext(unquote(urlsplit(file.path).path))[1].lower() for file in files}
    kinds = {FORMATS.get(ending) for ending in endings}
    if len(kinds) == 1 and None not in kinds:
        return str(kinds.pop())
    shown = ", ".join(sorted(ending or "none" for ending in endings))
    raise errors.InvalidInputError(
        f"the kind of the files in {os.fspath(source)!s} is not clear (endings: {shown}): "  # type: ignore[call-overload]
        "say format=, or choose some by pattern="
        if files
        else f"there are no files in {source}"
    )
