"""What is known about tables, and what can be called."""

from __future__ import annotations

import pytest
from pyspark.errors import IllegalArgumentException

from lanceyard.spark.sql.procedures import PROCEDURES, TABLE, Call, Procedure, register
from tests.spark.sql.conftest import Sql


def test_metadata_tables_tell_what_a_table_is_made_of(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION(2) */ id FROM range(10)")
    sql("DELETE FROM yard.a.t WHERE id = 1")
    sql.yard.table("a.t").to_lance().create_scalar_index("id", "BTREE")
    sql("INSERT INTO yard.a.t VALUES (100)")
    history = sql("SELECT version, operation, read_version FROM yard.a.t.history ORDER BY version")
    assert [row[1] for row in history] == ["Overwrite", "Delete", "CreateIndex", "Append"]
    assert sql.one("SELECT count(timestamp) FROM yard.a.t.versions") == 4
    assert sql("SELECT sum(rows), sum(deleted_rows), count(*) FROM yard.a.t.fragments") == [
        (10, 1, 3)
    ]
    assert sql("SELECT name, columns, indexed_rows, unindexed_rows FROM yard.a.t.indexes") == [
        ("id_idx", ["id"], 9, 1)
    ]


def test_a_table_of_that_name_comes_before_a_metadata_table(sql: Sql):
    sql("CREATE NAMESPACE yard.a.t")
    sql("CREATE TABLE yard.a.t.tags AS SELECT 5 id")
    assert sql("SELECT * FROM yard.a.t.tags") == [(5,)]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql("SELECT * FROM yard.a.t.history")


def test_versions_are_tagged_and_rolled_back_to(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id")
    assert sql("CALL yard.system.create_tag(table => 'a.t', tag => 'first')") == [("first", 1)]
    assert sql("SELECT tag, version FROM yard.a.t.tags") == [("first", 1)]
    sql("INSERT OVERWRITE yard.a.t VALUES (2)")
    assert sql("CALL yard.system.rollback_to_version('a.t', 1)") == [("a.t", 3)]
    assert sql("SELECT * FROM yard.a.t") == [(1,)]
    assert sql("CALL yard.system.drop_tag('a.t', 'first')") == [("first",)]
    assert sql("SELECT * FROM yard.a.t.tags") == []


def test_procedures_are_listed_and_others_refused(sql: Sql):
    listed = [row[-1] for row in sql("SHOW PROCEDURES IN yard.system")]
    assert {"rollback_to_version", "create_tag", "drop_tag"} <= set(listed)
    with pytest.raises(Exception, match="FAILED_TO_LOAD_ROUTINE"):
        sql("CALL yard.system.nothing()")
    with pytest.raises(Exception, match="was not found"):
        sql("CALL yard.system.create_tag('a.none', 'x')")


def test_a_procedure_that_is_registered_can_be_called(sql: Sql):
    def run(call: Call):
        assert call.spark is sql.spark
        yield call.arguments["table"], [1, 2], True

    columns = "table string, numbers array<bigint>, done boolean"
    register(Procedure("echo", "Say it again", (TABLE,), columns, run))
    try:
        assert sql("CALL yard.system.echo('a.t')") == [("a.t", [1, 2], True)]
    finally:
        del PROCEDURES["echo"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("create_tag(NULL, 'x')", "table of create_tag is null"),
        ("create_tag('a.t', 'x', 0)", "version"),
        ("backfill('a.t', map('z', CAST(NULL AS STRING)))", "backfill cannot be called so"),
        ("compact('a.t', map('target_rows_per_fragment', 'x'))", "compact cannot be called so"),
        ("compact('a.t', map('dry_run', 'false'), true)", "'dry_run' of compact"),
        ("sweep('a.t', double('infinity'))", "sweep cannot be called so"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(sql: Sql, call: str, text: str):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id")
    with pytest.raises(IllegalArgumentException, match=text):
        sql(f"CALL yard.system.{call}")
