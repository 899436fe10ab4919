"""UPDATE, MERGE and DELETE: which rows they touch, and what others do meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from lanceyard.spark.sql.catalogs import attach, detach
from tests.spark.sql.conftest import Sql

FOUR = "SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, id % 7 n, 'x' s FROM range(400)"


def fragments(sql: Sql) -> list[tuple[int, int]]:
    """The rows that fragments hold, and those that were deleted in them."""
    return sql("SELECT rows, deleted_rows FROM yard.a.t.fragments ORDER BY fragment")


@pytest.fixture
def table(sql: Sql) -> Sql:
    """A table of four fragments with a hundred rows each."""
    sql(f"CREATE TABLE yard.a.t AS {FOUR}")
    return sql


MERGE = "MERGE INTO yard.a.t t USING (SELECT 3L id) u ON t.id = u.id WHEN MATCHED THEN"


@pytest.mark.parametrize(
    ("statement", "first", "new"),
    [
        ("UPDATE yard.a.t SET s = 'y' WHERE id = 7", [(99, 1)], [(1, 0)]),
        ("DELETE FROM yard.a.t WHERE id IN (SELECT min(id) FROM yard.a.t)", [(99, 1)], []),
        ("DELETE FROM yard.a.t WHERE id < 20 AND length(s) = 1", [(80, 20)], []),
        ("DELETE FROM yard.a.t WHERE id < 100 AND length(s) = 1", [], []),
        ("DELETE FROM yard.a.t WHERE id = 7 OR (n = 3 AND s <> 'x')", [(99, 1)], []),
        (f"{MERGE} DELETE", [(99, 1)], []),
        (f"{MERGE} UPDATE SET n = 100", [(99, 1)], [(1, 0)]),
    ],
)
def test_only_rows_that_match_are_written(table: Sql, statement: str, first: list, new: list):
    table(statement)
    assert fragments(table) == [*first, *[(100, 0)] * 3, *new]


def test_rows_are_deleted_again_and_again(table: Sql):
    for number in range(3):
        table(f"DELETE FROM yard.a.t WHERE id % 100 = {number} AND length(s) = 1")
    assert fragments(table) == [(97, 3)] * 4


def test_nothing_matched_is_no_new_version(table: Sql):
    table("UPDATE yard.a.t SET s = 'y' WHERE id = 1000")
    assert table.one("SELECT max(version) FROM yard.a.t.versions") == 1


def test_an_update_takes_values_from_everywhere(table: Sql):
    largest = "(SELECT max(id) FROM yard.a.t)"
    table(f"UPDATE yard.a.t SET s = concat(s, n), n = {largest} WHERE id % 100 = 1")
    changed = "SELECT id, n, s FROM yard.a.t WHERE s <> 'x' ORDER BY id"
    assert table(changed) == [(i, 399, f"x{i % 7}") for i in (1, 101, 201, 301)]


def test_a_merge_has_all_its_clauses(table: Sql):
    table(
        "MERGE INTO yard.a.t t USING (SELECT id, id % 4 k FROM range(396, 404)) u ON t.id = u.id "
        "WHEN MATCHED AND k = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET s = 'merged' "
        "WHEN NOT MATCHED AND k < 3 THEN INSERT (id, s) VALUES (u.id, 'new') "
        "WHEN NOT MATCHED BY SOURCE AND t.id < 10 THEN UPDATE SET s = 'left' "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 10 THEN DELETE"
    )
    assert table("SELECT s, count(*), min(id), max(id) FROM yard.a.t GROUP BY s ORDER BY s") == [
        ("left", 10, 0, 9),
        ("merged", 3, 397, 399),
        ("new", 3, 400, 402),
        ("x", 385, 11, 395),
    ]


def test_a_merge_with_two_matches_for_a_row_is_refused(table: Sql):
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        table(
            "MERGE INTO yard.a.t t USING (SELECT 1L id UNION ALL SELECT 1L) u ON t.id = u.id "
            "WHEN MATCHED THEN UPDATE SET s = 'twice'"
        )
    assert table.one("SELECT max(version) FROM yard.a.t.versions") == 1


def slowed(sql: Sql, statement: str, meanwhile: str) -> Exception | None:
    """Run a statement that takes a while, and another one after it has begun to read."""
    begun, failures = sql.root / "begun", []

    def slow(n: int) -> int:
        if n == 7:  # of a hundred rows
            Path(begun).touch()
            time.sleep(1)
        return n

    sql.spark.udf.register("slow", slow, "bigint")

    def run() -> None:
        try:
            sql(statement)
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    while not begun.exists():
        assert thread.is_alive()
        time.sleep(0.01)
    sql(meanwhile)
    thread.join()
    return failures[0] if failures else None


SLOW = "UPDATE yard.a.t SET n = slow(id) WHERE id = 7"


@pytest.mark.parametrize(
    "meanwhile",
    [
        "DELETE FROM yard.a.t WHERE id = 8",
        "UPDATE yard.a.t SET s = 'other' WHERE id = 7",
        "INSERT OVERWRITE yard.a.t SELECT 1000L, 1L, 'only'",
    ],
)
def test_a_change_of_the_same_fragment_meanwhile_is_never_lost(table: Sql, meanwhile: str):
    failure = slowed(table, SLOW, meanwhile)
    assert failure is not None
    assert "another writer was faster, and nothing was written" in str(failure)
    assert table.one("SELECT count(*) FROM yard.a.t WHERE s = 'other' OR s = 'only'") == (
        0 if "DELETE" in meanwhile else 1
    )
    assert table.one("SELECT count(*) FROM yard.a.t WHERE id = 8 AND n = 1") == (
        1 if "SET" in meanwhile else 0
    )


def test_changes_elsewhere_meanwhile_are_all_kept(table: Sql):
    assert slowed(table, SLOW, "DELETE FROM yard.a.t WHERE id = 399") is None
    (table.root / "begun").unlink()
    assert slowed(table, SLOW, "INSERT INTO yard.a.t VALUES (1000, 1, 'new')") is None
    assert table.one("SELECT count(*) FROM yard.a.t") == 400
    assert table.one("SELECT count(*) FROM yard.a.t WHERE id IN (7, 399, 1000)") == 2


def test_more_rows_than_are_kept_in_memory_arrive(sql: Sql):
    narrow = f"narrow{sql.name}"
    sql.spark.conf.set(f"spark.sql.catalog.{narrow}.rows-per-spill", "5000")
    attach(sql.spark, {narrow: str(sql.root)})
    sql("CREATE TABLE yard.a.t AS SELECT id, repeat('x', 50) s FROM range(0, 40000, 1, 2)")
    sql.spark.sql(f"UPDATE {narrow}.a.t SET s = 'y' WHERE id % 2 = 0 AND length(s) > 1")
    detach(sql.spark, narrow)
    found = sql("SELECT count(*), count(DISTINCT id), count_if(s = 'y') FROM yard.a.t")
    assert found == [(40000, 40000, 20000)]


def test_tables_with_stable_row_ids_are_changed_too(sql: Sql):
    sql(
        "CREATE TABLE yard.a.t (id BIGINT, s STRING) TBLPROPERTIES (enable_stable_row_ids = 'true')"
    )
    sql("INSERT INTO yard.a.t SELECT id, 'x' FROM range(20)")
    sql("UPDATE yard.a.t SET s = 'y' WHERE id = 3")
    assert sql(
        "SELECT s, count(*), count(DISTINCT _rowid) FROM yard.a.t GROUP BY s ORDER BY s"
    ) == [
        ("x", 19, 19),
        ("y", 1, 1),
    ]


def test_an_index_still_finds_rows_that_were_changed(table: Sql):
    table.yard.table("a.t").to_lance().create_scalar_index("id", "BTREE")
    table("UPDATE yard.a.t SET id = id + 1000 WHERE id = 7 OR length(s) = 9")
    assert table("SELECT id, s FROM yard.a.t WHERE id IN (7, 8, 1007) ORDER BY id") == [
        (8, "x"),
        (1007, "x"),
    ]


def test_columns_may_be_called_anything(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT 1L id, 2L address, 3L kept, 4L _fragment, 5L _kept")
    sql("UPDATE yard.a.t SET _kept = 6 WHERE id + 0 = 1")
    assert sql("SELECT address, kept, _fragment, _kept FROM yard.a.t") == [(2, 3, 4, 6)]


def test_rows_keep_their_ids_where_a_table_says_so(sql: Sql):
    sql("CREATE TABLE yard.a.t (id BIGINT) TBLPROPERTIES (enable_stable_row_ids = 'true')")
    assert sql.yard.table("a.t").to_lance().has_stable_row_ids
    sql(
        "CREATE TABLE yard.a.u TBLPROPERTIES (enable_stable_row_ids = 'true') "
        "AS SELECT id FROM range(3)"
    )
    assert sql.yard.table("a.u").to_lance().has_stable_row_ids
