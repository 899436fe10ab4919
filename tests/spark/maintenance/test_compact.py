"""Compaction on executors: the same rows in fewer fragments, whatever else goes on."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.spark.maintenance import compact, silent
from tests.spark.maintenance.conftest import ROWS, meanwhile, rows


@pytest.mark.parametrize("catalog", ["managed", "plain"], indirect=True)
def test_a_table_has_the_same_rows_in_fewer_fragments(spark, catalog):
    table = catalog.make("t")
    table.index("id")
    before = table.read()
    report = compact(spark, "t", catalog=catalog.properties, target_rows_per_fragment=2 * ROWS)
    assert len(table.to_lance().get_fragments()) == 3
    assert table.read().equals(before)
    assert table.read(where="id = 777").num_rows == 1
    assert report.tables[0].version == table.version
    assert "6 fragments became 3" in str(report)


def test_a_dry_run_changes_nothing_and_tells_what_would_be_done(spark, catalog):
    table = catalog.make("t")
    before = catalog.files()
    report = compact(spark, "t", catalog=catalog.properties, dry_run=True)
    assert catalog.files() == before
    assert report.plan.fragments == 6
    assert "rewrite 6 fragments in 1 groups" in str(report)
    assert len(table.to_lance().get_fragments()) == 6


def test_a_namespace_is_compacted_with_all_below_it(spark, catalog):
    for name in ("a", "a.b"):
        catalog.yard.create_namespace(name)
    inside, below, outside = (catalog.make(name, 3) for name in ("a.t", "a.b.t", "t"))
    report = compact(spark, "a", catalog=catalog.properties)
    assert [each.table for each in report.tables] == ["a.b.t", "a.t"]
    fragments = [len(t.to_lance().get_fragments()) for t in (inside, below, outside)]
    assert fragments == [1, 1, 3]
    report = compact(spark, catalog=catalog.properties)
    assert [each.table for each in report.tables] == ["t"]
    assert report.plan.looked_at == 3


def test_appends_go_on_while_a_table_is_compacted(spark, catalog):
    table = catalog.make("t")
    with meanwhile(lambda turn: table.append(rows(10_000 + turn, 1))) as turns:
        compact(spark, "t", catalog=catalog.properties, target_rows_per_fragment=2 * ROWS)
    found = sorted(table.read()["id"].to_pylist())
    assert found == [*range(6 * ROWS), *(10_000 + turn for turn in turns)]


def test_what_a_delete_made_worthless_is_compacted_again(spark, catalog):
    table = catalog.make("t")
    told = []

    def delete_once(progress):
        if not told:
            table.delete("id = 7")
        told.append(progress)

    options = {"target_rows_per_fragment": 2 * ROWS}
    report = compact(spark, "t", catalog=catalog.properties, progress=delete_once, **options)
    assert report.tables[0].conflicts == 1
    assert table.count() == 6 * ROWS - 1
    assert len(table.to_lance().get_fragments()) == 3


def test_a_table_that_does_not_exist_is_told(spark, catalog):
    catalog.make("t", 1)
    with pytest.raises(errors.LanceNamespaceError, match="nowhere"):
        compact(spark, "nowhere.t", catalog=catalog.properties, progress=silent)


def test_an_option_that_lance_would_ignore_is_refused(spark, catalog):
    with pytest.raises(errors.InvalidInputError, match="target_rows"):
        compact(spark, catalog=catalog.properties, target_rows=5)
