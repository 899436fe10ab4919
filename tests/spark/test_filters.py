"""Filters: what Lance keeps is what Spark would keep."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import lance
import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from lanceyard.spark.filters import predicate

MOMENT = datetime(2024, 2, 29, 12, 30, 0, 250_000, tzinfo=UTC)
NEGATIVE_NAN = math.copysign(math.nan, -1)
TABLE = pa.table(
    {
        "row": pa.array(range(5)),
        "i": pa.array([1, 2, None, 3, -4], pa.int32()),
        "u": pa.array([1, 2, None, 3, 4], pa.uint64()),
        "f": pa.array([0.0, -0.0, None, math.nan, 2.5]),
        "g": pa.array([1.0, NEGATIVE_NAN, None, math.nan, math.inf], pa.float32()),
        "s": pa.array(["a'b", "", None, "%_x", "äöü"]),
        "large": pa.array(["a", "b", None, "c", "d"], pa.large_string()),
        "b": pa.array([True, False, None, True, False]),
        "day": pa.array([date(2024, 2, 29), date(1969, 1, 1), None, date(2030, 1, 1), None]),
        "at": pa.array(
            [MOMENT, None, None, MOMENT.replace(year=1960), None], pa.timestamp("us", "UTC")
        ),
        "ms": pa.array(
            [MOMENT, None, None, MOMENT.replace(year=1960), None], pa.timestamp("ms", "UTC")
        ),
        "naive": pa.array(
            [MOMENT.replace(tzinfo=None), None, None, None, None], pa.timestamp("us")
        ),
        "d": pa.array(
            [Decimal("1.50"), Decimal("-2.25"), None, Decimal("0.00"), None], pa.decimal128(10, 2)
        ),
        "with space": pa.array([1, 2, 3, 4, 5]),
        "list": pa.array([[1], [], None, [2], [3]]),
    }
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return lance.write_dataset(TABLE, str(tmp_path_factory.mktemp("filters") / "t.lance"))


def kept(dataset, offered):
    found = predicate(offered, dataset.schema)
    assert found is not None
    return dataset.to_table(columns=["row"], filter=found.sql)["row"].to_pylist(), found.is_exact


@pytest.mark.parametrize(
    ("offered", "rows"),
    [
        (EqualTo(("i",), 2), [1]),
        (Not(EqualTo(("i",), 2)), [0, 3, 4]),
        (GreaterThan(("i",), 1), [1, 3]),
        (LessThanOrEqual(("i",), 1), [0, 4]),
        (In(("i",), (1, 3, 99)), [0, 3]),
        (Not(In(("i",), (1, 3))), [1, 4]),
        (EqualNullSafe(("i",), None), [2]),
        (EqualNullSafe(("i",), 3), [3]),
        (Not(EqualNullSafe(("i",), 3)), [0, 1, 2, 4]),
        (IsNull(("i",)), [2]),
        (IsNotNull(("f",)), [0, 1, 3, 4]),
        (Not(IsNull(("f",))), [0, 1, 3, 4]),
        (IsNull(("list",)), [2]),
        (EqualTo(("s",), "a'b"), [0]),
        (StringContains(("s",), "%_"), [3]),
        (StringStartsWith(("s",), "ä"), [4]),
        (StringEndsWith(("s",), "'b"), [0]),
        (Not(StringContains(("s",), "ö")), [0, 1, 3]),
        (EqualTo(("large",), "c"), [3]),
        (EqualTo(("b",), True), [0, 3]),
        (EqualTo(("day",), date(1969, 1, 1)), [1]),
        (EqualTo(("at",), MOMENT), [0]),
        (LessThan(("at",), MOMENT), [3]),
        (GreaterThanOrEqual(("ms",), MOMENT), [0]),
        (EqualTo(("naive",), MOMENT.replace(tzinfo=None)), [0]),
        (EqualTo(("d",), Decimal("-2.25")), [1]),
        (GreaterThan(("d",), Decimal(1)), [0]),
        (EqualTo(("with space",), 4), [3]),
    ],
    ids=str,
)
def test_lance_keeps_the_rows_that_spark_keeps(dataset, offered, rows):
    assert kept(dataset, offered) == (rows, True)


@pytest.mark.parametrize(
    ("offered", "rows"),
    [
        (EqualTo(("f",), 0.0), {0, 1}),
        (EqualTo(("f",), -0.0), {0, 1}),
        (GreaterThan(("f",), 1.0), {3, 4}),
        (LessThan(("f",), 1.0), {0, 1}),
        (GreaterThan(("g",), 5.0), {1, 3, 4}),
        (GreaterThanOrEqual(("g",), 1.0), {0, 1, 3, 4}),
        (In(("f",), (2.5, 7.0)), {4}),
    ],
    ids=str,
)
def test_of_floats_lance_keeps_at_least_what_spark_keeps_and_spark_looks_again(
    dataset, offered, rows
):
    found, is_exact = kept(dataset, offered)
    assert rows <= set(found)
    assert not is_exact


@pytest.mark.parametrize(
    "offered",
    [
        Not(EqualTo(("f",), 2.5)),
        EqualTo(("f",), math.nan),
        EqualTo(("u",), Decimal(2)),
        EqualTo(("i",), "2"),
        EqualTo(("i",), None),
        In(("i",), (1, None)),
        EqualTo(("d",), Decimal("1.505")),
        EqualTo(("s",), "a\0b"),
        EqualTo(("struct", "field"), 1),
        EqualTo(("nosuch",), 1),
        EqualTo(("list",), [1]),
    ],
    ids=str,
)
def test_what_lance_might_see_differently_stays_in_spark(dataset, offered):
    assert predicate(offered, dataset.schema) is None
