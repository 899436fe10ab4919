"""The model: a table as a pandas frame, and what conditions and statements mean to it.

Frames are of objects: None is null, and NaN a number. What is unknown in SQL is unknown to pandas,
whose type ``boolean`` has three values.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "n": pa.int64(),
        "s": pa.string(),
        "x": pa.float64(),
        "d": pa.decimal128(10, 2),
        "at": pa.timestamp("us", "UTC"),
    }
)
TYPES = dict(
    zip(
        SCHEMA.names,
        ("BIGINT", "BIGINT", "STRING", "DOUBLE", "DECIMAL(10, 2)", "TIMESTAMP"),
        strict=True,
    )
)
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}


class Condition(NamedTuple):
    """A condition in SQL, with ``{t}`` before each column, and what it says of each row."""

    sql: str
    holds: Callable[[pd.DataFrame], pd.Series]

    def of(self, prefix: str) -> str:
        return self.sql.replace("{t}", prefix)

    def __repr__(self) -> str:
        return self.of("")


class Setting(NamedTuple):
    """A value for a column: in SQL, and of each row and its partner in a merge."""

    column: str
    sql: str
    values: Callable[[pd.DataFrame, pd.DataFrame | None], Sequence[Any]]


class Clause(NamedTuple):
    """One ``WHEN`` of a merge; without settings rows are deleted."""

    condition: Condition | None
    settings: tuple[Setting, ...] = ()


def literal(column: str, value: Any) -> str:
    """A value of a column as SQL writes it."""
    if value is None:
        return f"CAST(NULL AS {TYPES[column]})"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    text = value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)
    return f"CAST('{text}' AS {TYPES[column]})"


def ordered(value: Any) -> Any:
    """A value such that Python compares it as Spark does: NaN is itself, and the largest."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def known(frame: pd.DataFrame, columns: Sequence[str], test: Callable[..., bool]) -> pd.Series:
    """What is true of the values of columns; unknown where one is null."""
    rows = zip(*(frame[column] for column in columns), strict=True)
    return pd.Series(
        [None if any(value is None for value in row) else test(*map(ordered, row)) for row in rows],
        index=frame.index,
        dtype="boolean",
    )


def compared(column: str, sign: str, value: Any) -> Condition:
    test = COMPARISONS[sign]
    return Condition(
        f"{{t}}{column} {sign} {literal(column, value)}",
        lambda frame: known(frame, [column], lambda found: test(found, ordered(value))),
    )


def listed(column: str, values: Sequence[Any]) -> Condition:
    """A condition on a list, whose last value may be null: nothing is certainly not in it."""
    there = [ordered(value) for value in values if value is not None]

    def holds(frame: pd.DataFrame) -> pd.Series:
        found = known(frame, [column], lambda value: value in there)
        return (
            found
            if None not in values
            else found | pd.Series(None, index=frame.index, dtype="boolean")
        )

    listing = ", ".join(literal(column, value) for value in values)
    return Condition(f"{{t}}{column} IN ({listing})", holds)


def is_null(column: str) -> Condition:
    return Condition(
        f"{{t}}{column} IS NULL",
        lambda frame: frame[column].map(lambda value: value is None).astype("boolean"),
    )


def same(column: str, value: Any) -> Condition:
    """An equality that is never unknown."""
    wanted = ordered(value)

    def holds(frame: pd.DataFrame) -> pd.Series:
        found = [ordered(each) == wanted for each in frame[column]]
        return pd.Series(found, index=frame.index, dtype="boolean")

    return Condition(f"{{t}}{column} <=> {literal(column, value)}", holds)


def negated(inner: Condition) -> Condition:
    return Condition(f"NOT ({inner.sql})", lambda frame: ~inner.holds(frame))


def both(left: Condition, right: Condition) -> Condition:
    return Condition(
        f"({left.sql} AND {right.sql})", lambda frame: left.holds(frame) & right.holds(frame)
    )


def either(left: Condition, right: Condition) -> Condition:
    return Condition(
        f"({left.sql} OR {right.sql})", lambda frame: left.holds(frame) | right.holds(frame)
    )


