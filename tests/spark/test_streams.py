"""Streams through a real Spark: tables as sources, and as sinks that take a batch exactly once."""

from __future__ import annotations

from datetime import timedelta

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.spark.options import Options
from lanceyard.spark.stream_reader import LanceStreamReader
from lanceyard.spark.stream_writer import BATCH, BEGIN, QUERY, LanceStreamWriter
from lanceyard.spark.types import spark_schema

SCHEMA = pa.schema([("n", pa.int64())])


def rows(*numbers):
    return pa.table({"n": pa.array(numbers, pa.int64())})


@pytest.fixture
def table(tmp_path):
    """A table of two versions with two fragments."""
    path = str(tmp_path / "source.lance")
    lance.write_dataset(rows(1, 2), path)
    lance.write_dataset(rows(3), path, mode="append")
    return path


@pytest.fixture
def follow(spark, tmp_path):
    """Run a stream from a table until it has read all, and return what arrived so far."""

    def run(path, target="sink.lance", checkpoint="checkpoint", **options):
        stream = spark.readStream.format("lance").options(**options).load(path)
        query = (
            stream.writeStream.format("lance")
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start(str(tmp_path / target))
        )
        assert query.awaitTermination(120)
        return numbers(tmp_path / target)

    return run


def numbers(path):
    return sorted(lance.dataset(str(path)).to_table()["n"].to_pylist())


def test_a_stream_begins_with_all_rows_and_goes_on_with_new_ones(follow, table):
    assert follow(table) == [1, 2, 3]
    lance.write_dataset(rows(4), table, mode="append")
    assert follow(table) == [1, 2, 3, 4]
    assert follow(table) == [1, 2, 3, 4]


def test_a_stream_of_a_catalog_table_goes_into_a_catalog_table(spark, tmp_path):
    mode = {"dir_listing_enabled": "false", "table_version_management": "true"}
    yard = lanceyard.open(tmp_path / "yard", **mode)
    yard.create_table("source", rows(1, 2))
    root = {"catalog.root": str(tmp_path / "yard")}
    root |= {f"catalog.{key}": value for key, value in mode.items()}

    def run():
        source = spark.readStream.format("lanceyard").options(**root).option("table", "source")
        query = (
            source.load()
            .selectExpr("n * 10 n")
            .writeStream.format("lanceyard")
            .options(**root)
            .option("table", "target")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        return sorted(yard.table("target").read()["n"].to_pylist())

    assert run() == [10, 20]
    yard.table("source").append(rows(3))
    assert run() == [10, 20, 30]
    described = yard.namespace.describe_table({"id": ["target"]})
    assert described.managed_versioning


def test_complete_output_replaces_the_table(spark, tmp_path, table):
    def run():
        counted = spark.readStream.format("lance").load(table).groupBy().count()
        query = (
            counted.writeStream.format("lance")
            .outputMode("complete")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "counts.lance"))
        )
        assert query.awaitTermination(120)
        return lance.dataset(str(tmp_path / "counts.lance")).to_table()["count"].to_pylist()

    assert run() == [3]
    lance.write_dataset(rows(4), table, mode="append")
    assert run() == [4]


# The reader by itself.


def reader(path, **options):
    schema = spark_schema(lance.dataset(path).schema)
    return LanceStreamReader(schema, Options.parse({"path": path, **options}))


def batches(stream, start=None):
    """The numbers of each micro-batch until nothing is new."""
    found = []
    start = start or stream.initialOffset()
    while (end := stream.latestOffset(start, None)) != start:
        tasks = stream.partitions(start, end)
        found.append(
            sorted(n for task in tasks for b in stream.read(task) for n in b["n"].to_pylist())
        )
        start = end
    return found, start


def test_a_new_stream_can_begin_with_the_first_version(table):
    assert batches(reader(table, start_version="0"))[0] == [[1, 2, 3]]


def test_a_new_stream_can_begin_after_a_version(table):
    assert batches(reader(table, start_version="1"))[0] == [[3]]


