"""Random UPDATEs, MERGEs and DELETEs do what they do to a pandas frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spark.sql.conftest import Sql

Truth = bool | None
Row = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """A condition in SQL, and as a function of a row with three values."""

    sql: str
    holds: Callable[[Row], Truth]

    def __repr__(self) -> str:
        return self.sql


def compared(column: str, operator: str, value: Any) -> Condition:
    def holds(row: Row) -> Truth:
        if row[column] is None:
            return None
        return bool(COMPARISONS[operator](row[column], value))

    return Condition(f"{{t}}{column} {operator} {value!r}", holds)


def negated(inner: Condition) -> Condition:
    def holds(row: Row) -> Truth:
        found = inner.holds(row)
        return None if found is None else not found

    return Condition(f"NOT ({inner.sql})", holds)


def both(left: Condition, right: Condition) -> Condition:
    def holds(row: Row) -> Truth:
        found = {left.holds(row), right.holds(row)}
        return False if False in found else None if None in found else True

    return Condition(f"({left.sql} AND {right.sql})", holds)


def either(left: Condition, right: Condition) -> Condition:
    def holds(row: Row) -> Truth:
        found = {left.holds(row), right.holds(row)}
        return True if True in found else None if None in found else False

    return Condition(f"({left.sql} OR {right.sql})", holds)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
}
LEAVES = st.one_of(
    st.builds(compared, st.just("id"), st.sampled_from([*COMPARISONS]), st.integers(0, 24)),
    st.builds(compared, st.just("n"), st.sampled_from([*COMPARISONS]), st.integers(0, 4)),
    st.builds(compared, st.just("s"), st.sampled_from([*COMPARISONS]), st.sampled_from("abc")),
    st.just(Condition("{t}n IS NULL", lambda row: row["n"] is None)),
    # What Lance is not trusted with, so that rows pass through Spark:
    st.builds(
        lambda n: Condition(
            f"{{t}}id % 3 = {n}",
            lambda row: None if row["id"] is None else row["id"] % 3 == n,
        ),
        st.integers(0, 2),
    ),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(negated, inner), st.builds(both, inner, inner), st.builds(either, inner, inner)
    ),
    max_leaves=4,
)
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(["update", "delete", "merge"]), CONDITIONS, CONDITIONS),
    min_size=3,
    max_size=3,
)
SCHEMA = "id long, n long, s string"
FIRST: list[Row] = [
    {"id": i, "n": None if i % 4 == 0 else i % 5, "s": None if i % 7 == 0 else "abc"[i % 3]}
    for i in range(20)
]
SOURCE = range(15, 25)


class Model:
    """A table as a pandas frame."""

    def __init__(self) -> None:
        self.frame = pd.DataFrame(FIRST, dtype=object)

    @property
    def rows(self) -> list[Row]:
        return [
            {key: None if pd.isna(value) else value for key, value in row.items()}
            for row in self.frame.to_dict("records")
        ]

    def become(self, rows: list[Row]) -> None:
        self.frame = pd.DataFrame(rows, columns=["id", "n", "s"], dtype=object)

    def update(self, where: Condition) -> str:
        self.become([row | {"s": "b"} if where.holds(row) else row for row in self.rows])
        return f"UPDATE yard.a.t SET s = 'b' WHERE {where.sql.format(t='')}"

    def delete(self, where: Condition) -> str:
        self.become([row for row in self.rows if not where.holds(row)])
        return f"DELETE FROM yard.a.t WHERE {where.sql.format(t='')}"

    def merge(self, deleted: Condition, updated: Condition) -> str:
        """Merge numbers: matched rows are deleted or updated, others inserted or marked."""
        kept = []
        for row in self.rows:
            is_matched = row["id"] in SOURCE
            if is_matched and deleted.holds(row):
                continue
            changed = row | {"n": 9} if is_matched and updated.holds(row) else row
            is_marked = not is_matched and deleted.holds(row)
            kept.append(row | {"s": "left"} if is_marked else changed)
        known = {row["id"] for row in self.rows}
        kept += [{"id": i, "n": None, "s": "new"} for i in SOURCE if i not in known]
        self.become(kept)
        return (
            f"MERGE INTO yard.a.t t USING (SELECT id FROM range({SOURCE.start}, {SOURCE.stop})) u "
            f"ON t.id = u.id WHEN MATCHED AND {deleted.sql.format(t='t.')} THEN DELETE "
            f"WHEN MATCHED AND {updated.sql.format(t='t.')} THEN UPDATE SET n = 9 "
            "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, 'new') "
            f"WHEN NOT MATCHED BY SOURCE AND {deleted.sql.format(t='t.')} "
            "THEN UPDATE SET s = 'left'"
        )


def check(sql: Sql, statements: list[tuple[str, Condition, Condition]]) -> None:
    """Carry out statements on a new table and on the model, and compare after each."""
    frame = sql.spark.createDataFrame([tuple(row.values()) for row in FIRST], SCHEMA)
    frame.repartition(3).createOrReplaceTempView("first")
    sql("CREATE OR REPLACE TABLE yard.a.t AS SELECT * FROM first")
    model = Model()
    for kind, where, other in statements:
        given = (where, other) if kind == "merge" else (where,)
        statement = getattr(model, kind)(*given)
        sql(statement)
        wanted = sorted(((row["id"], row["n"], row["s"]) for row in model.rows), key=str)
        assert sorted(sql("SELECT id, n, s FROM yard.a.t"), key=str) == wanted, statement


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.usefixtures("quick")
@given(statements=STATEMENTS)
@settings(max_examples=8, derandomize=True, database=None, **QUIET)
def test_statements_do_what_they_do_to_a_frame(sql: Sql, statements):
    check(sql, statements)


@pytest.mark.deep
@pytest.mark.usefixtures("quick")
@given(statements=STATEMENTS)
@settings(max_examples=300, database=None, **QUIET)
def test_many_statements_do_what_they_do_to_a_frame(sql: Sql, statements):
    check(sql, statements)
