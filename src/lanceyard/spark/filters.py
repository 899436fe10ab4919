"""Filters that Spark offers, as SQL that Lance understands.

A filter is pushed only where Lance and Spark agree on it, type by type; everything else stays in
Spark. What Lance keeps and Spark checks again (floats: the two order NaN differently) is pushed
*and* left in Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
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

COMPARISONS: Mapping[type[Filter], str] = {
    EqualTo: "=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}
MATCHES: Mapping[type[Filter], str] = {
    StringStartsWith: "starts_with",
    StringEndsWith: "ends_with",
    StringContains: "contains",
}


class Predicate(NamedTuple):
    """A condition for Lance."""

    sql: str
    column: str
    is_exact: bool
    """It keeps the very rows that Spark's filter keeps; otherwise at least those."""


def predicate(offered: Filter, schema: pa.Schema) -> Predicate | None:
    """A filter as a condition on a table, or None if Lance cannot be trusted with it."""
    inner = offered.child if isinstance(offered, Not) else offered
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names or "`" in path[0]:
        return None
    (name,) = path
    data_type = schema.field(name).type
    sql = _condition(inner, f"`{name}`", data_type)
    is_exact = not pa.types.is_floating(data_type) or isinstance(inner, IsNull | IsNotNull)
    if sql is None or not isinstance(offered, Not):
        return None if sql is None else Predicate(sql, name, is_exact)
    # The opposite of a condition that keeps too much would keep too little.
    return Predicate(f"NOT ({sql})", name, is_exact) if is_exact else None


def _condition(offered: Filter, column: str, data_type: pa.DataType) -> str | None:
    if isinstance(offered, IsNull):
        return f"{column} IS NULL"
    if isinstance(offered, IsNotNull):
        return f"{column} IS NOT NULL"
    given = getattr(offered, "value", None)
    if isinstance(offered, EqualNullSafe) and given is None:
        return f"{column} IS NULL"
    write = _literals(data_type)
    values = [write(value) for value in (offered.value if isinstance(offered, In) else [given])]
    return None if None in values else _comparison(offered, column, values, data_type)


def _comparison(
    offered: Filter, column: str, values: list[str | None], data_type: pa.DataType
) -> str | None:
    if isinstance(offered, In):
        return f"{column} IN ({', '.join(map(str, values))})"
    (value,) = values
    if isinstance(offered, EqualNullSafe):
        return f"({column} IS NOT NULL AND {column} = {value})"
    if type(offered) in MATCHES:
        return f"{MATCHES[type(offered)]}({column}, {value})"
    if type(offered) not in COMPARISONS:
        return None
    compared = f"{column} {COMPARISONS[type(offered)]} {value}"
    # For Spark every NaN is the largest number; Lance takes a negative one for the smallest.
    upwards = isinstance(offered, GreaterThan | GreaterThanOrEqual)
    return (
        f"({compared} OR isnan({column}))"
        if upwards and pa.types.is_floating(data_type)
        else compared
    )


def _literals(data_type: pa.DataType) -> Callable[[Any], str | None]:
    """How values of a type are written; None for what is compared differently here and there."""
    for is_type, write in WRITERS:
        if is_type(data_type):
            return lambda value: write(value, data_type)
    return lambda _value: None


def _number(value: Any, _type: pa.DataType) -> str | None:
    return str(value) if type(value) is int else None


def _real(value: Any, _type: pa.DataType) -> str | None:
    return repr(value) if isinstance(value, float) and math.isfinite(value) else None


def _truth(value: Any, _type: pa.DataType) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None


def _text(value: Any, _type: pa.DataType) -> str | None:
    if not isinstance(value, str) or "\0" in value:
        return None
    return "'" + value.replace("'", "''") + "'"


def _day(value: Any, _type: pa.DataType) -> str | None:
    return f"date '{value.isoformat()}'" if type(value) is date else None


def _moment(value: Any, _type: pa.DataType) -> str | None:
    if not isinstance(value, datetime):
        return None
    moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return f"timestamp '{moment.isoformat(sep=' ')}'"


def _decimal(value: Any, data_type: pa.DataType) -> str | None:
    exact = Decimal(value) if type(value) is int else value
    if not isinstance(exact, Decimal) or -int(exact.as_tuple().exponent) > data_type.scale:
        return None
    return f"CAST('{exact:f}' AS DECIMAL({data_type.precision}, {data_type.scale}))"


def is_plain_moment(data_type: pa.DataType) -> bool:
    """Whether a type is of moments without a zone, or in UTC: Lance reads others as local time."""
    return bool(pa.types.is_timestamp(data_type)) and data_type.tz in (None, "UTC", "+00:00")


def _is_integer(data_type: pa.DataType) -> bool:
    # Spark knows 64 bits without a sign as decimals.
    return bool(pa.types.is_integer(data_type) and not pa.types.is_uint64(data_type))


WRITERS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str | None]]] = [
    (pa.types.is_boolean, _truth),
    (_is_integer, _number),
    (pa.types.is_float32, _real),
    (pa.types.is_float64, _real),
    (pa.types.is_string, _text),
    (pa.types.is_large_string, _text),
    (pa.types.is_date32, _day),
    (is_plain_moment, _moment),
    (pa.types.is_decimal128, _decimal),
]