def test_a_new_stream_can_begin_with_what_comes(table):
    stream = reader(table, start="latest")
    assert batches(stream)[0] == []
    start = stream.initialOffset()
    lance.write_dataset(rows(9), table, mode="append")
    assert batches(stream, start)[0] == [[9]]


def test_a_snapshot_needs_no_history(table):
    dataset = lance.dataset(table)
    dataset.cleanup_old_versions(older_than=timedelta(0))
    assert batches(reader(table))[0] == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"max_versions_per_trigger": "1"}, [[1, 2], [3], [4, 5]]),
        ({"max_fragments_per_trigger": "2"}, [[1, 2, 3], [4, 5]]),
        ({"max_rows_per_trigger": "2"}, [[1, 2], [3], [4, 5]]),
        ({"max_rows_per_trigger": "1"}, [[1, 2], [3], [4, 5]]),
        ({"max_bytes_per_trigger": "1"}, [[1, 2], [3], [4, 5]]),
    ],
)
def test_a_micro_batch_takes_no_more_than_it_may(table, limit, expected):
    lance.write_dataset(rows(4, 5), table, mode="append")
    assert batches(reader(table, start_version="0", **limit))[0] == expected


def test_a_snapshot_is_read_in_parts(table):
    assert batches(reader(table, max_fragments_per_trigger="1"))[0] == [[1, 2], [3]]


def test_a_first_batch_that_is_repeated_is_the_same(table):
    before = reader(table, max_fragments_per_trigger="1")
    end = before.latestOffset(before.initialOffset(), None)
    lance.write_dataset(rows(4), table, mode="append")
    again = reader(table, max_fragments_per_trigger="1")
    tasks = again.partitions(again.initialOffset(), end)
    assert [n for task in tasks for b in again.read(task) for n in b["n"].to_pylist()] == [1, 2]
    assert batches(again, end)[0] == [[3], [4]]


def test_a_spark_that_does_not_say_where_it_stands_gets_every_row_once(table):
    stream = reader(table)
    start, end = stream.initialOffset(), stream.latestOffset()
    lance.write_dataset(rows(4), table, mode="append")
    again = reader(table)
    for begin in (start, again.initialOffset()):
        tasks = again.partitions(begin, end)
        found = [n for task in tasks for b in again.read(task) for n in b["n"].to_pylist()]
        assert sorted(found) == [1, 2, 3]
    tasks = again.partitions(end, again.latestOffset())
    assert [n for task in tasks for b in again.read(task) for n in b["n"].to_pylist()] == [4]


def test_available_now_reads_up_to_where_it_began(table):
    stream = reader(table)
    stream.prepareForTriggerAvailableNow()
    lance.write_dataset(rows(4), table, mode="append")
    assert batches(stream, {"version": 0})[0] == [[1, 2, 3]]


def test_versions_that_only_rewrite_index_or_configure_are_skipped(table):
    start = reader(table, start="latest").initialOffset()
    dataset = lance.dataset(table)
    dataset.optimize.compact_files()
    dataset.create_scalar_index("n", "BTREE")
    dataset.update_config({"a": "b"})
    dataset.update_metadata({"a": "b"})
    dataset.add_columns({"m": "n * 2"})
    lance.dataset(table).drop_columns(["m"])
    lance.write_dataset(rows(4), table, mode="append")
    assert batches(reader(table), start)[0] == [[4]]


def _delete(path):
    lance.dataset(path).delete("n = 1")


def _update(path):
    lance.dataset(path).update({"n": "n + 100"}, where="n = 1")


def _upsert(path):
    lance.dataset(path).merge_insert(
        "n"
    ).when_matched_update_all().when_not_matched_insert_all().execute(rows(1, 7))


def _overwrite(path):
    lance.write_dataset(rows(5), path, mode="overwrite")


def _restore(path):
    lance.dataset(path, version=1).restore()


