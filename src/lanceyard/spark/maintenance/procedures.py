"""Maintenance as procedures of SQL: ``CALL yard.system.compact(table => 'shop')``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from lanceyard import errors
from lanceyard.spark.maintenance import operations
from lanceyard.spark.maintenance.operations import read_option
from lanceyard.spark.maintenance.reports import Row, rows_of
from lanceyard.spark.sql.procedures import TABLE, Call, Parameter, Procedure, register

RESULT = "table string, outcome string, tasks int, fragments bigint, bytes bigint, version bigint"
"""The columns of every result, as Spark SQL writes them: a row for each table."""
AGE, OPTIONS = "older_than_hours", "options"


def _register(name: str, description: str, *parameters: Parameter) -> None:
    known = {parameter.name for parameter in parameters}

    def run(call: Call) -> Iterator[Row]:
        given, options = _keywords(call.arguments)
        twice = sorted(options.keys() & {*known, "catalog", "older_than", "progress"})
        if twice:
            raise errors.InvalidInputError(f"{twice[0]!r} of {name} does not belong into options")
        carry_out = getattr(operations, name)
        return rows_of(carry_out(call.spark, catalog=call.tables.catalog, **given, **options))

    register(Procedure(name, description, parameters, RESULT, run))


def _keywords(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of SQL as those of a function: those that it has, and its options."""
    found = dict(arguments)
    if AGE in found:
        found["older_than"] = timedelta(hours=found.pop(AGE))
    options: Mapping[str, str | None] = found.pop(OPTIONS, {})
    return found, {name: read_option(text) for name, text in options.items() if text is not None}


def _optional(name: str, kind: str, description: str) -> Parameter:
    return Parameter(name, kind, description, required=False)


_ANY = _optional("table", "string", "a table, or a namespace with all below; all unless said")
_DRY_RUN = _optional("dry_run", "boolean", "change nothing, and tell what would be done")
_MORE = _optional(OPTIONS, "map<string,string>", "more parameters of the function of that name")
_TASKS = _optional("tasks", "int", "how many tasks share the work")
_AGE = _optional(AGE, "double", "how old it has to be")

_register("compact", "Make large fragments of small ones", _ANY, _MORE, _DRY_RUN)
_register(
    "index",
    "Build an index on a column",
    TABLE,
    Parameter("column", "string", "what to index"),
    _optional("kind", "string", "BTREE unless said"),
    _optional("name", "string", "of the index; the column's with _idx unless said"),
    _optional("replace", "boolean", "whether an index of that name may go"),
    _TASKS,
    _MORE,
    _DRY_RUN,
)
_register(
    "refresh",
    "Let indexes cover new fragments",
    _ANY,
    _optional("names", "array<string>", "of indexes; all unless said"),
    _TASKS,
    _DRY_RUN,
)
_register(
    "backfill",
    "Compute columns by SQL expressions",
    TABLE,
    Parameter("values", "map<string,string>", "expressions by the names of columns"),
    _optional("only_missing", "boolean", "only where fragments lack the column"),
    _optional("restart", "boolean", "forget what an earlier run has computed"),
    _TASKS,
    _DRY_RUN,
)
_register(
    "expire",
    "Remove old versions",
    _ANY,
    _AGE,
    _optional("keep", "int", "how many of the newest versions stay"),
    _optional("keep_history", "boolean", "keep what states of the catalog show"),
    _DRY_RUN,
)
_register("sweep", "Delete files that no version refers to", _ANY, _AGE, _DRY_RUN)
_register("migrate", "Take tables found by directories into the manifest", _DRY_RUN)
