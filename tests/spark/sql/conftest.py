"""A catalog of its own for each test, in the session that all share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import lanceyard
from lanceyard.spark.sql.catalogs import attach, detach

NUMBERS = itertools.count()


@dataclass
class Sql:
    """Statements about a catalog that they call ``yard``."""

    spark: SparkSession
    name: str
    root: Path

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.frame(statement).collect()]

    def frame(self, statement: str) -> DataFrame:
        return self.spark.sql(statement.replace("yard.", f"{self.name}."))

    def one(self, statement: str) -> Any:
        ((value,),) = self(statement)
        return value

    def column(self, statement: str) -> list[Any]:
        return [row[0] for row in self(statement)]

    @property
    def yard(self) -> lanceyard.Yard:
        return lanceyard.open(str(self.root))

    def plan(self, statement: str) -> str:
        frame = self.frame(statement)
        return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.fixture
def sql(spark: SparkSession, tmp_path: Path) -> Iterator[Sql]:
    """An empty catalog with a namespace ``a``."""
    name = f"yard{next(NUMBERS)}"
    attach(spark, {name: str(tmp_path / "yard")})
    made = Sql(spark, name, tmp_path / "yard")
    made("CREATE NAMESPACE yard.a")
    yield made
    detach(spark, name)