@pytest.mark.parametrize("change", [_delete, _update, _upsert, _overwrite, _restore])
def test_changed_rows_stop_a_stream_unless_it_is_told_what_to_do(table, change):
    start = reader(table, start="latest").initialOffset()
    change(table)
    with pytest.raises(lanceyard.errors.UnsupportedOperationError, match="on_change"):
        batches(reader(table), start)
    assert batches(reader(table, on_change="ignore"), start)[0] in ([], [[]])


@pytest.mark.parametrize(
    ("change", "expected"),
    [(_delete, []), (_update, [101]), (_upsert, [1, 7]), (_overwrite, [5]), (_restore, [])],
)
def test_changed_rows_are_emitted_again_where_that_is_wanted(table, change, expected):
    start = reader(table, start="latest").initialOffset()
    change(table)
    found, _ = batches(reader(table, on_change="reemit"), start)
    assert [n for batch in found for n in batch] == expected


def test_an_upsert_that_only_inserts_is_like_an_append(table):
    start = reader(table, start="latest").initialOffset()
    lance.dataset(table).merge_insert("n").when_not_matched_insert_all().execute(rows(3, 7))
    assert batches(reader(table), start)[0] == [[7]]


def test_a_version_that_was_cleaned_away_is_told(table):
    for number in (4, 5):
        lance.write_dataset(rows(number), table, mode="append")
    lance.dataset(table).cleanup_old_versions(older_than=timedelta(0))
    with pytest.raises(lanceyard.errors.TableVersionNotFoundError, match="was cleaned away"):
        batches(reader(table), {"version": 1})


def test_a_table_that_was_replaced_by_another_is_told(table):
    with pytest.raises(lanceyard.errors.TableVersionNotFoundError, match="replaced by another"):
        reader(table).latestOffset({"version": 99}, None)


@pytest.mark.parametrize("option", ["tag", "branch", "timestamp"])
def test_a_stream_cannot_be_pinned(table, option):
    with pytest.raises(lanceyard.errors.LanceNamespaceError):
        reader(table, **{option: "main"})


# The sink by itself, as Spark's processes drive it.


@pytest.fixture
def sink(tmp_path):
    path = str(tmp_path / "sink.lance")

    def make(query="q", **options):
        return LanceStreamWriter(
            spark_schema(SCHEMA),
            Options.parse({"path": path, "query_id": query, **options}),
            overwrite=False,
        )

    make.path = path
    return make


def run(sink, batch, *numbers, query="q", **options):
    message = sink(query, **options).write(iter(rows(*numbers).to_batches()))
    sink(query, **options).commit([message, None], batch)


def test_the_commit_of_a_batch_names_query_and_batch(sink):
    run(sink, 0, 1)
    run(sink, 1, 2)
    dataset = lance.dataset(sink.path)
    properties = dataset.read_transaction(dataset.version).transaction_properties
    assert (properties[QUERY], properties[BATCH]) == ("q", "1")


def test_a_batch_that_comes_again_is_not_written_again(sink):
    run(sink, 0, 1)
    run(sink, 0, 1)
    run(sink, 1, 2)
    run(sink, 0, 1)
    run(sink, 1, 2)
    assert numbers(sink.path) == [1, 2]


def test_queries_do_not_take_each_other_for_themselves(sink):
    run(sink, 0, 1, query="a")
    run(sink, 0, 2, query="b")
    run(sink, 1, 3, query="a")
    run(sink, 0, 2, query="b")
    assert numbers(sink.path) == [1, 2, 3]


def test_a_batch_is_found_behind_the_commits_of_others(sink):
    run(sink, 0, 1)
    for number in range(5):
        lance.write_dataset(rows(100 + number), sink.path, mode="append")
    run(sink, 0, 1)
    assert numbers(sink.path) == [1, 100, 101, 102, 103, 104]


