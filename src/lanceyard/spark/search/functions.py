"""Table functions of SQL: ``vector_search``, ``text_search`` and ``hybrid_search``.

Spark asks a function twice. When a query is analysed, on the driver, the table is looked up and a
version of it chosen. When it runs, a task opens that version and searches it, once for each row
that it is joined with.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.functions import udtf
from pyspark.sql.types import ArrayType, DataType, NumericType, StringType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from lanceyard import errors
from lanceyard.namespace import CatalogName
from lanceyard.spark.scan import Scan
from lanceyard.spark.search.catalogs import Catalogs
from lanceyard.spark.search.queries import (
    answer,
    check,
    found_schema,
    in_spark,
    names_of,
    pinned,
    read_query,
)
from lanceyard.spark.worker import spare_imports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")
_FIXED = ("table", "columns", "version")
"""Arguments that say what the columns are, so that no two rows can have different ones."""


@dataclass(frozen=True)
class Function:
    """A table function: its name, and the arguments it takes in this order."""

    name: str
    needed: tuple[str, ...]
    """What has to be given. It comes first, and is never null."""
    optional: tuple[str, ...]

    @property
    def vectors(self) -> bool:
        """Whether it looks for a vector."""
        return "vector" in self.needed

    @property
    def words(self) -> bool:
        """Whether it looks for words."""
        return "words" in self.needed

    def bind(self, positional: Sequence[_T], named: Mapping[str, _T]) -> dict[str, _T]:
        """Arguments by their names.

        Raises
        ------
        InvalidInputError
            There are too many, or too few, or one that the function does not have.
        """
        takes = (*self.needed, *self.optional)
        if len(positional) > len(takes):
            raise self._wrong(f"takes at most {len(takes)} arguments, not {len(positional)}")
        given = dict(zip(takes, positional, strict=False))
        for name, value in named.items():
            if name in given:
                raise self._wrong(f"got its argument {name} twice")
            if name not in takes:
                near = difflib.get_close_matches(name, takes, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise self._wrong(f"has no argument {name}, only {', '.join(takes)}{hint}")
            given[name] = value
        for name in self.needed:
            if name not in given:
                raise self._wrong(f"needs its argument {name}")
        return given

    def _wrong(self, what: str) -> errors.InvalidInputError:
        return errors.InvalidInputError(f"{self.name} {what}")


_OF_VECTORS = ("nprobes", "refine_factor", "metric", "exact")
FUNCTIONS = (
    Function(
        "vector_search",
        ("table", "vector"),
        ("k", "column", "filter", "columns", *_OF_VECTORS, "version"),
    ),
    Function(
        "text_search",
        ("table", "words"),
        ("k", "text_column", "filter", "columns", "version"),
    ),
    Function(
        "hybrid_search",
        ("table", "vector", "words"),
        ("k", "column", "text_column", "filter", "columns", *_OF_VECTORS, "version"),
    ),
)


@dataclass
class Plan(AnalyzeResult):
    """What the analysis of a call found out, for the tasks that carry it out."""

    scan: Scan | None = None
    columns: tuple[str, ...] = ()
    """Those of the table that are read."""


def register(
    spark: SparkSession,
    catalog: CatalogName | None = None,
    *,
    catalogs: Mapping[str, CatalogName] | None = None,
) -> None:
    """Give a session the table functions ``vector_search``, ``text_search`` and ``hybrid_search``.

    Parameters
    ----------
    spark
        A session, classic or of Spark Connect. Functions that it has under these names go.
    catalog
        Where tables are that are named without a catalog: ``'shop.fruits'``.
    catalogs
        Catalogs by the names that tables begin with: ``'yard.shop.fruits'``. They are what
        `lanceyard.spark.session` takes, too.

    Raises
    ------
    InvalidInputError
        No catalog was named.
    """
    known = Catalogs.read(catalog, catalogs)
    for function in FUNCTIONS:
        # Its version is pinned, so the same call finds the same.
        made: Any = udtf(handler(function, known), useArrow=False)
        spark.udtf.register(function.name, made.asDeterministic())


def handler(function: Function, catalogs: Catalogs) -> type:
    """The class that Spark runs for a function.

    It is made here, and thus pickled with all that it refers to: `analyze` gets nothing else.
    """

    class Handler:
        def __init__(self, plan: Plan) -> None:
            self._plan = plan

        @staticmethod
        def analyze(*positional: AnalyzeArgument, **named: AnalyzeArgument) -> Plan:
            return analyzed(function, catalogs, function.bind(positional, named))

        def eval(self, *positional: Any, **named: Any) -> Iterator[Any]:
            return rows(function, self._plan, function.bind(positional, named))

    Handler.__name__ = function.name
    return Handler


def analyzed(function: Function, catalogs: Catalogs, given: Mapping[str, AnalyzeArgument]) -> Plan:
    """Look up the table of a call, choose its version, and check what is known already.

    Raises
    ------
    LanceNamespaceError
        There is no such table, or what is asked for does not fit it.
    """
    for name in _FIXED:
        if name in given and not given[name].isConstantExpression:
            raise errors.InvalidInputError(f"{name} must be a constant, the same for all rows")
    known = {name: value.value for name, value in given.items() if value.isConstantExpression}
    _check_types(given)
    _check_nulls(function, known)
    reference = catalogs.table(str(known["table"]))
    scan = pinned(reference, known.get("columns"), known.get("version"))
    columns = names_of(scan)
    check(scan, read_query(known, columns), vectors=function.vectors, words=function.words)
    schema = found_schema(scan, vectors=function.vectors, words=function.words)
    return Plan(schema, scan=scan, columns=tuple(columns))


def rows(function: Function, plan: Plan, given: Mapping[str, Any]) -> Iterator[Any]:
    """The rows that a call finds, the best ones first."""
    assert plan.scan is not None
    _check_nulls(function, given)
    spare_imports()
    found = answer(plan.scan, read_query(given, plan.columns))
    yield from ArrowTableToRowsConversion.convert(in_spark(found, plan.schema), plan.schema)


def _check_types(given: Mapping[str, AnalyzeArgument]) -> None:
    for name, (is_right, what) in _TYPES.items():
        if name in given and not is_right(given[name].dataType):
            shown = given[name].dataType.simpleString()
            raise errors.InvalidInputError(f"{name} must be {what}, but is {shown}")


def _check_nulls(function: Function, given: Mapping[str, Any]) -> None:
    for name in function.needed:
        if name in given and given[name] is None:
            raise errors.InvalidInputError(
                f"{name} of {function.name} is null: leave such rows out by WHERE … IS NOT NULL"
            )


def _is_vector(kind: DataType) -> bool:
    return isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType)


def _is_names(kind: DataType) -> bool:
    return isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType)


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, StringType)


_TYPES = {
    "table": (_is_text, "a name such as 'yard.shop.fruits'"),
    "vector": (_is_vector, "an array of numbers"),
    "words": (_is_text, "a string"),
    "columns": (_is_names, "an array of names, such as array('id')"),
}
