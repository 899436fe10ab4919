"""Namespaces and the names of tables."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from tests.spark.sql.conftest import Sql


def test_namespaces_are_nested_and_have_properties(sql: Sql):
    sql("CREATE NAMESPACE yard.a.b COMMENT 'deep' WITH DBPROPERTIES (x = '1', y = '2')")
    sql("ALTER NAMESPACE yard.a.b SET PROPERTIES (z = '3')")
    sql("ALTER NAMESPACE yard.a.b UNSET PROPERTIES (x)")
    assert sql("SHOW NAMESPACES IN yard.a") == [("a.b",)]
    described = dict(sql("DESCRIBE NAMESPACE EXTENDED yard.a.b"))
    assert described["Comment"] == "deep"
    assert described["Properties"] == "((y,2), (z,3))"


def test_a_namespace_is_created_once(sql: Sql):
    sql("CREATE NAMESPACE IF NOT EXISTS yard.a")
    with pytest.raises(AnalysisException, match="SCHEMA_ALREADY_EXISTS"):
        sql("CREATE NAMESPACE yard.a")


def test_a_namespace_is_dropped_when_empty_or_with_all_that_is_in_it(sql: Sql):
    sql("CREATE NAMESPACE yard.a.b")
    sql("CREATE TABLE yard.a.b.t (id BIGINT)")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        sql("DROP NAMESPACE yard.a")
    sql("DROP NAMESPACE yard.a CASCADE")
    sql("DROP NAMESPACE IF EXISTS yard.a")
    assert sql(f"SHOW NAMESPACES IN {sql.name}") == []
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        sql("DROP NAMESPACE yard.a")


def test_a_table_can_move_to_another_namespace(sql: Sql):
    sql("CREATE NAMESPACE yard.b")
    sql("CREATE TABLE yard.a.t (id BIGINT)")
    sql("ALTER TABLE yard.a.t RENAME TO u")
    sql("ALTER TABLE yard.a.u RENAME TO b.v")
    sql("ALTER TABLE yard.b.v RENAME TO yard.b.w")
    assert sql("SHOW TABLES IN yard.a") == []
    assert [row[1] for row in sql("SHOW TABLES IN yard.b")] == ["w"]
    assert sql("SELECT * FROM yard.b.w") == []


def test_a_name_that_is_taken_is_refused(sql: Sql):
    sql("CREATE TABLE yard.a.t (id BIGINT)")
    sql("CREATE TABLE yard.a.u (id BIGINT)")
    sql("CREATE TABLE IF NOT EXISTS yard.a.t (other STRING)")
    for statement in (
        "CREATE TABLE yard.a.t (id BIGINT)",
        "CREATE TABLE yard.a.t AS SELECT 1 id",
        "ALTER TABLE yard.a.u RENAME TO a.t",
    ):
        with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
            sql(statement)
    assert sql.frame("SELECT * FROM yard.a.t").columns == ["id"]


def test_what_is_not_there_is_told_in_sparks_own_words(sql: Sql):
    for statement in ("SELECT * FROM yard.a.none", "DROP TABLE yard.a.none"):
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            sql(statement)
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        sql("CREATE TABLE yard.none.t (id BIGINT)")
    sql("DROP TABLE IF EXISTS yard.a.none")


def test_a_dropped_table_is_gone_with_its_files(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id")
    sql("DROP TABLE yard.a.t PURGE")
    assert sql("SHOW TABLES IN yard.a") == []
    assert not list(sql.root.glob("*a$t/data/*.lance"))


def test_other_refusals_keep_the_text_of_the_catalog(sql: Sql):
    with pytest.raises(Exception, match="not parquet: say USING lance, or nothing"):
        sql("CREATE TABLE yard.a.t (id BIGINT) USING parquet")
    with pytest.raises(Exception, match="leave LOCATION out"):
        sql("CREATE TABLE yard.a.t (id BIGINT) LOCATION '/tmp/t'")
    with pytest.raises(Exception, match="Lance tables have no partitions"):
        sql("CREATE TABLE yard.a.t (id BIGINT) PARTITIONED BY (id)")
    assert sql("SHOW TABLES IN yard.a") == []
