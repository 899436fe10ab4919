"""Spark SQL over a catalog and over Parquet tables of Spark's own catalog, in one run.

Both sides work in one warm session with two cores, on tables with the same rows in as many files.
They take turns within each round, so both see the same load: trust the ratios more than the times.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Final

from catalogs import scratch
from pyspark.sql import SparkSession
from report import grid, versions
from spark import DIMENSIONS, FORMATS, SAMPLES, WARM_UPS, Case, embeddings, line, plain, running

import lanceyard
from lanceyard.spark.sql.catalogs import attach

TARGETS: Final = {
    "two columns of four": 0.5,
    "COUNT(*)": 3,
    "one row by an indexed column": 3,
}
"""The least ratios wanted."""
FILES: Final = 16
CHANGED: Final = 1_000
"""Rows of the source of a MERGE."""
SHORT: Final = 150
REPEATS: Final = 10
"""Samples of a round of what takes less than so many ms."""
NOTES: Final = "## What was tried"

EXPLANATION: Final = """\
Times are the best of {samples} in ms, of {more} where they are below {short}, from the statement to
its result, and include parsing it and looking up its tables. A ratio says how many times faster
Lanceyard is than Parquet, Spark's own format in the JVM, as an external table of its session
catalog, which knows schema and files beforehand. The table has {rows:,} rows of int64, int32,
double and string; vectors are {vectors:,} rows of int64 and {dimensions} float32; all lie in
{files} files. Scans end in a sink that drops the rows. The indexed column holds the numbers below
{rows:,} in no order, so that Parquet's statistics cannot help. A MERGE updates and inserts
{changed:,} rows; with Parquet the table is joined with them and written again elsewhere, which is
what Parquet takes. Tasks run two at a time."""


class Bench:
    """Tables of both kinds, and what is asked of them."""

    def __init__(self, spark: SparkSession, directory: Path, rows: int, vectors: int) -> None:
        self._spark = spark
        self._directory = directory
        self._rows = rows
        self._fresh = itertools.count()
        self._yard = lanceyard.open(str(directory / "yard"))
        attach(spark, {"yard": str(directory / "yard")})
        spark.sql("CREATE NAMESPACE yard.bench")
        merged = f"SELECT id k, id * 7 n, id * 0.5D x, concat('string ', id) s FROM range({rows})"
        sources = {
            "plain": plain(spark, rows),
            "merged": spark.sql(merged),
            "vectors": embeddings(spark, vectors),
        }
        for table, source in sources.items():
            source.repartitionByRange(FILES, source.columns[-2]).createOrReplaceTempView("source")
            spark.sql(
                f"CREATE TABLE {table} USING parquet LOCATION '{directory}/{table}.parquet' "
                "AS SELECT * FROM source"
            )
            kind = f"'v.arrow.fixed-size-list.size' = '{DIMENSIONS}'"
            properties = f"TBLPROPERTIES ({kind})" if table == "vectors" else ""
            spark.sql(f"CREATE TABLE yard.bench.{table} {properties} AS SELECT * FROM {table}")
        self._yard.table("bench.plain").index("k")

    def cases(self) -> list[Case]:
        return [
            Case("two columns of four", partial(self.scan, "SELECT k, x FROM {plain}")),
            Case("all four columns", partial(self.scan, "SELECT * FROM {plain}")),
            Case("sum of two columns", partial(self.ask, "SELECT sum(k), max(x) FROM {plain}")),
            Case("COUNT(*)", partial(self.ask, "SELECT count(*) FROM {plain}")),
            Case("one row by an indexed column", self.find),
            Case("LIMIT 100", partial(self.ask, "SELECT * FROM {plain} LIMIT 100")),
            Case("aggregate with a filter", partial(self.ask, AGGREGATE)),
            Case("a tenth of the rows by a filter", partial(self.scan, TENTH)),
            Case("all vectors", partial(self.scan, "SELECT * FROM {vectors}")),
            Case("MERGE, neighbours", partial(self.merge, 1)),
            Case("MERGE, rows from everywhere", partial(self.merge, rows_apart(self._rows))),
        ]

    def ask(self, query: str, table_format: str) -> list[tuple[object, ...]]:
        return [*map(tuple, self._spark.sql(named(query, table_format)).collect())]

    def scan(self, query: str, table_format: str) -> None:
        found = self._spark.sql(named(query, table_format))
        found.write.format("noop").mode("overwrite").save()

    def find(self, table_format: str) -> object:
        # Always another row, as nobody asks for the same one again and again.
        wanted = next(self._fresh) * 7919 % self._rows
        return self.ask(f"SELECT * FROM {{plain}} WHERE k = {wanted}", table_format)

    def merge(self, apart: int, table_format: str) -> None:
        first = self._rows - CHANGED * apart // 2  # half of them are new
        source = (
            f"(SELECT id k, -1L n, 0.5D x, 'new' s FROM "
            f"range({first}, {first + CHANGED * apart}, {apart}))"
        )
        if table_format == "lance":
            self._spark.sql(MERGE.format(source=source))
            return
        written = self._directory / f"written-{next(self._fresh)}"
        self._spark.sql(JOIN.format(source=source)).write.parquet(str(written))

    def clean(self) -> None:
        """Undo what the writes of a round did."""
        for written in self._directory.glob("written-*"):
            shutil.rmtree(written)
        self._yard.table("bench.merged").restore(1)

    def check(self) -> None:
        """Both sides did the same work, so they must have found the same."""
        sums = "SELECT count(*), sum(k), sum(n), max(x), min(s) FROM {merged}"
        questions = [AGGREGATE, "SELECT count(*) FROM {plain}", sums]
        for question in questions:
            theirs, ours = (sorted(self.ask(question, each)) for each in FORMATS)
            if not ours or theirs != ours:
                raise RuntimeError(f"the sides disagree: {theirs} and {ours}")
        for apart in (1, rows_apart(self._rows)):
            for each in FORMATS:
                self.merge(apart, each)
            (written,) = self._directory.glob("written-*")
            theirs = self.ask(sums.format(merged=f"parquet.`{written}`"), "parquet")
            ours = self.ask(sums, "lance")
            if theirs != ours:
                raise RuntimeError(f"the sides merge differently: {theirs} and {ours}")
            self.clean()


AGGREGATE: Final = "SELECT i % 10, count(*), avg(x), min(s) FROM {plain} WHERE i < 100 GROUP BY 1"
TENTH: Final = "SELECT * FROM {plain} WHERE i < 100"
MERGE: Final = (
    "MERGE INTO yard.bench.merged t USING {source} u ON t.k = u.k "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
JOIN: Final = (
    "SELECT k, CASE WHEN u.k IS NULL THEN t.n ELSE u.n END n, CASE WHEN u.k IS NULL THEN t.x ELSE "
    "u.x END x, CASE WHEN u.k IS NULL THEN t.s ELSE u.s END s "
    "FROM merged t FULL OUTER JOIN {source} u USING (k)"
)


def named(query: str, table_format: str) -> str:
    """A query with the names that tables have on one side."""
    prefix = "yard.bench." if table_format == "lance" else ""
    tables = ("plain", "merged", "vectors")
    return query.format(**{table: f"{prefix}{table}" for table in tables})


def rows_apart(rows: int) -> int:
    """How far the rows of a source lie apart that reaches from one end to the other and beyond."""
    return 2 * rows // CHANGED


def is_short(case: Case) -> bool:
    """Whether chance decides more than the work about how long one sample takes."""
    return min(case.times["parquet"]) < SHORT


def main() -> None:
    options = arguments()
    rows, vectors = (250_000, 10_000) if options.quick else (5_000_000, 200_000)
    with scratch() as directory, running() as spark:
        bench = Bench(spark, directory, rows, vectors)
        cases = [each for each in bench.cases() if options.only in each.label]
        for turn in range(WARM_UPS + SAMPLES):
            print(f"round {turn + 1} of {WARM_UPS + SAMPLES}", file=sys.stderr)
            for case in cases:
                for _ in range(REPEATS if turn >= WARM_UPS and is_short(case) else 1):
                    for table_format in FORMATS if turn % 2 else reversed(FORMATS):
                        case.sample(table_format)
                bench.clean()
        bench.check()
    text = markdown(cases, rows, vectors, quick=options.quick)
    print(text)
    options.output.write_text(text + notes(options.output))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    return parser.parse_args()


def markdown(cases: list[Case], rows: int, vectors: int, *, quick: bool) -> str:
    explanation = EXPLANATION.format(
        samples=SAMPLES,
        more=SAMPLES * REPEATS,
        short=SHORT,
        rows=rows,
        vectors=vectors,
        dimensions=DIMENSIONS,
        files=FILES,
        changed=CHANGED,
    )
    parts = [
        "# Spark SQL against Parquet" + (" (quick)" if quick else ""),
        versions(),
        explanation,
        grid(["", "ratio", "Parquet", "Lanceyard"], [line(case, TARGETS) for case in cases]),
    ]
    return "\n\n".join(parts) + "\n"


def notes(before: Path) -> str:
    """What a person wrote below the table of an earlier run."""
    _, mark, text = (before.read_text() if before.exists() else "").partition(NOTES)
    return f"\n{mark}{text}" if mark else ""


if __name__ == "__main__":
    main()