@dataclass
class Model:
    """A table; each change to it returns the statement that is to do the same."""

    frame: pd.DataFrame

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> Model:
        return cls(frame_of(rows))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.frame.itertuples(index=False, name=None)]

    def update(self, where: Condition, settings: Sequence[Setting]) -> str:
        self.frame = changed(self.frame, None, [Clause(where, tuple(settings))])
        return f"UPDATE yard.a.t SET {assigned(settings, '')} WHERE {where.of('')}"

    def delete(self, where: Condition) -> str:
        self.frame = changed(self.frame, None, [Clause(where)])
        return f"DELETE FROM yard.a.t WHERE {where.of('')}"

    def merge(
        self,
        source: Sequence[Sequence[Any]],
        on: Condition | None,
        matched: Sequence[Clause],
        missing: Sequence[Condition | None],
        others: Sequence[Clause],
    ) -> str:
        """Merge rows by their ids, of which the source has each once."""
        given = frame_of(source)
        places = {value: i for i, value in enumerate(given["id"]) if value is not None}
        partners = self.frame["id"].map(places.get, na_action=None)
        fits = partners.notna()
        if on is not None:
            fits &= on.holds(self.frame).fillna(False).astype(bool)
        pairs = given.iloc[partners[fits].astype(int)].set_axis(self.frame.index[fits])
        new = given.drop(index=partners[fits].astype(int).unique())
        first = pd.Series(False, index=new.index)
        for condition in missing:
            first |= true(condition, new)
        self.frame = pd.concat(
            [
                changed(self.frame[fits], pairs, matched),
                changed(self.frame[~fits], None, others),
                new[first],
            ],
            ignore_index=True,
        )
        return merge_statement(source, on, matched, missing, others)


def frame_of(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    return pd.DataFrame([*rows], columns=SCHEMA.names, dtype=object)


def true(condition: Condition | None, frame: pd.DataFrame) -> pd.Series:
    """The rows of which a condition, or none, is true: neither false nor unknown."""
    if condition is None:
        return pd.Series(True, index=frame.index)
    return condition.holds(frame).fillna(False).astype(bool)


def changed(
    frame: pd.DataFrame, partners: pd.DataFrame | None, clauses: Sequence[Clause]
) -> pd.DataFrame:
    """What becomes of rows: the first clause that holds decides."""
    open_rows, left = pd.Series(True, index=frame.index), frame.copy()
    for condition, settings in clauses:
        chosen = open_rows & true(condition, frame)
        open_rows &= ~chosen
        if not settings:
            left = left.drop(index=frame.index[chosen])
        for setting in settings:
            values = pd.Series(setting.values(frame, partners), index=frame.index, dtype=object)
            left.loc[chosen[chosen].index, setting.column] = values[chosen]
    return left


def assigned(settings: Sequence[Setting], prefix: str) -> str:
    return ", ".join(f"{each.column} = {each.sql.replace('{t}', prefix)}" for each in settings)


def merge_statement(
    source: Sequence[Sequence[Any]],
    on: Condition | None,
    matched: Sequence[Clause],
    missing: Sequence[Condition | None],
    others: Sequence[Clause],
) -> str:
    rows = [
        f"({', '.join(literal(*pair) for pair in zip(SCHEMA.names, row, strict=True))})"
        for row in source
    ]
    named = f"{', '.join(rows)} AS v({', '.join(SCHEMA.names)})"
    parts = [
        f"MERGE INTO yard.a.t t USING (SELECT * FROM VALUES {named}) u ON t.id = u.id",
        f"AND {on.of('t.')}" if on is not None else "",
        *(when("MATCHED", "t.", *clause) for clause in matched),
        *(f"WHEN NOT MATCHED {and_if(each, 'u.')} THEN INSERT *" for each in missing),
        *(when("NOT MATCHED BY SOURCE", "t.", *clause) for clause in others),
    ]
    return " ".join(filter(None, parts))


def when(kind: str, prefix: str, condition: Condition | None, settings: Sequence[Setting]) -> str:
    deed = f"UPDATE SET {assigned(settings, prefix)}" if settings else "DELETE"
    return f"WHEN {kind} {and_if(condition, prefix)} THEN {deed}"


def and_if(condition: Condition | None, prefix: str) -> str:
    return "" if condition is None else f"AND {condition.of(prefix)}"


def values_of(first: dt.datetime) -> list[tuple[Any, ...]]:
    """Some rows with everything that is particular about values."""
    numbers = [None, 0.0, -0.0, math.nan, math.inf, -math.inf, 1.5]
    texts = [None, "", "a", "b", "it's", "ä\\", "100%"]
    return [
        (
            None if i == 5 else i,
            None if i % 4 == 0 else i % 5,
            texts[i % 7],
            numbers[i * 3 % 7],
            None if i % 5 == 0 else decimal.Decimal(i * 25 - 200).scaleb(-2),
            None if i % 6 == 1 else first + dt.timedelta(microseconds=i % 9),
        )
        for i in range(18)
    ]
