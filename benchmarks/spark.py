"""Our Spark data source and Spark's own Parquet at the same work, in one run.

Both sides work in one warm session with two cores, on tables with the same rows. They take turns
within each round, so both see the same load: trust the ratios more than the times. What is
written comes from Spark's cache; what is read goes to a sink that drops it, unless it is small.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import lance
import pyarrow as pa
from catalogs import scratch
from lance.fragment import FragmentMetadata
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from report import grid, number, versions

from lanceyard.spark.sessions import session
from lanceyard.spark.source import LanceSource

TARGETS: Final = {
    "write, ints and strings": 0.6,
    "write, vectors": 2.5,
    "scan, ints and strings": 0.55,
    "nearest 10 vectors": 2.5,
    "one row by an indexed column": 3,
}
"""The least ratios wanted."""

DIMENSIONS: Final = 128
WARM_UPS: Final = 3
SAMPLES: Final = 5
FORMATS: Final = ("parquet", "lance")
SETTINGS: Final = {
    "spark.driver.memory": "3g",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}

EXPLANATION: Final = """\
Times are the best of {samples} in ms, from the call to its result, and include looking up the
table. A ratio says how many times faster Lanceyard is than Parquet, Spark's own format in the JVM.
Ints and strings are {rows:,} rows of int64, int32, double and string; vectors are {vectors:,} rows
of int64 and {dimensions} float32. Rows are written from Spark's cache, unless they are made
meanwhile. Scans end in a sink that drops the rows. The indexed column holds the numbers below
{rows:,} in no order, so that Parquet's statistics cannot help. Tasks run two at a time."""


@dataclass(frozen=True)
class Case:
    """The same work for each format, and the times it took."""

    label: str
    run: Callable[[str], object]
    times: dict[str, list[float]] = field(default_factory=lambda: {each: [] for each in FORMATS})

    def sample(self, table_format: str) -> None:
        start = time.perf_counter()
        self.run(table_format)
        self.times[table_format].append((time.perf_counter() - start) * 1000)

    def best(self, table_format: str) -> float:
        return min(self.times[table_format][WARM_UPS:])

    @property
    def ratio(self) -> float:
        return self.best("parquet") / self.best("lance")


@dataclass(frozen=True)
class Planning:
    """A plan made in this process, without Spark."""

    label: str
    tasks: int
    milliseconds: float
    largest: int


class Bench:
    """Tables of both formats, and what is asked of them."""

    def __init__(self, spark: SparkSession, directory: Path, rows: int, vectors: int) -> None:
        self._spark = spark
        self._directory = directory
        self._rows = rows
        self._fresh = itertools.count()
        self._sources = {"plain": plain(spark, rows), "vectors": embeddings(spark, vectors)}
        for table, source in self._sources.items():
            source.cache().count()
            for table_format in FORMATS:
                self._save(table, table_format, self._path(table, table_format))
        # Other rows, as those would come from the cache.
        self._sources["made"] = plain(spark, rows, start=1)
        lance.dataset(self._path("plain", "lance")).create_scalar_index("k", "BTREE")

    def cases(self) -> list[Case]:
        return [
            Case("write, ints and strings", partial(self.write, "plain")),
            Case("write, ints and strings, made meanwhile", partial(self.write, "made")),
            Case("write, vectors", partial(self.write, "vectors")),
            Case("scan, ints and strings", partial(self.scan, "plain")),
            Case("scan, vectors", partial(self.scan, "vectors")),
            Case("sum of two columns", self.sum),
            Case("count", self.count),
            Case("nearest 10 vectors", self.nearest),
            Case("one row by an indexed column", self.find),
            Case("one row by an indexed column, table looked up before", self.find_again()),
        ]

    def write(self, table: str, table_format: str) -> None:
        self._save(table, table_format, str(self._directory / f"written-{next(self._fresh)}"))

    def scan(self, table: str, table_format: str) -> None:
        self._read(table, table_format).write.format("noop").mode("overwrite").save()

    def sum(self, table_format: str) -> object:
        # Spark does not tell Python sources which columns a query needs.
        columns = {"columns": "k,x"} if table_format == "lance" else {}
        found = self._read("plain", table_format, **columns)
        return found.selectExpr("sum(k)", "max(x)").collect()

    def count(self, table_format: str) -> int:
        columns = {"columns": "i"} if table_format == "lance" else {}
        return self._read("plain", table_format, **columns).count()

    def nearest(self, table_format: str) -> object:
        query = [0.5 - position / DIMENSIONS for position in range(DIMENSIONS)]
        if table_format == "lance":
            asked = json.dumps({"column": "v", "q": query, "k": 10})
            found = self._read("vectors", table_format, nearest=asked, columns="id")
            return [row.id for row in found.collect()]  # which come in order
        array = ", ".join(f"{value}F" for value in query)
        distance = f"vector_l2_distance(v, array({array})) AS distance"
        found = self._read("vectors", table_format).selectExpr("id", distance)
        return [row.id for row in found.orderBy("distance").limit(10).collect()]

    def find(self, table_format: str) -> object:
        return self._where(self._read("plain", table_format)).collect()

    def find_again(self) -> Callable[[str], object]:
        loaded = {each: self._read("plain", each) for each in FORMATS}
        return lambda table_format: self._where(loaded[table_format]).collect()

    def clean(self) -> None:
        """Remove what the writes of a round left behind."""
        for written in self._directory.glob("written-*"):
            shutil.rmtree(written)

    def check(self) -> None:
        """Both sides did the same work, so they must have found the same."""
        for ask in (self.sum, self.count, self.nearest, self._row):
            theirs, ours = (ask(each) for each in FORMATS)
            if not ours or theirs != ours:
                raise RuntimeError(f"the sides disagree: {theirs} and {ours}")

    def _row(self, table_format: str) -> object:
        found = self._read("plain", table_format).where(f"k = {self._rows // 2}").collect()
        return [row.asDict() for row in found]

    def _where(self, loaded: DataFrame) -> DataFrame:
        # Always another row, as nobody asks for the same one again and again.
        return loaded.where(f"k = {next(self._fresh) * 7919 % self._rows}")

    def _path(self, table: str, table_format: str) -> str:
        return str(self._directory / f"{table}.{table_format}")

    def _read(self, table: str, table_format: str, **options: str) -> DataFrame:
        reader = self._spark.read.format(table_format).options(**options)
        return reader.load(self._path(table, table_format))

    def _save(self, table: str, table_format: str, path: str) -> None:
        writer = self._sources[table].write.format(table_format).mode("append")
        if table_format == "lance" and table == "vectors":
            writer = writer.option("v.arrow.fixed-size-list.size", str(DIMENSIONS))
        writer.save(path)


