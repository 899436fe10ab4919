"""Procedures: what ``CALL yard.system.<name>(…)`` does.

`PROCEDURES` has them all; other modules add theirs by `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lanceyard import errors
from lanceyard.spark.sql.metadata import answer
from lanceyard.spark.sql.tables import Request, Tables
from lanceyard.yard.names import read_name


@dataclass(frozen=True)
class Parameter:
    """What a procedure is told."""

    name: str
    type: str
    """As Spark SQL writes it: ``string``, ``bigint``, ``boolean``, ``array<string>`` …"""
    description: str = ""
    required: bool = True
    """Otherwise it is left out of the arguments where the caller does not give it."""


@dataclass(frozen=True)
class Call:
    """Where a procedure was called."""

    tables: Tables
    spark: SparkSession | None
    """The session that runs in this process; there is none beside ``spark-sql``."""
    arguments: Mapping[str, Any]

    @property
    def table(self) -> list[str]:
        """The identifier that the argument ``table`` names."""
        return list(read_name(self.arguments["table"]))


@dataclass(frozen=True)
class Procedure:
    """Something that can be called in SQL."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    columns: str
    """Of its result, as in CREATE TABLE: ``table string, version bigint``."""
    run: Callable[[Call], Iterable[Sequence[Any]]]
    """Returns the rows of the result."""

    def describe(self) -> dict[str, Any]:
        """What Spark has to know to call it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": [vars(parameter) for parameter in self.parameters],
        }


PROCEDURES: dict[str, Procedure] = {}


def register(procedure: Procedure) -> Procedure:
    """Let a procedure be called, in all catalogs of this process."""
    PROCEDURES[procedure.name] = procedure
    return procedure


def call(tables: Tables, spark: SparkSession | None, request: Request) -> dict[str, Any]:
    """Run a procedure; the answer has the rows and the schema of its result."""
    procedure = PROCEDURES.get(request["name"])
    if procedure is None:
        raise errors.InvalidInputError(f"there is no procedure {request['name']!r}")
    arguments = request["arguments"]
    for parameter in procedure.parameters:
        if parameter.required and parameter.name not in arguments:
            raise errors.InvalidInputError(f"{parameter.name} of {procedure.name} is null")
    try:
        return answer(procedure.columns, iter(procedure.run(Call(tables, spark, arguments))))
    except (TypeError, ValueError, OverflowError) as cause:
        raise errors.InvalidInputError(f"{procedure.name} cannot be called so: {cause}") from cause


TABLE = Parameter("table", "string", "the name of the table in its catalog: shop.fruits")
VERSION = Parameter("version", "bigint", "the number of a version")
TAG = Parameter("tag", "string", "the name of a tag")


def _rollback(call: Call) -> Iterable[Sequence[Any]]:
    wanted = {"id": call.table, "version": call.arguments["version"]}
    call.tables.namespace.restore_table(wanted)  # type: ignore[arg-type]
    yield call.arguments["table"], _latest(call)


def _create_tag(call: Call) -> Iterable[Sequence[Any]]:
    version = call.arguments.get("version", None)
    version = _latest(call) if version is None else version
    wanted = {"id": call.table, "tag": call.arguments["tag"], "version": version}
    call.tables.namespace.create_table_tag(wanted)  # type: ignore[arg-type]
    yield call.arguments["tag"], version


def _drop_tag(call: Call) -> Iterable[Sequence[Any]]:
    wanted = {"id": call.table, "tag": call.arguments["tag"]}
    call.tables.namespace.delete_table_tag(wanted)  # type: ignore[arg-type]
    yield (call.arguments["tag"],)


def _latest(call: Call) -> int:
    return int(call.tables.load({"id": call.table})["version"])


register(
    Procedure(
        "rollback_to_version",
        "Make the content of an earlier version the newest one",
        (TABLE, VERSION),
        "table string, version bigint",
        _rollback,
    )
)
register(
    Procedure(
        "create_tag",
        "Give a version, the newest unless said, a name that keeps it",
        (TABLE, TAG, Parameter("version", "bigint", "the number of a version", required=False)),
        "tag string, version bigint",
        _create_tag,
    )
)
register(Procedure("drop_tag", "Take a name from a version", (TABLE, TAG), "tag string", _drop_tag))
