"""Spark on a catalog in a bucket: SQL, frames, streams and ingests, and no secret in any text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lanceyard
from lanceyard.spark.ingestion import ingest
from lanceyard.spark.publishing import publish
from lanceyard.spark.sql.catalogs import attach, detach
from tests.cloud import bucket
from tests.spark.clusters import run_job
from tests.spark.sql.conftest import Sql
from tests.spark.sql.jobs import RESULT, ROWS, STATEMENTS

NAME = "lake"
EXPLAINED = (
    "SELECT * FROM yard.a.t WHERE id = 1",
    "INSERT INTO yard.a.t VALUES (1000, 'new')",
    "DELETE FROM yard.a.t WHERE id = 2",
    "UPDATE yard.a.t SET s = 'z'",
    "CREATE TABLE yard.a.u AS SELECT * FROM yard.a.t",
)


@pytest.fixture(scope="module")
def properties() -> dict[str, str]:
    """The properties of a catalog in a bucket, with all that it takes to reach it."""
    return {"root": bucket.fresh_root(), **bucket.storage()}


@pytest.fixture(scope="module")
def sql(spark: SparkSession, properties: dict[str, str]) -> Iterator[Sql]:
    """The catalog in Spark SQL, where a table was created, updated and merged into."""
    attach(spark, {NAME: properties})
    made = Sql(spark, NAME, Path())
    for statement in STATEMENTS:
        made(statement)
    yield made
    detach(spark, NAME)


@pytest.fixture(scope="module")
def named(properties: dict[str, str]) -> dict[str, str]:
    """The catalog in the options of the data source."""
    return {f"catalog.{name}": value for name, value in properties.items()}


@pytest.fixture(scope="module")
def secret() -> str:
    return bucket.storage()[f"storage.{bucket.KIND.secret}"]


def test_tables_are_created_changed_read_and_dropped(sql: Sql) -> None:
    assert ["\t".join(map(str, row)) for row in sql(RESULT)] == ROWS
    sql("CREATE TABLE yard.a.gone AS SELECT 1 AS n")
    sql("INSERT INTO yard.a.gone VALUES (2), (3)")
    sql("DELETE FROM yard.a.gone WHERE n = 2")
    assert sorted(sql.column("SELECT n FROM yard.a.gone")) == [1, 3]
    assert sql.one("SELECT count(*) FROM yard.a.gone VERSION AS OF 1") == 1
    sql("DROP TABLE yard.a.gone")
    assert sql("SHOW TABLES IN yard.a") == [("a", "t", False)]


def test_frames_are_written_and_read(spark: SparkSession, sql: Sql, named: dict[str, str]) -> None:
    frame = spark.range(5)
    frame.write.format("lance").options(**named, table="a.f").mode("append").save()
    assert spark.read.format("lance").options(**named, table="a.f").load().count() == 5
    sql("DROP TABLE yard.a.f")


def test_tables_are_published_together(spark: SparkSession) -> None:
    managed = {"table_version_management": "true", "manifest_enabled": "true"}
    properties = {"root": bucket.fresh_root(), **bucket.storage(), **managed}
    with lanceyard.open(properties) as yard:
        with publish(spark, catalog=properties) as publication:
            publication.write(spark.range(3), "a")
            publication.write(spark.range(4), "b")
            publication.check(lambda staged: staged.count() == 4, "b")
        assert [yard.table(name).count() for name in ("a", "b")] == [3, 4]


@pytest.mark.deep
def test_a_stream_of_a_table_is_written_to_another(
    spark: SparkSession, sql: Sql, named: dict[str, str], tmp_path: Path
) -> None:
    stream = spark.readStream.format("lance").options(**named, table="a.t").load()
    query = (
        stream.writeStream.format("lance")
        .options(**named, table="a.copy", checkpointLocation=str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    copy = spark.read.format("lance").options(**named, table="a.copy").load()
    assert copy.count() == sql.one("SELECT count(*) FROM yard.a.t")
    sql("DROP TABLE yard.a.copy")


def test_an_ingest_that_failed_can_be_repeated_at_once(
    spark: SparkSession, sql: Sql, properties: dict[str, str], tmp_path: Path
) -> None:
    def ingested() -> int:
        return ingest(spark, tmp_path, "a.raw", catalog=properties, progress=lambda _: None).rows

    (tmp_path / "a.json").write_text('{"n": 1}')
    assert ingested() == 1
    (tmp_path / "b.json").write_text('{"n": "no number"}')
    with pytest.raises(Exception, match=r"b\.json"):
        ingested()
    (tmp_path / "b.json").write_text('{"n": 2}')
    assert (ingested(), ingested()) == (1, 0)
    with lanceyard.open(properties) as yard:
        assert sorted(yard.table("a.raw").read()["n"].to_pylist()) == [1, 2]
        yard.drop("a.raw")


def test_no_plan_setting_or_error_tells_a_secret(
    spark: SparkSession, sql: Sql, named: dict[str, str], secret: str
) -> None:
    told = [str(sql(f"EXPLAIN EXTENDED {statement}")) for statement in EXPLAINED]
    frame = spark.read.format("lance").options(**named, table="a.t").load().where("id > 1")
    told.append(frame._jdf.queryExecution().toString())
    told += map(str, spark.conf.getAll.items())
    key = f"catalog.storage.{bucket.KIND.secret}"
    for wrong in ({"table": "a.none"}, {"table": "a.t", "unknown": "1"}, {key: f"not {secret}"}):
        with pytest.raises(PySparkException) as refused:
            spark.read.format("lance").options(**{**named, "table": "a.t", **wrong}).load()
        told.append(str(refused.value))
    assert not [text for text in told if secret in text]


@pytest.mark.deep
def test_the_environment_can_say_how_a_bucket_is_reached() -> None:
    done = run_job("in_bucket", bucket.fresh_root(), **bucket.environment())
    assert done.splitlines() == ROWS