def main() -> None:
    options = arguments()
    rows, vectors = (250_000, 10_000) if options.quick else (5_000_000, 200_000)
    with scratch() as directory, running() as spark:
        bench = Bench(spark, directory, rows, vectors)
        cases = bench.cases()
        for turn in range(WARM_UPS + SAMPLES):
            print(f"round {turn + 1} of {WARM_UPS + SAMPLES}", file=sys.stderr)
            for case in cases:
                for table_format in FORMATS if turn % 2 else reversed(FORMATS):
                    case.sample(table_format)
            bench.clean()
        bench.check()
        plans = [
            plan("10,000 fragments", many_fragments(directory / "many", 10_000)),
            plan("64 fragments of 1,000 rows", small_fragments(directory / "small", 64)),
        ]
    text = markdown(cases, plans, rows, vectors, quick=options.quick)
    print(text)
    options.output.write_text(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    return parser.parse_args()


@contextmanager
def running() -> Iterator[SparkSession]:
    spark = session("benchmark", master="local[2]", config=SETTINGS)
    try:
        yield spark
    finally:
        spark.stop()


def plain(spark: SparkSession, rows: int, start: int = 0) -> DataFrame:
    return spark.range(start, start + rows).selectExpr(
        f"id * 2654435761 % {rows} AS k",  # a prime: each number once
        "CAST(id % 1000 AS INT) AS i",
        "id * 0.5D AS x",
        "CONCAT('string ', id * 7919 % 1000003) AS s",
    )


def embeddings(spark: SparkSession, rows: int) -> DataFrame:
    value = "CAST(xxhash64(id, position) / 9223372036854775808D AS FLOAT)"
    vector = f"transform(sequence(1, {DIMENSIONS}), position -> {value})"
    return spark.range(rows).selectExpr("id", f"{vector} AS v")


def small_fragments(path: Path, count: int) -> Path:
    table = pa.table({"k": list(range(count * 1000))})
    lance.write_dataset(table, path, max_rows_per_file=1000)
    return path


def many_fragments(path: Path, count: int) -> Path:
    """A table of one file that stands for all: a plan looks at no more than the manifest."""
    written = lance.write_dataset(pa.table({"k": list(range(1000))}), path)
    (first,) = (fragment.metadata.to_json() for fragment in written.get_fragments())
    fragments = [FragmentMetadata.from_json(json.dumps(first | {"id": i})) for i in range(count)]
    content = lance.LanceOperation.Overwrite(written.schema, fragments)
    lance.LanceDataset.commit(written, content)
    return path


def plan(label: str, table: Path) -> Planning:
    """The best of a few plans: the first imports what it needs."""
    times: list[float] = []
    tasks: list[InputPartition] = []
    for _ in range(SAMPLES):
        source = LanceSource({"path": str(table), "parallelism": "2"})
        start = time.perf_counter()
        tasks = list(source.reader(source.schema()).partitions())
        times.append((time.perf_counter() - start) * 1000)
    return Planning(label, len(tasks), min(times), max(len(pickle.dumps(task)) for task in tasks))


def markdown(
    cases: list[Case], plans: list[Planning], rows: int, vectors: int, *, quick: bool
) -> str:
    explanation = EXPLANATION.format(
        samples=SAMPLES, rows=rows, vectors=vectors, dimensions=DIMENSIONS
    )
    parts = [
        "# Spark data source against Parquet" + (" (quick)" if quick else ""),
        versions(),
        explanation,
        grid(["", "ratio", "Parquet", "Lanceyard"], [line(case, TARGETS) for case in cases]),
        "## Planning on the driver",
        grid(
            ["", "tasks", "ms", "largest task, bytes"],
            [
                [each.label, f"{each.tasks:,}", number(each.milliseconds), f"{each.largest:,}"]
                for each in plans
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def line(case: Case, targets: Mapping[str, float]) -> list[str]:
    wanted = targets.get(case.label)
    ratio = f"{number(case.ratio)}x" if case.ratio >= 0.995 else f"{case.ratio:.2f}x"
    if wanted is not None:
        ratio += f" {'✓' if case.ratio >= wanted else '✗'} (≥ {wanted:g})"
    return [case.label, ratio, *(number(case.best(each)) for each in FORMATS)]


if __name__ == "__main__":
    main()
