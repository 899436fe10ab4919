"""Java's lance-spark and our Spark SQL catalog at the same work, in one run.

Each side has a Spark session of its own with two cores: lance-spark 0.4 works with Spark 3.5 and
reaches the tables through our REST server, we work with the Spark that is installed. They take
turns within each round, so both see the same load: trust the ratios more than the times. Which
Python has the Spark of lance-spark says ``LANCE_SPARK_PYTHON``: `make bench-lance-spark`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1]))

from catalogs import scratch
from report import grid, number, versions

import lanceyard
import lanceyard.spark
from tests.interop.java import LanceSpark
from tests.rest.serving import server

WARM_UPS: Final = 2
SAMPLES: Final = 5
SIDES: Final = ("java", "yard")
SETTINGS: Final = {
    "spark.driver.memory": "3g",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
ROWS: Final = (
    "SELECT id, cast(id % 1000 AS INT) k, rand(7) x, concat('row number ', id) s FROM range({rows})"
)
CASES: Final = {
    "write 4 columns": "INSERT INTO {name}.a.{side} SELECT * FROM {name}.a.t",
    "scan 4 columns": "SELECT max(id), max(k), max(x), max(s) FROM {name}.a.t",
    "scan 2 columns of 4": "SELECT sum(k), max(x) FROM {name}.a.t",
    "count": "SELECT count(*) FROM {name}.a.t",
    "filter, 1 row in 1 000": "SELECT count(s) FROM {name}.a.t WHERE k = 77",
    "filter on an indexed column": "SELECT s FROM {name}.a.t WHERE id = 4711",
    "limit": "SELECT * FROM {name}.a.t LIMIT 10",
    "delete": "DELETE FROM {name}.a.{side} WHERE id % 10 = 3",
    "update": "UPDATE {name}.a.{side} SET s = 'other' WHERE k = 5",
}
EXPLANATION: Final = """\
Times are the best of {samples} in ms, from the statement to its rows. A ratio says how many times
faster Lanceyard is than lance-spark 0.4.0 (native, Spark 3.5) on the same table of {rows:,} rows of
int64, int32, double and string, in four fragments."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    rows = parser.parse_args().rows
    with scratch() as root, LanceSpark(os.environ["LANCE_SPARK_PYTHON"]) as java:
        yard = lanceyard.open(root / "yard")
        spark = lanceyard.spark.session(
            master="local[2]", config=SETTINGS, catalogs={"yard": root / "yard"}
        )
        java.use("java", server().serve(yard.namespace))
        spark.sql("CREATE NAMESPACE yard.a")
        made = ROWS.format(rows=rows)
        spark.sql(f"CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION(4) */ * FROM ({made})")
        spark.sql("CALL yard.system.index('a.t', 'id')")
        for side in SIDES:
            spark.sql(f"CREATE TABLE yard.a.{side} (id BIGINT, k INT, x DOUBLE, s STRING)")

        def ours(statement: str) -> float:
            begun = time.perf_counter()
            spark.sql(statement).collect()
            return time.perf_counter() - begun

        print(f"# Beside Java's lance-spark\n\n{versions()}\n")
        print(EXPLANATION.format(samples=SAMPLES, rows=rows), end="\n\n")
        print(grid(("", "lance-spark", "Lanceyard", "ratio"), _compare(java.seconds, ours)))


def _compare(java: Callable[[str], float], ours: Callable[[str], float]) -> list[list[str]]:
    table = []
    for label, statement in CASES.items():
        times: dict[str, list[float]] = {side: [] for side in SIDES}
        for _ in range(WARM_UPS + SAMPLES):
            for side, run in zip(SIDES, (java, ours), strict=True):
                times[side].append(run(statement.format(name=side, side=side)) * 1000)
        theirs, mine = (min(times[side][WARM_UPS:]) for side in SIDES)
        table.append([label, number(theirs), number(mine), f"{theirs / mine:.2g}x"])
    return table


if __name__ == "__main__":
    main()
