"""Random UPDATEs, MERGEs and DELETEs do what they do to a pandas frame."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.spark.sql.conftest import Sql
from tests.spark.sql.model import (
    COMPARISONS,
    SCHEMA,
    Clause,
    Condition,
    Model,
    Setting,
    both,
    compared,
    either,
    is_null,
    known,
    listed,
    literal,
    negated,
    same,
    values_of,
)

MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999996, ZoneInfo("UTC"))
FIRST = values_of(MOMENT)
FRAGMENTS = 3
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(0, 24),
    "n": st.integers(0, 4),
    "s": st.sampled_from(["", "a", "b", "c", "it's", "ä\\", "100%"]),
    "x": st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, 2.0]),
    "d": st.integers(-300, 300).map(lambda cents: decimal.Decimal(cents).scaleb(-2)),
    "at": st.integers(0, 9).map(lambda after: MOMENT + dt.timedelta(microseconds=after)),
}
COLUMNS = st.sampled_from(SCHEMA.names)


def nullable(column: str) -> st.SearchStrategy[Any]:
    return st.none() | VALUES[column]


def remainder(rest: int) -> Condition:
    """What Lance is not trusted with, so that rows pass through Spark."""
    return Condition(
        f"{{t}}id % 3 = {rest}", lambda frame: known(frame, ["id"], lambda n: n % 3 == rest)
    )


LEAVES = st.one_of(
    COLUMNS.flatmap(
        lambda column: st.builds(
            compared, st.just(column), st.sampled_from([*COMPARISONS]), VALUES[column]
        )
    ),
    COLUMNS.flatmap(
        lambda column: st.builds(
            listed, st.just(column), st.lists(nullable(column), min_size=2, max_size=4)
        )
    ),
    COLUMNS.flatmap(lambda column: st.builds(same, st.just(column), nullable(column))),
    st.builds(is_null, COLUMNS),
    st.just(Condition("{t}n < {t}id", lambda frame: known(frame, ["n", "id"], lambda n, i: n < i))),
    st.builds(remainder, st.integers(0, 2)),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(negated, inner), st.builds(both, inner, inner), st.builds(either, inner, inner)
    ),
    max_leaves=4,
)


def constant(column: str, value: Any) -> Setting:
    return Setting(column, literal(column, value), lambda frame, _: [value] * len(frame))


def added(value: Any) -> Any:
    return None if value is None else value + 1


CHANGES = st.one_of(
    COLUMNS.flatmap(lambda column: st.builds(constant, st.just(column), nullable(column))),
    st.just(Setting("n", "{t}n + 1", lambda frame, _: [*map(added, frame["n"])])),
    st.just(Setting("d", "{t}d + 1", lambda frame, _: [*map(added, frame["d"])])),
)
TAKEN = COLUMNS.map(
    lambda column: Setting(column, f"u.{column}", lambda _, partners: [*partners[column]])
)


def several(change: st.SearchStrategy[Setting]) -> st.SearchStrategy[tuple[Setting, ...]]:
    found = st.lists(change, min_size=1, max_size=3, unique_by=lambda setting: setting.column)
    return found.map(tuple)


def clauses(change: st.SearchStrategy[Setting]) -> st.SearchStrategy[list[Clause]]:
    """Clauses of which only the last one may have no condition."""
    deed = st.just(()) | several(change)
    last = st.builds(Clause, st.none() | CONDITIONS, deed)
    return st.tuples(st.lists(st.builds(Clause, CONDITIONS, deed), max_size=1), last).map(
        lambda found: [*found[0], found[1]]
    )


ROWS = st.lists(
    st.tuples(*map(nullable, SCHEMA.names)), min_size=1, max_size=6, unique_by=lambda row: row[0]
)
STATEMENTS = st.one_of(
    st.tuples(st.just("update"), CONDITIONS, several(CHANGES)),
    st.tuples(st.just("delete"), CONDITIONS),
    st.tuples(
        st.just("merge"),
        ROWS,
        st.none() | CONDITIONS,
        clauses(CHANGES | TAKEN),
        st.lists(CONDITIONS, max_size=1) | st.just([None]),
        st.just([]) | clauses(CHANGES),
    ),
)


@pytest.fixture
def table(sql: Sql) -> Sql:
    """The table before any statement, of three fragments."""
    rows = pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in FIRST], SCHEMA
    )
    made = sql.yard.create_table("a.t", rows.slice(0, 6))
    for part in range(1, FRAGMENTS):
        made.append(rows.slice(6 * part, 6))
    return sql


def check(sql: Sql, statements: Sequence[tuple[Any, ...]]) -> None:
    """Carry out statements on the table and on the model, and compare after each."""
    table = sql.yard.table("a.t").restore(FRAGMENTS)
    model = Model.of(FIRST)
    for kind, *parts in statements:
        statement = getattr(model, kind)(*parts)
        sql(statement)
        found = [tuple(row.values()) for row in table.read().to_pylist()]
        assert sorted(map(repr, found)) == sorted(map(repr, model.rows)), statement


# A statement is told as it is: to look for a shorter one would take minutes.
QUIET = {
    "deadline": None,
    "phases": [Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


@pytest.mark.usefixtures("quick")
@given(statement=STATEMENTS)
@settings(max_examples=30, derandomize=True, database=None, **QUIET)
def test_a_statement_does_what_it_does_to_a_frame(table: Sql, statement):
    check(table, [statement])


@pytest.mark.deep
@pytest.mark.usefixtures("quick")
@given(statements=st.lists(STATEMENTS, min_size=2, max_size=4))
@settings(max_examples=300, database=None, **QUIET)
def test_many_statements_do_what_they_do_to_a_frame(table: Sql, statements):
    check(table, statements)
