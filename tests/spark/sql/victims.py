"""Victims: statements that are killed, as ``python -m tests.spark.sql.victims NAME …``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import lanceyard
from lanceyard.spark.sql.catalogs import attach
from lanceyard.yard import Table
from tests.spark.victims import raise_sign, start

MODULE = "tests.spark.sql.victims"
ROWS, FRAGMENTS = 400, 8
PAUSE = 0.01
"""Seconds that a changed row takes: a statement takes a few of them."""
Rows = dict[int, int]
"""Numbers by their ids."""

STATEMENTS = {
    "update": "UPDATE yard.a.t SET n = strike(id) + 1000 WHERE id % 2 = 0",
    "merge": (
        "MERGE INTO yard.a.t t USING (SELECT id, strike(id) w FROM range(200, 440)) u "
        "ON t.id = u.id WHEN MATCHED AND u.w % 10 = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET n = u.w + 1000 "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (u.id, -u.w) "
        "WHEN NOT MATCHED BY SOURCE AND t.id < 10 THEN DELETE"
    ),
}
OLD: Rows = {i: i for i in range(ROWS)}
NEW: dict[str, Rows] = {
    "update": OLD | {i: i + 1000 for i in range(0, ROWS, 2)},
    "merge": {i: i for i in range(10, 200)}
    | {i: i + 1000 for i in range(200, ROWS) if i % 10}
    | {i: -i for i in range(ROWS, 440)},
}
"""What there is after a statement."""


def make(root: Path) -> Table:
    """The table that statements change."""
    yard = lanceyard.open(str(root))
    yard.create_namespace("a")
    parts = [
        pa.table({"id": [*range(start, start + ROWS // FRAGMENTS)]})
        for start in range(0, ROWS, ROWS // FRAGMENTS)
    ]
    made, *rest = [part.append_column("n", part["id"]) for part in parts]
    table = yard.create_table("a.t", made)
    for part in rest:
        table.append(part)
    return table


def rows(table: Table) -> Rows:
    """What there is, each row of it once."""
    found = table.read().to_pylist()
    listed = {row["id"]: row["n"] for row in found}
    assert len(listed) == len(found)
    return listed


def slowly() -> Callable[[int], int]:
    """The same number, in a while."""

    # Local functions are pickled with their code: workers cannot import this module.
    def strike(number: int) -> int:
        time.sleep(PAUSE)
        return number

    return strike


def strike_with(spark: SparkSession, strike: Callable[[int], int]) -> None:
    """Say what happens at each row that a statement changes."""
    spark.udf.register("strike", strike, "bigint")


def change(statement: str, master: str, root: str, sign: str) -> None:
    """Carry out a statement slowly."""
    spark = attach(start(master), {"yard": root})
    strike_with(spark, slowly())
    spark.sql("SELECT strike(id) FROM yard.a.t LIMIT 1").collect()
    raise_sign(sign)
    spark.sql(STATEMENTS[statement])
    spark.stop()


PROGRAMS: dict[str, Callable[..., None]] = {"change": change}

if __name__ == "__main__":
    # Spark's processes are to import this from where it is, not from a main program.
    from tests.spark.sql import victims

    victims.PROGRAMS[sys.argv[1]](*sys.argv[2:])
