"""Procedures: the operations of maintenance by name, for ``CALL yard.system.<name>(…)``.

All of it is plain data. Values come as Spark has them (texts, numbers, flags, arrays and maps), and
results go back as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lanceyard import errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lanceyard.spark.maintenance.reports import Report
    from lanceyard.spark.maintenance.scope import Catalog

RESULT = "table string, outcome string, tasks int, fragments bigint, bytes bigint, version bigint"
"""The columns of every result, in Spark's words: a row for each table."""
Row = tuple[str, str, int, int, int, int | None]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a procedure."""

    name: str
    type: str
    """In Spark's words."""
    required: bool = False
    read: Callable[[Any], Any] = lambda value: value
    """From Spark's value to what the function takes."""
    argument: str | None = None
    """What the function calls it, if it calls it differently."""


@dataclass(frozen=True)
class Procedure:
    """An operation that can be called by name."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    result: str = RESULT

    def call(
        self, spark: SparkSession, catalog: Catalog, arguments: Mapping[str, Any]
    ) -> list[Row]:
        """Call it with arguments by their names, and return the rows of its result.

        Raises
        ------
        InvalidInputError
            An argument is missing, or unknown.
        """
        from lanceyard.spark.maintenance import operations

        report = getattr(operations, self.name)(spark, catalog=catalog, **self._read(arguments))
        return rows_of(report)

    def _read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {each.name: each for each in self.parameters}
        given = {name: value for name, value in arguments.items() if value is not None}
        unknown = sorted(given.keys() - known.keys())
        if unknown:
            raise errors.InvalidInputError(
                f"{self.name} has no parameter {unknown[0]!r}: there are {', '.join(known)}"
            )
        missing = [
            each.name for each in self.parameters if each.required and each.name not in given
        ]
        if missing:
            raise errors.InvalidInputError(f"{self.name} needs parameter {missing[0]!r}")
        read: dict[str, Any] = {}
        for name, value in given.items():
            parameter = known[name]
            if parameter.argument == "":
                read |= parameter.read(value)
            else:
                read[parameter.argument or name] = parameter.read(value)
        return read


def rows_of(report: Report) -> list[Row]:
    """A report as the rows of a result."""
    planned = {each.table: each for each in report.plan.tables}
    told = {each.table: (str(each.what), each.version) for each in report.tables}
    if report.dry_run:
        told = {name: (f"would {each.what}", None) for name, each in planned.items()}
    told |= {name: (f"failed: {why}", None) for name, why in report.failures}
    rows: list[Row] = []
    for name, (outcome, version) in sorted(told.items()):
        plan = planned.get(name)
        sizes = (plan.tasks, plan.fragments, plan.size) if plan else (0, 0, 0)
        rows.append((name, outcome, *sizes, version))
    return rows


def _hours(value: float) -> timedelta:
    return timedelta(hours=float(value))


def _options(value: Mapping[str, str]) -> dict[str, Any]:
    """Options as SQL maps them: texts, of which some mean numbers or flags."""
    return {name: _option(text) for name, text in value.items()}


def _option(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_ANY = Parameter("table", "string")
_TABLE = Parameter("table", "string", required=True)
_DRY_RUN = Parameter("dry_run", "boolean")
_MORE = Parameter("options", "map<string,string>", read=_options, argument="")
_TASKS = Parameter("tasks", "int")
_AGE = Parameter("older_than_hours", "double", read=_hours, argument="older_than")

PROCEDURES: dict[str, Procedure] = {
    each.name: each
    for each in (
        Procedure("compact", "make large fragments of small ones", (_ANY, _MORE, _DRY_RUN)),
        Procedure(
            "index",
            "build an index on a column",
            (
                _TABLE,
                Parameter("column", "string", required=True),
                Parameter("kind", "string"),
                Parameter("name", "string"),
                Parameter("replace", "boolean"),
                _TASKS,
                _MORE,
                _DRY_RUN,
            ),
        ),
        Procedure(
            "refresh",
            "let indexes cover new fragments",
            (_ANY, Parameter("names", "array<string>", read=list), _TASKS, _DRY_RUN),
        ),
        Procedure(
            "backfill",
            "compute columns by SQL expressions",
            (
                _TABLE,
                Parameter("values", "map<string,string>", required=True, read=dict),
                Parameter("only_missing", "boolean"),
                Parameter("restart", "boolean"),
                _TASKS,
                _DRY_RUN,
            ),
        ),
        Procedure(
            "expire",
            "remove old versions",
            (
                _ANY,
                _AGE,
                Parameter("keep", "int"),
                Parameter("keep_history", "boolean"),
                _DRY_RUN,
            ),
        ),
        Procedure("sweep", "delete files that no version refers to", (_ANY, _AGE, _DRY_RUN)),
        Procedure("migrate", "take tables found by directories into the manifest", (_DRY_RUN,)),
    )
}
"""All operations, by name."""
