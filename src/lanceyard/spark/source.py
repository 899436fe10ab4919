"""The Spark data source: what ``format("lance")`` reads, writes and streams.

Spark creates it anew, in Python processes of its own, for every schema, plan and commit. So it
keeps nothing but its options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from lanceyard.spark.options import Options


class LanceSource(DataSource):
    """Lance tables, by path or by name in a catalog."""

    @classmethod
    def name(cls) -> str:
        return "lance"

    def schema(self) -> StructType:
        from lanceyard.spark.scan import Scan

        return Scan.open(self._options()).schema

    def reader(self, schema: StructType) -> DataSourceReader:
        from lanceyard.spark.reader import LanceReader

        return LanceReader(schema, self._options())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
        from lanceyard.spark.writer import LanceWriter

        options = self._options()
        if options.delta:
            from lanceyard.spark.sql.deltas import DeltaWriter

            return DeltaWriter(schema, options)
        return LanceWriter(schema, options, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from lanceyard.spark.stream_reader import LanceStreamReader

        return LanceStreamReader(schema, self._options())

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001
    ) -> DataSourceStreamWriter:
        from lanceyard.spark.stream_writer import LanceStreamWriter

        return LanceStreamWriter(schema, self._options(), overwrite=overwrite)

    def _options(self) -> Options:
        from lanceyard.spark.options import Options

        return Options.parse(self.options)


class LanceyardSource(LanceSource):
    """The same under a name of our own: a JVM source named ``lance`` would win silently."""

    @classmethod
    def name(cls) -> str:
        return "lanceyard"
