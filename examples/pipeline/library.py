"""The library: the tables of the example, and the Spark that works on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

import lanceyard
from lanceyard.errors import InvalidTableStateError, TableNotFoundError

if TYPE_CHECKING:
    from lance import LanceDataset

NAMESPACE = "library"


@dataclass(frozen=True)
class Library:
    """The namespace of a catalog on local disk, as Spark and pylance see it."""

    spark: SparkSession
    yard: lanceyard.Yard
    root: str
    """The folder of the catalog; what Spark keeps lies in ``.spark`` below it."""

    def read(self, table: str, **options: str) -> DataFrame:
        """A table, or what `options` choose of it."""
        named = self._named(table)
        return self.spark.read.format("lanceyard").options(**named, **options).load()

    def write(self, table: str, rows: DataFrame) -> None:
        """Replace the content of a table, or create it."""
        rows.write.format("lanceyard").mode("overwrite").options(**self._named(table)).save()

    def follow(
        self,
        source: str,
        target: str,
        change: Callable[[DataFrame], DataFrame],
        **options: str,
    ) -> int:
        """Stream into a table what another has got since the last time, each row exactly once.

        Returns how many rows were read.
        """
        stream = self.spark.readStream.format("lanceyard").options(**self._named(source)).load()
        query = (
            change(stream)
            .writeStream.format("lanceyard")
            .options(**self._named(target), **options)
            .option("checkpointLocation", os.path.join(self.root, ".spark", target))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sum(progress.numInputRows for progress in query.recentProgress)

    def find(self, table: str) -> LanceDataset | None:
        """A table as pylance knows it, or None if nothing was written to it yet."""
        try:
            return self.require(table)
        except (TableNotFoundError, InvalidTableStateError):
            return None

    def require(self, table: str) -> LanceDataset:
        """A table as pylance knows it."""
        return self.yard.table(f"{NAMESPACE}.{table}").to_lance()

    def count(self, table: str) -> int:
        """How many rows a table has."""
        dataset = self.find(table)
        return 0 if dataset is None else dataset.count_rows()

    def _named(self, table: str) -> dict[str, str]:
        return {"catalog.root": self.root, "table": f"{NAMESPACE}.{table}"}
