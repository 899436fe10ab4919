"""Maintenance on executors and the same jobs with Parquet through data frames, in one run.

Both sides work in one warm session with two cores, on tables with the same rows in as many files.
They take turns within each round, so both see the same load: trust the ratios more than the times.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import lance
import pyarrow as pa
import pyarrow.compute as pc
from catalogs import scratch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from report import grid, number, versions
from spark import DIMENSIONS, FORMATS, SAMPLES, WARM_UPS, Case, embeddings, plain, running

from lanceyard.spark import maintenance

WANTED: Final = 2.4
"""The least ratio, of all cases."""
FILES: Final = 16

EXPLANATION: Final = """\
Times are the best of {samples} in ms, from the call to its result. A ratio says how many times
faster Lanceyard is than the same job with Parquet, Spark's own format. Ints and strings are
{rows:,} rows of int64, int32, double and string; vectors are {vectors:,} rows of int64 and
{dimensions} float32; both lie in {files} files. A copy writes all rows again as two files: with
Parquet a data frame is read, coalesced and written, with Lanceyard the table is compacted. A
back-fill adds a column: with Parquet by an expression, or a function over Arrow batches
(`mapInArrow`), and all columns are written again, which is what Parquet takes; with Lanceyard only
the new one is. Tasks run two at a time."""


def length(batch: Any) -> pa.Array:
    """The length of each vector."""
    import numpy as np

    values = batch["v"].flatten().to_numpy().reshape(batch.num_rows, -1)
    return pa.array(np.sqrt((values * values).sum(axis=1)))


def joined(batch: Any) -> pa.Array:
    """The text and the number of each row together."""
    return pc.binary_join_element_wise(batch["s"], batch["k"].cast("string"), "/")


class Bench:
    """Tables of both formats, and what is done to copies of them."""

    def __init__(self, spark: SparkSession, directory: Path, rows: int, vectors: int) -> None:
        self._spark = spark
        self._directory = directory
        self._fresh = itertools.count()
        self._copies: dict[str, list[str]] = {}
        self._make("plain", plain(spark, rows))
        self._make("vectors", embeddings(spark, vectors))

    def cases(self) -> list[Case]:
        text, norm = ("joined", joined, "string"), ("length", length, "float")
        return [
            Case("copy, ints and strings", partial(self.copy, "plain")),
            Case("copy, vectors", partial(self.copy, "vectors")),
            Case("back-fill by SQL, ints and strings", self.compute),
            Case("back-fill by a function, ints and strings", partial(self.apply, "plain", *text)),
            Case("back-fill by a function, vectors", partial(self.apply, "vectors", *norm)),
        ]

    def prepare(self) -> None:
        """Lay out fresh copies of the Lance tables, of hard links, outside the time."""
        for table, count in (("plain", 3), ("vectors", 2)):
            self._copies[table] = [self._linked(table) for _ in range(count)]

    def copy(self, table: str, table_format: str) -> str:
        if table_format == "parquet":
            return self._save(self._read(table).coalesce(2))
        path, rows = self._copies[table].pop(), self._rows(table)
        options = {"target_rows_per_fragment": rows // 2, "progress": maintenance.silent}
        maintenance.compact(self._spark, path, **options)
        return path

    def compute(self, table_format: str) -> str:
        if table_format == "parquet":
            return self._save(self._read("plain").selectExpr("*", "k * 2 + i AS made"))
        return self._fill("plain", {"made": "k * 2 + i"}, None)

    def apply(
        self,
        table: str,
        name: str,
        function: Callable[[Any], pa.Array],
        kind: str,
        table_format: str,
    ) -> str:
        if table_format == "lance":
            reads = {"joined": ["s", "k"], "length": ["v"]}[name]
            return self._fill(table, lambda batch: {name: function(batch)}, reads)

        def extended(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield batch.append_column(name, function(batch))

        frame = self._read(table)
        schema = StructType(list(frame.schema.fields)).add(name, kind)
        return self._save(frame.mapInArrow(extended, schema))

    def clean(self) -> None:
        """Remove what a round left behind."""
        for written in self._directory.glob("written-*"):
            shutil.rmtree(written)

    def check(self, cases: list[Case]) -> None:
        """Both sides did the same work, so they must have made the same."""
        self.prepare()
        for case in cases:
            ours, theirs = case.run("lance"), case.run("parquet")
            found = [
                self._spark.read.format(each).load(str(path))
                for each, path in (("lance", ours), ("parquet", theirs))
            ]
            counts = [(sorted(frame.columns), frame.distinct().count()) for frame in found]
            if counts[0] != counts[1]:
                raise RuntimeError(f"the sides disagree: {case.label}: {counts}")

    def _fill(self, table: str, values: Any, reads: list[str] | None) -> str:
        path = self._copies[table].pop()
        maintenance.backfill(self._spark, path, values, reads=reads, progress=maintenance.silent)
        return path

    def _make(self, table: str, source: DataFrame) -> None:
        spread = source.repartition(FILES)
        spread.write.parquet(self._path(table, "parquet"))
        size = {"v.arrow.fixed-size-list.size": str(DIMENSIONS)} if table == "vectors" else {}
        writer = spread.write.format("lance").mode("append").options(**size)
        writer.save(self._path(table, "lance"))

    def _rows(self, table: str) -> int:
        return int(lance.dataset(self._path(table, "lance")).count_rows())

    def _linked(self, table: str) -> str:
        target = self._new()
        shutil.copytree(self._path(table, "lance"), target, copy_function=os.link)
        return target

    def _new(self) -> str:
        return str(self._directory / f"written-{next(self._fresh)}")

    def _read(self, table: str) -> DataFrame:
        return self._spark.read.parquet(self._path(table, "parquet"))

    def _save(self, frame: DataFrame) -> str:
        target = self._new()
        frame.write.parquet(target)
        return target

    def _path(self, table: str, table_format: str) -> str:
        return str(self._directory / f"{table}.{table_format}")


def main() -> None:
    options = arguments()
    rows, vectors = (250_000, 10_000) if options.quick else (5_000_000, 200_000)
    with scratch() as directory, running() as spark:
        bench = Bench(spark, directory, rows, vectors)
        cases = bench.cases()
        for turn in range(WARM_UPS + SAMPLES):
            print(f"round {turn + 1} of {WARM_UPS + SAMPLES}", file=sys.stderr)
            bench.prepare()
            for case in cases:
                for table_format in FORMATS if turn % 2 else reversed(FORMATS):
                    case.sample(table_format)
            bench.clean()
        bench.check(cases)
    text = markdown(cases, rows, vectors, quick=options.quick)
    print(text)
    options.output.write_text(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    return parser.parse_args()


def markdown(cases: list[Case], rows: int, vectors: int, *, quick: bool) -> str:
    explanation = EXPLANATION.format(
        samples=SAMPLES, rows=rows, vectors=vectors, dimensions=DIMENSIONS, files=FILES
    )
    parts = [
        "# Maintenance on executors against Parquet" + (" (quick)" if quick else ""),
        versions(),
        explanation,
        grid(["", "ratio", "Parquet", "Lanceyard"], [line(case) for case in cases]),
    ]
    return "\n\n".join(parts) + "\n"


def line(case: Case) -> list[str]:
    ratio = f"{number(case.ratio)}x {'✓' if case.ratio >= WANTED else '✗'} (≥ {WANTED:g})"
    return [case.label, ratio, *(number(case.best(each)) for each in FORMATS)]


if __name__ == "__main__":
    main()
