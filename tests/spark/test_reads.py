"""Batch reads through a real Spark."""

from __future__ import annotations

import json
import pickle
import shutil

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.spark.options import Options
from lanceyard.spark.reader import LanceReader
from lanceyard.spark.scan import Scan

VECTORS = [[float(i), float(-i)] for i in range(10)]


@pytest.fixture
def yard(tmp_path):
    """A catalog with a table of three versions."""
    yard = lanceyard.open(tmp_path / "yard", dir_listing_enabled="false")
    yard.create_namespace("shop")
    table = yard.create_table(
        "shop.items",
        pa.table(
            {
                "id": pa.array(range(10), pa.int64()),
                "name": pa.array([f"item {i}" for i in range(10)]),
                "v": pa.array(VECTORS, pa.list_(pa.float32(), 2)),
            }
        ),
    )
    more = table.to_lance().schema
    for start in (10, 20):
        rows = {"id": [start], "name": [f"item {start}"], "v": [[0.5, 0.5]]}
        table.append(pa.table(rows, schema=more))
    return yard


@pytest.fixture
def read(spark, yard, tmp_path):
    def load(**options):
        reader = spark.read.format("lance").option("catalog.root", str(tmp_path / "yard"))
        reader = reader.option("catalog.dir_listing_enabled", "false")
        return reader.option("table", "shop.items").options(**options).load()

    return load


def ids(frame):
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize("source", ["lance", "lanceyard"])
def test_a_table_of_a_catalog_is_read_by_name(spark, yard, tmp_path, source):
    frame = (
        spark.read.format(source)
        .option("catalog.impl", "dir")
        .option("catalog.root", str(tmp_path / "yard"))
        .option("table", "shop.items")
        .load()
    )
    assert ids(frame) == [*range(11), 20]
    assert frame.schema["v"].dataType.simpleString() == "array<float>"


def test_a_table_is_read_by_path(spark, yard):
    assert spark.read.format("lance").load(yard.table("shop.items").location).count() == 12


def test_a_version_is_read(read):
    assert ids(read(version="1")) == [*range(10)]


def test_a_tag_is_read(read, yard):
    yard.table("shop.items").to_lance().tags.create("first", 1)
    assert ids(read(tag="first")) == [*range(10)]


def test_a_branch_is_read(read, yard):
    dataset = yard.table("shop.items").to_lance()
    branch = dataset.create_branch("side", 1)
    branch.insert(pa.table({"id": [99], "name": ["x"], "v": [[0.0, 0.0]]}, schema=dataset.schema))
    assert ids(read(branch="side")) == [*range(10), 99]
    assert ids(read()) == [*range(11), 20]


def test_the_version_of_a_moment_is_read(read, yard):
    versions = yard.table("shop.items").to_lance().versions()
    moment = versions[1]["timestamp"].astimezone().isoformat()
    assert ids(read(timestamp=moment)) == [*range(11)]


def test_columns_are_chosen(read):
    assert read(columns="name,id").columns == ["name", "id"]


def test_a_schema_of_the_user_chooses_columns(spark, yard):
    location = yard.table("shop.items").location
    frame = spark.read.format("lance").schema("id long").load(location)
    assert (frame.columns, frame.count()) == (["id"], 12)


def test_rows_are_chosen_by_sql(read):
    assert ids(read(filter="id % 5 = 0")) == [0, 5, 10, 20]


def test_row_ids_and_addresses_are_added(read):
    rows = read(with_row_id="true", with_row_address="true", version="1").collect()
    assert [row._rowid for row in rows] == [row._rowaddr for row in rows] == [*range(10)]


def test_a_vector_search_returns_the_nearest_with_their_distances(read):
    near = json.dumps({"column": "v", "q": [3.1, -3.1], "k": 3})
    rows = read(nearest=near).orderBy("_distance").collect()
    assert [row.id for row in rows] == [3, 4, 2]
    assert rows[0]._distance == pytest.approx(0.02, abs=1e-4)


def test_a_filter_after_a_search_does_not_change_what_is_nearest(read):
    near = json.dumps({"column": "v", "q": [3.1, -3.1], "k": 3})
    assert ids(read(nearest=near).where("id > 3")) == [4]


def test_a_filter_in_a_search_comes_before_it(read):
    near = json.dumps({"column": "v", "q": [3.1, -3.1], "k": 2})
    assert ids(read(nearest=near, filter="id > 3")) == [4, 5]


def test_a_text_search_returns_what_matches_with_a_score(read, yard):
    yard.table("shop.items").to_lance().create_scalar_index("name", "INVERTED")
    rows = read(full_text_query="7", limit="5").collect()
    assert [row.name for row in rows] == ["item 7"]
    assert rows[0]._score > 0