def test_of_two_that_commit_the_same_batch_at_once_one_lands(sink, monkeypatch):
    run(sink, 0, 1)
    zombie = sink()
    late = zombie.write(iter(rows(2).to_batches()))
    asked = LanceStreamWriter._is_done

    def overtaken(self, dataset, query, batch):
        answer = asked(self, dataset, query, batch)
        monkeypatch.undo()
        run(sink, 1, 2)
        return answer

    monkeypatch.setattr(LanceStreamWriter, "_is_done", overtaken)
    zombie.commit([late], 1)
    assert numbers(sink.path) == [1, 2]


def test_a_new_query_does_not_search_all_history(sink):
    lance.write_dataset(rows(0), sink.path)
    run(sink, 0, 1)
    assert lance.dataset(sink.path).config()[BEGIN + "q"] == "1"


def test_two_that_note_the_same_query_at_once_are_both_heard(sink, monkeypatch):
    lance.write_dataset(rows(0), sink.path)
    late = sink("q").write(iter(rows(1).to_batches()))
    note = lance.LanceDataset.update_config

    def overtaken(self, updates):
        monkeypatch.undo()
        lance.dataset(sink.path).update_config({BEGIN + "q": "1"})
        return note(self, updates)

    monkeypatch.setattr(lance.LanceDataset, "update_config", overtaken)
    sink("q").commit([late], 0)
    assert numbers(sink.path) == [0, 1]


def test_a_new_query_can_write_a_table_whose_history_was_cleaned(sink):
    lance.write_dataset(rows(0), sink.path)
    lance.write_dataset(rows(1), sink.path, mode="append")
    lance.dataset(sink.path).cleanup_old_versions(older_than=timedelta(0))
    run(sink, 0, 2)
    run(sink, 0, 2)
    assert numbers(sink.path) == [0, 1, 2]


@pytest.mark.parametrize("made", ["by another", "by the query"])
def test_a_batch_that_nobody_knows_of_is_not_guessed(sink, made):
    if made == "by another":
        lance.write_dataset(rows(0), sink.path)
    run(sink, 0, 1)
    lance.write_dataset(rows(9), sink.path, mode="append")
    lance.dataset(sink.path).cleanup_old_versions(older_than=timedelta(0))
    with pytest.raises(lanceyard.errors.TableVersionNotFoundError, match="on_unknown_batch"):
        run(sink, 0, 1)
    before = numbers(sink.path)
    run(sink, 0, 1, on_unknown_batch="skip")
    assert numbers(sink.path) == before
    run(sink, 0, 1, on_unknown_batch="write")
    assert numbers(sink.path) == sorted([*before, 1])


def test_two_queries_that_make_a_table_both_add_to_it(sink):
    late = sink("b").write(iter(rows(2).to_batches()))
    run(sink, 0, 1, query="a")
    sink("b").commit([late], 0)
    assert numbers(sink.path) == [1, 2]


def test_a_table_that_was_made_with_other_columns_is_not_mixed_up(sink):
    late = sink().write(iter(rows(2).to_batches()))
    lance.write_dataset(pa.table({"m": ["x"], "n": [1]}), sink.path)
    with pytest.raises(lanceyard.errors.ConcurrentModificationError, match="restart the query"):
        sink().commit([late], 0)
    run(sink, 0, 2)
    assert numbers(sink.path) == [1, 2]


def test_a_table_that_got_other_columns_meanwhile_is_not_mixed_up(sink):
    run(sink, 0, 1)
    late = sink().write(iter(rows(2).to_batches()))
    lance.write_dataset(pa.table({"m": ["x"], "n": [9]}), sink.path, mode="overwrite")
    with pytest.raises(lanceyard.errors.ConcurrentModificationError, match="restart the query"):
        sink().commit([late], 1)
    run(sink, 1, 2)
    assert numbers(sink.path) == [2, 9]


def test_a_batch_without_rows_is_nothing(sink):
    run(sink, 0, 1)
    version = lance.dataset(sink.path).version
    sink().commit([], 1)
    assert lance.dataset(sink.path).version == version
