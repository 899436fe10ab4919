"""Spark on the same metastore, by itself and through the catalog."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

import lanceyard
from tests.interop.java import SparkProcess

from .metastore import JARS, MetastoreServer

pytestmark = pytest.mark.skipif(JARS in os.environ, reason="Spark's own client is of Hive 2.3")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the data of Lance tables goes."""
    return tmp_path_factory.mktemp("lance")


@pytest.fixture(scope="module")
def properties(hive: MetastoreServer, root: Path) -> dict[str, str]:
    """How the catalog is opened, here and in Spark."""
    return {"impl": "hive", "uri": hive.uri, "root": str(root)}


@pytest.fixture(scope="module")
def spark(hive: MetastoreServer, properties: dict[str, str]) -> Iterator[SparkProcess]:
    """A Spark that has the metastore as its own, and the catalog as ``yard``."""
    arguments = (hive.uri, str(hive.warehouse), json.dumps({"yard": properties}))
    with SparkProcess(sys.executable, "-m", "tests.hive.spark_process", *arguments) as running:
        yield running


@pytest.fixture
def yard(properties: dict[str, str]) -> Iterator[lanceyard.Yard]:
    """The catalog, without Spark."""
    with lanceyard.open(properties) as opened:
        yield opened


@pytest.mark.parametrize("has_root", [True, False], ids=["with a root", "without"])
def test_spark_sees_databases_and_tables_and_leaves_lance_data_alone(
    spark: SparkProcess, properties: dict[str, str], has_root: bool
) -> None:
    name = "shop" if has_root else "stall"
    opened = {k: v for k, v in properties.items() if has_root or k != "root"}
    with lanceyard.open(opened) as yard:
        yard.create_namespace(name, {"comment": "wares"})
        location = yard.create_table(f"{name}.orders", {"id": [1, 2, 3]}).location
        assert [name] in spark("SHOW DATABASES")
        assert ["Comment", "wares"] in spark(f"DESCRIBE DATABASE {name}")
        assert [row[1] for row in spark(f"SHOW TABLES IN {name}")] == ["orders"]
        assert ["Type", "EXTERNAL", ""] in spark(f"DESCRIBE EXTENDED {name}.orders")
        spark(f"DROP DATABASE {name} CASCADE")
        assert name not in yard.namespaces()
    assert lance.dataset(location).count_rows() == 3


def test_a_table_that_spark_renames_is_found_where_it_was(
    spark: SparkProcess, yard: lanceyard.Yard
) -> None:
    yard.create_namespace("moves")
    yard.create_table("moves.old", {"id": [1]})
    spark("ALTER TABLE moves.old RENAME TO moves.new")
    spark("ALTER TABLE moves.new SET TBLPROPERTIES ('tier' = 'gold')")
    assert yard.tables("moves") == ["new"]
    assert yard.table("moves.new").count() == 1


def test_spark_sql_works_on_lance_tables_of_the_metastore(
    spark: SparkProcess, yard: lanceyard.Yard
) -> None:
    spark("CREATE NAMESPACE yard.db")
    spark("CREATE TABLE yard.db.t (id BIGINT, name STRING)")
    spark("INSERT INTO yard.db.t VALUES (1, 'one'), (2, 'two')")
    spark("UPDATE yard.db.t SET name = 'zwei' WHERE id = 2")
    assert spark("SELECT * FROM yard.db.t ORDER BY id") == [[1, "one"], [2, "zwei"]]
    spark("ALTER TABLE yard.db.t RENAME TO yard.db.u")
    assert [row[1] for row in spark("SHOW TABLES IN yard.db")] == ["u"]
    spark("DROP TABLE yard.db.u")
    spark("DROP NAMESPACE yard.db")