def test_filters_reach_lance(read):
    frame = read().where("id = 7 and name like 'item%'")
    assert ids(frame) == [7]
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan


def test_filters_work_in_a_session_without_pushdown(spark, yard):
    plain = spark.newSession()
    plain.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    frame = plain.read.format("lance").load(yard.table("shop.items").location).where("id < 3")
    assert ids(frame) == [0, 1, 2]


def test_an_index_leads_to_the_fragments_that_matter(read, yard):
    dataset = yard.table("shop.items").to_lance()
    dataset.create_scalar_index("id", "BTREE")
    frame = read().where("id in (10, 20)")
    assert ids(frame) == [10, 20]
    assert ids(read().where("id = 12345")) == []


def test_many_small_fragments_cost_two_tasks(spark, tmp_path):
    path = str(tmp_path / "many.lance")
    for _ in range(8):
        lance.write_dataset(
            pa.table({"n": range(8_000)}), path, mode="append", max_rows_per_file=1_000
        )
    assert len(lance.dataset(path).get_fragments()) == 64
    frame = spark.read.format("lance").option("parallelism", "2").load(path)
    assert frame.rdd.getNumPartitions() == 2
    assert frame.count() == 64_000


def test_a_large_fragment_is_read_in_parts(spark, tmp_path):
    path = str(tmp_path / "large.lance")
    lance.write_dataset(pa.table({"n": range(100_000)}), path)
    size = sum(f.file_size_bytes for f in lance.dataset(path).get_fragments()[0].metadata.files)
    frame = spark.read.format("lance").option("bytes_per_task", str(size // 4)).load(path)
    assert frame.rdd.getNumPartitions() == 4
    assert frame.agg({"n": "sum"}).collect()[0][0] == sum(range(100_000))


def test_an_empty_table_has_no_rows(spark, tmp_path):
    path = str(tmp_path / "empty.lance")
    lance.write_dataset(pa.schema([("n", pa.int64())]).empty_table(), path)
    assert spark.read.format("lance").load(path).count() == 0


def test_a_worker_does_not_remember_an_earlier_table(spark, tmp_path):
    path = str(tmp_path / "t.lance")
    for value in (1, 2):
        shutil.rmtree(path, ignore_errors=True)
        lance.write_dataset(pa.table({"n": [value]}), path)
        assert spark.read.format("lance").load(path).collect()[0].n == value


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"table": "shop.nosuch"}, "table shop.nosuch was not found"),
        ({"version": "99"}, "has no version 99"),
        ({"tag": "nosuch"}, "has no tag 'nosuch'"),
        ({"branch": "nosuch"}, "has no branch 'nosuch'"),
        ({"timestamp": "1999-01-01"}, "had no version at 1999-01-01"),
        ({"timestamp": "yesterday"}, "option timestamp"),
        ({"columns": "id,nosuch"}, "has no column 'nosuch': it has id, name, v"),
        ({"verison": "1"}, "did you mean 'version'"),
    ],
)
def test_what_cannot_be_read_is_told_when_it_is_planned(read, options, text):
    with pytest.raises(Exception, match=text):
        read(**options)


def test_a_wrong_condition_is_told(read):
    with pytest.raises(Exception, match="nosuch"):
        read(filter="nosuch = 3").collect()


@pytest.fixture
def planned(yard, tmp_path):
    """A read as executors get it, and the root of its catalog."""
    root = tmp_path / "yard"
    named = {"catalog.root": str(root), "table": "shop.items"}
    options = Options.parse({**named, "catalog.dir_listing_enabled": "false"})
    reader = LanceReader(Scan.open(options).schema, options)
    return pickle.dumps((reader, reader.partitions())), root


def test_tasks_do_not_ask_the_catalog(planned):
    pickled, root = planned
    (root / "__manifest").rename(root / "elsewhere")
    reader, tasks = pickle.loads(pickled)
    assert sum(batch.num_rows for task in tasks for batch in reader.read(task)) == 12


def test_a_table_that_is_dropped_while_it_is_read_is_told(planned, yard):
    yard.drop("shop.items")
    reader, tasks = pickle.loads(planned[0])
    with pytest.raises(lanceyard.errors.ConcurrentModificationError, match=r"items was dropped"):
        list(reader.read(tasks[0]))


def test_what_tasks_get_is_small(planned):
    pickled, _ = planned
    assert len(pickled) < 20_000


def test_a_declared_table_has_nothing_to_read(spark, yard, tmp_path):
    yard.namespace.declare_table({"id": ["shop", "later"]})
    with pytest.raises(Exception, match="was declared and has no data yet"):
        spark.read.format("lance").option("catalog.root", str(tmp_path / "yard")).option(
            "table", "shop.later"
        ).load()
