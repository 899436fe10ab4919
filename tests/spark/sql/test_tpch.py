"""TPC-H: what its queries find in a catalog is exactly what they find in Parquet files."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lanceyard.spark.sql.catalogs import attach, detach

SCALE = "0.1"
QUERIES = sorted(Path(__file__).parent.glob("tpch/*.sql"))
ALWAYS = {"04", "06", "19"}
"""Queries of `make test`: a subquery, conditions on decimals and dates, and many at once."""
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
NAMED = re.compile(rf"(?:(?<=FROM )|(?<=JOIN )|(?<=, ))({'|'.join(TABLES)})\b")


@dataclass
class Twins:
    """The same tables as Parquet files and in a catalog, which gets them when they are needed."""

    spark: SparkSession
    folder: Path
    there: set[str] = field(default_factory=set)

    def in_parquet(self, query: str) -> list[tuple[Any, ...]]:
        return self._rows(NAMED.sub(rf"parquet.`{self.folder}/\1.parquet`", query))

    def in_catalog(self, query: str) -> list[tuple[Any, ...]]:
        for table in set(NAMED.findall(query)) - self.there:
            file = f"parquet.`{self.folder}/{table}.parquet`"
            self.spark.sql(f"CREATE TABLE twins.tpch.{table} AS SELECT * FROM {file}")
            self.there.add(table)
        return self._rows(NAMED.sub(r"twins.tpch.\1", query))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(query).collect()]


@pytest.fixture(scope="module")
def twins(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """All tables, made by the standard's rules."""
    folder = tmp_path_factory.mktemp("tpch")
    generator = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([generator, "parquet", "-s", SCALE, "-o", folder], check=True)
    attach(spark, {"twins": str(tmp_path_factory.mktemp("yard"))})
    spark.sql("CREATE NAMESPACE twins.tpch")
    yield Twins(spark, folder)
    detach(spark, "twins")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(query, id=query.stem, marks=[pytest.mark.deep][query.stem in ALWAYS :])
        for query in QUERIES
    ],
)
def test_a_query_finds_what_it_finds_in_parquet(twins: Twins, query: Path):
    text = query.read_text()
    found = twins.in_catalog(text)
    assert found
    assert found == twins.in_parquet(text)


def test_all_queries_are_there():
    assert [query.stem for query in QUERIES] == [f"{number:02}" for number in range(1, 23)]
