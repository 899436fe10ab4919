"""Maintenance as procedures of SQL."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from lanceyard.spark import maintenance
from tests.spark.sql.conftest import Sql

RANGE = "CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION(4) */ id, array(1f, id) v FROM range(400)"
AS_VECTORS = " TBLPROPERTIES ('v.arrow.fixed-size-list.size' = '2')"


@pytest.fixture(autouse=True)
def table(sql: Sql):
    sql(RANGE.replace(" AS SELECT", AS_VECTORS + " AS SELECT"))


def test_a_namespace_is_compacted(sql: Sql):
    called = sql(
        "CALL yard.system.compact(table => 'a', options => map('target_rows_per_fragment', '200'))"
    )
    assert [row[0] for row in called] == ["a.t"]
    assert sql.one("SELECT count(*) FROM yard.a.t.fragments") == 2


def test_an_index_is_built_and_refreshed(sql: Sql):
    kind = "kind => 'IVF_FLAT', options => map('num_partitions', '2')"
    sql(f"CALL yard.system.index(table => 'a.t', column => 'v', {kind})")
    sql("INSERT INTO yard.a.t VALUES (400, array(1f, 2f))")
    assert sql.one("SELECT unindexed_rows FROM yard.a.t.indexes") == 1
    sql("CALL yard.system.refresh('a.t', array('v_idx'))")
    assert sql.one("SELECT unindexed_rows FROM yard.a.t.indexes") == 0


def test_columns_are_computed(sql: Sql):
    called = "CALL yard.system.backfill(table => 'a.t', values => map('double', 'id * 2'){})"
    ((_, outcome, *_),) = sql(called.format(", dry_run => true"))
    assert outcome.startswith("would ")
    sql(called.format(""))
    assert sql.one("SELECT sum(double - 2 * id) FROM yard.a.t") == 0


def test_old_versions_and_orphans_go(sql: Sql):
    sql("DELETE FROM yard.a.t WHERE id < 300")
    sql("CALL yard.system.expire(older_than_hours => 0, keep_history => false)")
    assert sql.one("SELECT count(*) FROM yard.a.t.versions") == 1
    sql("CALL yard.system.sweep(older_than_hours => 0, dry_run => true)")
    assert sql.one("SELECT count(*) FROM yard.a.t") == 100


def test_a_wrong_argument_is_refused(sql: Sql):
    with pytest.raises(PySparkException, match="colour"):
        sql("CALL yard.system.compact(colour => 'red')")
    with pytest.raises(PySparkException, match="neither a table nor a namespace 'nowhere'"):
        sql("CALL yard.system.compact('nowhere')")
    with pytest.raises(PySparkException, match="target"):
        sql("CALL yard.system.compact(options => map('target', 'x'))")


def test_without_a_session_the_work_is_done_here(sql: Sql):
    done = maintenance.compact(None, "a.t", catalog=sql.root, target_rows_per_fragment=200)
    assert [each.table for each in done.tables] == ["a.t"]
    assert sql("SELECT count(*), sum(id) FROM yard.a.t") == [(400, 79_800)]
