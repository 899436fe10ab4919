"""Indexes on executors: built in segments, landed at once, and refreshed."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.spark.maintenance import index, refresh
from tests.spark.maintenance.conftest import LENGTH, ROWS, meanwhile, rows

SCALAR = ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"]
VECTOR = ["IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_HNSW_SQ", "IVF_HNSW_PQ", "IVF_RQ"]
QUERY = [0.5] * LENGTH


def coverage(table, name):
    """How many rows an index covers, and in how many segments."""
    (found,) = [each for each in table.to_lance().describe_indices() if each.name == name]
    return found.num_rows_indexed, len(found.segments)


def nearest(table, **options):
    """The nearest rows to a vector."""
    asked = {"column": "v", "q": QUERY, "k": 5, **options}
    return table.to_lance().to_table(columns=["id"], nearest=asked)["id"].to_pylist()


@pytest.mark.parametrize("kind", SCALAR)
def test_an_index_on_values_finds_what_a_scan_finds(spark, catalog, kind):
    table = catalog.make("t")
    expected = table.read(where="k = 5")
    report = index(spark, "t", "k", kind, catalog=catalog.properties, tasks=3)
    assert coverage(table, "k_idx")[0] == 6 * ROWS
    assert table.read(where="k = 5").equals(expected)
    assert "ScalarIndexQuery" in table.to_lance().scanner(filter="k = 5").explain_plan()
    assert kind in str(report)


def test_an_index_on_words_equals_that_of_one_process(spark, catalog):
    table, other = catalog.make("t"), catalog.make("other")
    parameters = {"with_position": True, "stem": False, "language": "German"}
    index(spark, "t", "s", "FTS", catalog=catalog.properties, **parameters)
    other.index("s", "FTS", name="s_idx", **parameters)
    found = [each.search(text="word7", limit=100)["id"].to_pylist() for each in (table, other)]
    assert sorted(found[0]) == sorted(found[1])
    details = [each.to_lance().describe_indices()[0].details for each in (table, other)]
    assert details[0] == details[1]


@pytest.mark.parametrize("kind", VECTOR)
def test_an_index_on_vectors_finds_the_nearest(spark, catalog, kind):
    table = catalog.make("t")
    exact = nearest(table)
    index(spark, "t", "v", kind, catalog=catalog.properties, num_partitions=2)
    assert coverage(table, "v_idx")[0] == 6 * ROWS
    assert nearest(table, refine_factor=300, nprobes=2) == exact


def test_a_dry_run_builds_nothing(spark, catalog):
    catalog.make("t")
    before = catalog.files()
    report = index(spark, "t", "v", "IVF_PQ", catalog=catalog.properties, dry_run=True)
    assert catalog.files() == before
    assert "build index v_idx (IVF_PQ on v)" in str(report)


def test_appends_go_on_while_an_index_is_built(spark, catalog):
    table = catalog.make("t")
    with meanwhile(lambda turn: table.append(rows(10_000 + turn, 1))) as turns:
        index(spark, "t", "id", catalog=catalog.properties)
    assert table.count() == 6 * ROWS + len(turns)
    assert coverage(table, "id_idx")[0] >= 6 * ROWS


def test_only_segments_on_what_was_rewritten_are_built_again(spark, catalog):
    table, counts = catalog.make("t"), []

    def compact_once(progress):
        if not counts:
            table.to_lance().optimize.compact_files(target_rows_per_fragment=6 * ROWS)
        if progress.done == progress.total:
            counts.append(progress.total)

    options = {"tasks": 3, "progress": compact_once}
    report = index(spark, "t", "id", catalog=catalog.properties, **options)
    assert report.tables[0].conflicts == 1
    assert coverage(table, "id_idx") == (6 * ROWS, 1)
    assert table.read(where="id = 777").num_rows == 1


def test_a_name_that_is_taken_needs_replace(spark, catalog):
    table = catalog.make("t", 2)
    index(spark, "t", "id", catalog=catalog.properties)
    with pytest.raises(errors.TableIndexAlreadyExistsError, match="replace=True"):
        index(spark, "t", "id", catalog=catalog.properties)
    index(spark, "t", "id", "BITMAP", catalog=catalog.properties, replace=True)
    assert table.indexes()[0].index_type == "BITMAP"
    assert coverage(table, "id_idx")[0] == 2 * ROWS


@pytest.mark.parametrize("catalog", ["managed", "plain"], indirect=True)
def test_a_refresh_covers_the_rows_that_came(spark, catalog):
    table = catalog.make("t")
    kinds = {"id": "BTREE", "s": "FTS", "v": "IVF_PQ"}
    for column, kind in kinds.items():
        table.index(column, kind, name=f"{column}_idx")
    table.index("v", "IVF_FLAT", name="flat", num_partitions=2)
    table.append(rows(6 * ROWS))
    assert "refresh flat, id_idx, s_idx, v_idx" in str(
        refresh(spark, "t", catalog=catalog.properties, dry_run=True)
    )
    refresh(spark, catalog=catalog.properties)
    for name in ("id_idx", "s_idx", "v_idx", "flat"):
        assert coverage(table, name) == (7 * ROWS, 2)
    assert table.read(where=f"id = {6 * ROWS + 5}").num_rows == 1
    assert len(table.search(text="word7", limit=100)) == len(table.read(where="s = 'word7 text'"))
    assert nearest(table, refine_factor=300, nprobes=100) == nearest(table, use_index=False)
    assert not refresh(spark, "t", catalog=catalog.properties).tables


def test_an_index_that_does_not_exist_cannot_be_refreshed(spark, catalog):
    catalog.make("t", 1)
    with pytest.raises(errors.TableIndexNotFoundError, match="nothing_idx"):
        refresh(spark, "t", catalog=catalog.properties, names=["nothing_idx"])


def test_a_parameter_that_has_no_effect_is_refused(spark, catalog):
    catalog.make("t", 1)
    with pytest.raises(errors.InvalidInputError, match="num_partitions"):
        index(spark, "t", "id", catalog=catalog.properties, num_partitions=2)
    with pytest.raises(errors.InvalidInputError, match="partitions"):
        index(spark, "t", "v", "IVF_PQ", catalog=catalog.properties, partitions=2)


def test_segments_that_are_still_good_land_after_a_conflict(spark, catalog):
    table, told = catalog.make("t", 3), []

    def index_once(progress):
        if not told:
            table.index("id", name="id_idx")
        told.append(progress)

    asked = {"catalog": catalog.properties, "progress": index_once, "tasks": 3}
    report = index(spark, "t", "id", "BITMAP", replace=True, **asked)
    assert report.tables[0].conflicts == 1
    assert table.indexes()[0].index_type == "BITMAP"
    assert coverage(table, "id_idx")[0] == 3 * ROWS
