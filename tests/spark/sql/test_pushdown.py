"""Pushdown: what Lance does instead of Spark, with the same result."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.sql.conftest import Sql

DAY = dt.date(2024, 2, 29)
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999999)  # noqa: DTZ001 - some columns have no zone
NUMBERS = [None, 0, 1, -1, 5, 2**40, -(2**62)]
SCHEMA = pa.schema(
    {
        "n": pa.int64(),
        "small": pa.int8(),
        "u": pa.uint32(),
        "s": pa.string(),
        "l": pa.large_string(),
        "x": pa.float64(),
        "f": pa.float32(),
        "b": pa.bool_(),
        "d": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "seconds": pa.timestamp("s", "UTC"),
        "p": pa.decimal128(10, 2),
        "odd name": pa.int32(),
    }
)
ROWS = pa.Table.from_pylist(
    [
        {
            "n": NUMBERS[i % 7],
            "small": None if i % 5 == 0 else i - 10,
            "u": i * 100_000_000,
            "s": [None, "", "a", "A", "it's", "ä", "100%", "a_b"][i % 8],
            "l": [None, "x", "xy", "%y"][i % 4],
            "x": [None, 0.0, -0.0, math.nan, math.inf, -math.inf, 1.5][i % 7],
            "f": [0.1, math.nan, -0.0, None][i % 4],
            "b": [True, False, None][i % 3],
            "d": None if i % 6 == 0 else DAY + dt.timedelta(days=i - 8),
            "at": None if i % 6 == 1 else MOMENT + dt.timedelta(microseconds=i - 8),
            "local": MOMENT + dt.timedelta(hours=i - 8),
            "seconds": MOMENT.replace(microsecond=0) + dt.timedelta(seconds=i - 8),
            "p": None if i % 4 == 0 else decimal.Decimal(i - 8) / 4,
            "odd name": i,
        }
        for i in range(24)
    ],
    SCHEMA,
)
PREDICATES = [
    "n = 5",
    "n <> 5",
    "NOT (n = 5)",
    "n <=> NULL",
    "NOT (n <=> 5)",
    "n IN (1, 5, NULL)",
    "n NOT IN (1, 5)",
    "n NOT IN (1, NULL)",
    "n > 0 OR s = 'a'",
    "NOT (n > 0 OR s = 'a')",
    "NOT (n > 0 AND s IS NULL)",
    "n > small",
    "small < n AND small > -5",
    "n + 1 = 2",
    "n % 2 = 0",
    "u >= 2000000000",
    "u > -1",
    "u < 5000000000",
    "u IN (0, 100000000, 5000000000)",
    "s = 'it''s'",
    "s < 'a'",
    "s >= 'a'",
    "upper(s) = 'A'",
    "s LIKE 'a%'",
    "s LIKE '%\\\\%'",
    "s LIKE '%_b'",
    "s LIKE '%s%'",
    "NOT (s LIKE 'a%')",
    "l = 'xy' OR l LIKE '%y'",
    "length(s) = 1",
    "x = 0",
    "x >= 0",
    "x < 0",
    "x > 1e300",
    "x = double('NaN')",
    "NOT (x > 1)",
    "x IS NULL",
    "f = float('0.1')",
    "f > 0.05",
    "b",
    "NOT b",
    "b IS NOT NULL AND (b OR n = 1)",
    "b = (n > 0)",
    "d = DATE'2024-02-29'",
    "d BETWEEN DATE'2024-02-25' AND DATE'2024-03-01'",
    "d > DATE'0001-01-01'",
    "at = TIMESTAMP'2024-02-29 23:59:59.999999 UTC'",
    "at < TIMESTAMP'2024-03-01 01:00:00 +01:00'",
    "local >= TIMESTAMP_NTZ'2024-02-29 23:59:59.999999'",
    "seconds <= TIMESTAMP'2024-02-29 23:59:58.5 UTC'",
    "p = 0.25",
    "p > -1",
    "p < 0.255",
    "p IN (0.5, 1.25)",
    "`odd name` = 3",
    "CASE WHEN n IS NULL THEN s = 'a' ELSE n = 1 END",
    "coalesce(n, 1) = 1",
    "true",
    "n IS NULL AND false",
]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", pytest.param("UTC", marks=pytest.mark.deep)])
@pytest.mark.usefixtures("quick")
def test_every_predicate_keeps_the_rows_that_spark_keeps(sql: Sql, zone: str):
    sql.yard.create_table("a.t", ROWS)
    sql.yard.table("a.t").append(ROWS.slice(0, 9))
    sql.frame("SELECT * FROM yard.a.t").coalesce(1).write.parquet(str(sql.root / "copy"))
    sql.spark.read.parquet(str(sql.root / "copy")).createOrReplaceTempView("copy")
    select = "SELECT {i} i, count(`odd name`) c, sum(`odd name`) s FROM {table} WHERE {predicate}"

    def found(table: str) -> list[tuple]:
        parts = [
            select.format(i=i, table=table, predicate=predicate)
            for i, predicate in enumerate(PREDICATES)
        ]
        return sorted(sql(" UNION ALL ".join(parts)))

    sql.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for got, wanted in zip(found("yard.a.t"), found("copy"), strict=True):
            assert got == wanted, PREDICATES[got[0]]
    finally:
        sql.spark.conf.set("spark.sql.session.timeZone", "UTC")


def pushed(sql: Sql, predicate: str) -> bool:
    return not re.search(r"\bFilter\b", sql.plan(f"SELECT n FROM yard.a.t WHERE {predicate}"))


def test_what_lance_and_spark_agree_on_is_pushed(sql: Sql):
    sql.yard.create_table("a.t", ROWS)
    for predicate in (
        "n IN (1, 5)",
        "n > 0 OR s LIKE 'a%'",
        "NOT b",
        "p < 0.25",
        "d > '2024-02-01'",
    ):
        assert pushed(sql, f"({predicate}) AND n IS NOT NULL"), predicate
    for predicate in ("x > 0", "upper(s) = 'A'", "n + 1 = 2", "seconds > now()"):
        assert not pushed(sql, predicate), predicate


def test_only_columns_that_are_needed_are_read(sql: Sql):
    sql.yard.create_table("a.t", ROWS)
    plan = sql.plan("SELECT n FROM yard.a.t WHERE s = 'a'")
    assert "[n#" in plan
    assert "small" not in plan


def test_a_limit_is_passed_on_and_reads_no_more_fragments_than_needed(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION(4) */ id FROM range(400)")
    assert "first=7" in sql.plan("SELECT * FROM yard.a.t LIMIT 7")
    assert len(sql("SELECT * FROM yard.a.t LIMIT 7")) == 7
    assert len(sql("SELECT * FROM yard.a.t WHERE id % 2 = 0 LIMIT 150")) == 150
    assert len(sql("SELECT * FROM yard.a.t WHERE id > 380 LIMIT 50")) == 19
    frame = sql.frame("SELECT _fragment FROM yard.a.t LIMIT 7")
    assert len({row[0] for row in frame.collect()}) == 1


def test_a_limit_ends_no_python_worker(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION(4) */ id FROM range(400)")
    assert len(sql("SELECT id FROM yard.a.t")) == 400
    before = descendants(sql)
    for _ in range(3):
        assert len(sql("SELECT id FROM yard.a.t LIMIT 7")) == 7
    assert descendants(sql) == before


def descendants(sql: Sql) -> set[int]:
    """The processes that Spark has started."""
    jvm: Any = sql.spark._jvm
    found = jvm.java.lang.ProcessHandle.current().descendants().toArray()
    return {each.pid() for each in found}


def test_rows_are_counted_without_reading_them(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT id FROM range(100)")
    for statement, rows in (
        ("SELECT count(*) FROM yard.a.t", 100),
        ("SELECT count(*), count(1) FROM yard.a.t WHERE id >= 90", 10),
        ("SELECT count(*) FROM yard.a.t VERSION AS OF 1", 100),
    ):
        assert "LocalTableScan" in sql.plan(statement)
        assert sql(statement)[0][0] == rows
    assert sql.one("SELECT count(*) FROM yard.a.t WHERE id % 10 = 0") == 10
    assert sql("SELECT id % 2, count(*) FROM yard.a.t GROUP BY 1 ORDER BY 1") == [(0, 50), (1, 50)]


def test_the_optimizer_knows_how_large_a_table_is(sql: Sql):
    sql("CREATE TABLE yard.a.small AS SELECT id FROM range(10)")
    sql("CREATE TABLE yard.a.large AS SELECT id, uuid() u FROM range(10000)")
    plan = sql.plan("SELECT * FROM yard.a.large JOIN yard.a.small USING (id)")
    assert "BroadcastHashJoin" in plan
    relation = sql.frame("SELECT * FROM yard.a.large")._jdf.queryExecution().optimizedPlan()
    size = int(str(relation.stats().sizeInBytes()))
    assert size == sql.one("SELECT sum(bytes) FROM yard.a.large.fragments")


def test_an_index_tells_which_fragments_to_read(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id FROM range(4000)")
    sql.yard.table("a.t").to_lance().create_scalar_index("id", "BTREE")
    frame = sql.frame("SELECT id FROM yard.a.t WHERE id IN (3, 7)")
    assert frame.rdd.getNumPartitions() == 1
    assert sorted(row.id for row in frame.collect()) == [3, 7]


def test_nested_columns_are_read_whole(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT named_struct('x', id, 'y', id * 2) p FROM range(3)")
    assert sorted(sql.column("SELECT p.y FROM yard.a.t WHERE p.x > 0")) == [2, 4]


def test_moments_in_other_zones_are_compared_rightly(sql: Sql):
    moments = [dt.datetime(2020, 1, 1, hour, tzinfo=dt.UTC) for hour in (0, 1, 2)]
    zoned = pa.array(moments, pa.timestamp("us", "Europe/Berlin"))
    sql.yard.create_table("a.t", pa.table({"id": [0, 1, 2], "t": zoned}))
    assert sql.column("SELECT id FROM yard.a.t WHERE t = timestamp'2020-01-01 01:00:00Z'") == [1]
    assert sql.one("SELECT count(*) FROM yard.a.t WHERE t < timestamp'2020-01-01 01:00:00Z'") == 1
    sql("DELETE FROM yard.a.t WHERE t < timestamp'2020-01-01 01:00:00Z'")
    assert sorted(sql.column("SELECT id FROM yard.a.t")) == [1, 2]
