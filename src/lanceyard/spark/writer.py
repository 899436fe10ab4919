"""Batch writes, as Spark's data source interface wants them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lanceyard.spark.options import Options
from lanceyard.spark.write import Write


class LanceWriter(DataSourceArrowWriter):
    """Appends to a table, replaces its content, or makes it."""

    def __init__(self, schema: StructType, options: Options, *, overwrite: bool) -> None:
        """Begin a write; `schema` is that of the rows that will arrive."""
        self._write = Write.begin(schema, options, overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._write.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._write.commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._write.abort(messages)
