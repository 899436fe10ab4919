"""Rows: how they get into tables and out of them, also as they were before."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

import pyarrow as pa
import pytest

from tests.spark.sql.conftest import Sql
from tests.spark.test_types import TYPES, column, there_and_back

OF_TWO = "TBLPROPERTIES ('v.arrow.fixed-size-list.size' = '2')"


def test_rows_are_inserted_by_position_and_by_name(sql: Sql):
    sql("CREATE TABLE yard.a.t (id BIGINT, s STRING)")
    sql("INSERT INTO yard.a.t VALUES (1, 'x')")
    sql("INSERT INTO yard.a.t (s) VALUES ('y')")
    sql("INSERT INTO yard.a.t BY NAME SELECT 'z' s, 3 id")
    assert sorted(sql("SELECT * FROM yard.a.t"), key=str) == [(1, "x"), (3, "z"), (None, "y")]


def test_overwriting_keeps_what_columns_are(sql: Sql):
    sql(f"CREATE TABLE yard.a.t (v ARRAY<FLOAT>, n INT) {OF_TWO}")
    sql("INSERT INTO yard.a.t VALUES (array(1f, 2f), 1)")
    before = sql.yard.table("a.t").schema
    sql("INSERT OVERWRITE yard.a.t SELECT array(3f, 4f), 2")
    assert sql("SELECT * FROM yard.a.t") == [([3.0, 4.0], 2)]
    assert sql.yard.table("a.t").schema == before


def test_a_value_that_does_not_fit_is_refused_and_nothing_is_written(sql: Sql):
    sql(f"CREATE TABLE yard.a.t (v ARRAY<FLOAT>) {OF_TWO}")
    with pytest.raises(Exception, match="holds lists of 2 values, but one has 3"):
        sql("INSERT INTO yard.a.t VALUES (array(1f, 2f, 3f))")
    assert sql("SELECT * FROM yard.a.t") == []


def test_a_table_is_truncated(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id")
    sql("TRUNCATE TABLE yard.a.t")
    assert sql("SELECT * FROM yard.a.t") == []
    sql("INSERT INTO yard.a.t VALUES (2)")
    sql("DELETE FROM yard.a.t")
    assert sql.one("SELECT count(*) FROM yard.a.t") == 0


def test_earlier_versions_are_read_by_number_tag_and_time(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id")
    time.sleep(0.01)
    moment = datetime.now(UTC).isoformat()
    sql("INSERT INTO yard.a.t VALUES (2)")
    sql("CALL yard.system.create_tag('a.t', 'first', 1)")
    for clause in ("VERSION AS OF 1", "VERSION AS OF 'first'", f"TIMESTAMP AS OF '{moment}'"):
        assert sql.column(f"SELECT id FROM yard.a.t {clause}") == [1]
        assert sql.one(f"SELECT count(*) FROM yard.a.t {clause}") == 1
    with pytest.raises(Exception, match="has no version 99"):
        sql("SELECT * FROM yard.a.t VERSION AS OF 99")
    with pytest.raises(Exception, match="has no tag 'second'"):
        sql("SELECT * FROM yard.a.t VERSION AS OF 'second'")


def test_tables_are_used_by_frames_too(sql: Sql):
    frame = sql.spark.range(5)
    frame.writeTo(f"{sql.name}.a.t").create()
    frame.writeTo(f"{sql.name}.a.t").append()
    frame.write.mode("append").saveAsTable(f"{sql.name}.a.t")
    assert sql.spark.table(f"{sql.name}.a.t").count() == 15


def test_a_table_is_read_and_written_by_streams(sql: Sql, tmp_path):
    sql("CREATE TABLE yard.a.t AS SELECT id FROM range(5)")
    sql("CREATE TABLE yard.a.u (id BIGINT)")
    stream = sql.spark.readStream.table(f"{sql.name}.a.t").writeStream.trigger(availableNow=True)
    query = stream.option("checkpointLocation", str(tmp_path / "c")).toTable(f"{sql.name}.a.u")
    query.awaitTermination()
    assert sql.one("SELECT sum(id) FROM yard.a.u") == 10


def test_tables_of_managed_catalogs_are_changed_through_them(sql: Sql):
    sql.yard.manage_versions(wait=timedelta(0))
    sql("CREATE TABLE yard.a.t AS SELECT id, 'x' s FROM range(10)")
    sql("UPDATE yard.a.t SET s = 'y' WHERE id = 3 OR length(s) > 7")
    sql("DELETE FROM yard.a.t WHERE id = 4")
    sql("INSERT INTO yard.a.t VALUES (20, 'z')")
    assert sql.one("SELECT count(*) FROM yard.a.t") == 10
    assert sql.column("SELECT id FROM yard.a.t WHERE s = 'y'") == [3]


def test_columns_that_lance_keeps_can_be_asked_for(sql: Sql):
    sql.yard.create_table("a.t", pa.table({"id": [7]}))
    assert sql("SELECT _rowid, _rowaddr, _fragment, id FROM yard.a.t") == [(0, 0, 0, 7)]
    assert sql.frame("SELECT * FROM yard.a.t").columns == ["id"]


def is_read_alone(arrow: pa.DataType) -> bool:
    """Whether Lance cannot read a column beside others."""
    return pa.types.is_fixed_size_list(arrow) and pa.types.is_struct(arrow.value_type)


@pytest.mark.parametrize("codegen", ["true", "false"])
def test_batches_are_taken_as_they_are_whatever_their_columns(sql: Sql, codegen: str):
    some = [(arrow, values) for arrow, _, values in TYPES if not is_read_alone(arrow)]
    rows = [column(arrow, [*islice(cycle([*values, None]), 12)]) for arrow, values in some]
    clean = [there_and_back(each.schema, each)["c"] for each in rows]
    table = sql.yard.create_table("a.t", pa.table({f"c{i}": c for i, c in enumerate(clean)}))
    sql.spark.conf.set("spark.sql.codegen.wholeStage", codegen)
    by_columns = sql.spark.read.option("batch_size", "5").table(f"{sql.name}.a.t")
    by_rows = sql.spark.read.format("lance").load(table.location)
    assert "ColumnarToRow" in by_columns._jdf.queryExecution().executedPlan().toString()
    assert repr(by_columns.collect()) == repr(by_rows.collect())
    sql.spark.conf.unset("spark.sql.codegen.wholeStage")


def test_a_tag_on_a_branch_is_not_looked_for_on_the_main_line(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1L id")
    table = sql.yard.table("a.t").to_lance()
    branch = table.create_branch("dev", 1)
    branch.insert(pa.table({"id": [99]}))
    table.tags.create("x", ("dev", 2))
    sql("INSERT INTO yard.a.t VALUES (2)")
    with pytest.raises(Exception, match="tag 'x' is on branch 'dev'"):
        sql("SELECT * FROM yard.a.t VERSION AS OF 'x'")
    tagged = sql.spark.read.format("lance").option("tag", "x").load(table.uri)
    assert sorted(row.id for row in tagged.collect()) == [1, 99]
