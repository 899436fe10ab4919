"""Tables: how they are created, described and altered."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.spark.sql.conftest import Sql

COLUMNS = """
    id BIGINT NOT NULL COMMENT 'the key', price DECIMAL(10, 2), day DATE, at TIMESTAMP,
    local TIMESTAMP_NTZ, flag BOOLEAN, place STRUCT<x: DOUBLE, y: DOUBLE>, words ARRAY<STRING>,
    v ARRAY<FLOAT>, picture BINARY
"""


def test_columns_become_those_of_lance(sql: Sql):
    sql(
        f"CREATE TABLE yard.a.t ({COLUMNS}) USING lance TBLPROPERTIES ("
        "'v.arrow.fixed-size-list.size' = '3', 'picture.lance.encoding' = 'blob', 'owned' = 'yes')"
    )
    schema = sql.yard.table("a.t").schema
    assert schema.field("id") == pa.field("id", pa.int64(), nullable=False)
    assert schema.field("v").type == pa.list_(pa.float32(), 3)
    assert schema.field("at").type == pa.timestamp("us", "UTC")
    assert schema.field("local").type == pa.timestamp("us")
    assert schema.field("price").type == pa.decimal128(10, 2)
    assert b"lance-encoding:blob" in schema.field("picture").metadata


def test_a_table_is_described(sql: Sql):
    sql("CREATE TABLE yard.a.t (id BIGINT COMMENT 'the key', s STRING) TBLPROPERTIES (k = 'v')")
    assert sql("DESCRIBE yard.a.t") == [("id", "bigint", "the key"), ("s", "string", None)]
    extended = {row[0]: row[1] for row in sql("DESCRIBE EXTENDED yard.a.t")}
    assert extended["Provider"] == "lanceyard"
    assert str(sql.root) in extended["Location"]
    assert ("k", "v") in sql("SHOW TBLPROPERTIES yard.a.t")


def test_properties_are_set_and_unset(sql: Sql):
    sql("CREATE TABLE yard.a.t (id BIGINT) TBLPROPERTIES (k = 'v', l = 'w')")
    sql("ALTER TABLE yard.a.t SET TBLPROPERTIES (m = 'x')")
    sql("ALTER TABLE yard.a.t UNSET TBLPROPERTIES (k)")
    assert sorted(sql("SHOW TBLPROPERTIES yard.a.t")) == [("l", "w"), ("m", "x")]


def test_columns_are_added_renamed_cast_and_dropped(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id, 'x' s")
    sql("ALTER TABLE yard.a.t ADD COLUMNS (at TIMESTAMP COMMENT 'when', n INT)")
    sql("ALTER TABLE yard.a.t RENAME COLUMN s TO word")
    sql("ALTER TABLE yard.a.t ALTER COLUMN id TYPE BIGINT")
    sql("ALTER TABLE yard.a.t ALTER COLUMN word COMMENT 'a word'")
    sql("ALTER TABLE yard.a.t DROP COLUMNS (n)")
    sql("ALTER TABLE yard.a.t DROP COLUMN IF EXISTS never")
    assert sql("DESCRIBE yard.a.t") == [
        ("id", "bigint", None),
        ("word", "string", "a word"),
        ("at", "timestamp", "when"),
    ]
    assert sql("SELECT * FROM yard.a.t") == [(1, "x", None)]


def test_a_vector_is_added_with_the_property_that_says_so(sql: Sql):
    sql("CREATE TABLE yard.a.t (id BIGINT)")
    sql("ALTER TABLE yard.a.t SET TBLPROPERTIES ('v.arrow.fixed-size-list.size' = '2')")
    sql("ALTER TABLE yard.a.t ADD COLUMN v ARRAY<FLOAT>")
    sql("INSERT INTO yard.a.t VALUES (1, array(1f, 2f))")
    assert sql.yard.table("a.t").schema.field("v").type == pa.list_(pa.float32(), 2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("ADD COLUMN n INT FIRST", "is the last one"),
        ("ADD COLUMN n INT NOT NULL", "add it without NOT NULL"),
        ("ADD COLUMN p.z INT", "cannot be added to a struct"),
    ],
)
def test_what_lance_cannot_do_is_refused_with_advice(sql: Sql, change: str, text: str):
    sql("CREATE TABLE yard.a.t (id BIGINT, p STRUCT<x: INT>)")
    with pytest.raises(Exception, match=text):
        sql(f"ALTER TABLE yard.a.t {change}")


def test_a_copy_has_the_arrow_types_of_its_original(sql: Sql):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0], pa.float16()), 2)
    original = pa.table({"v": vectors, "n": pa.array([1], pa.uint32())})
    sql.yard.create_table("a.t", original)
    sql("CREATE TABLE yard.a.copy AS SELECT * FROM yard.a.t")
    assert sql.yard.table("a.copy").read().equals(original)


def test_a_table_is_replaced_at_once_and_its_versions_stay(sql: Sql):
    sql("CREATE TABLE yard.a.t TBLPROPERTIES (k = 'v') AS SELECT 1 id")
    sql("CREATE OR REPLACE TABLE yard.a.t TBLPROPERTIES (l = 'w') AS SELECT id, 2 n FROM yard.a.t")
    assert sql("SELECT * FROM yard.a.t") == [(1, 2)]
    assert sql("SHOW TBLPROPERTIES yard.a.t") == [("l", "w")]
    assert sql("SELECT * FROM yard.a.t VERSION AS OF 1") == [(1,)]
    sql("REPLACE TABLE yard.a.t (z STRING)")
    assert sql("SELECT * FROM yard.a.t") == []


def test_a_query_that_fails_leaves_the_table_as_it_was(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1 id")
    for statement in (
        "CREATE OR REPLACE TABLE yard.a.t AS SELECT raise_error('no') id",
        "CREATE TABLE yard.a.u AS SELECT raise_error('no') id",
    ):
        with pytest.raises(Exception, match="no"):
            sql(statement)
    assert sql("SELECT * FROM yard.a.t") == [(1,)]
    assert sql.yard.tables("a") == ["t"]
    sql("CREATE TABLE yard.a.u AS SELECT 2 id")


def test_a_name_that_a_dead_writer_declared_is_filled(sql: Sql):
    namespace = sql.yard.namespace
    namespace.declare_table({"id": ["a", "t"]})
    sql("CREATE TABLE yard.a.t (id BIGINT)")
    sql("INSERT INTO yard.a.t VALUES (1)")
    assert sql("SELECT * FROM yard.a.t") == [(1,)]
