"""Ingest through a real Spark: files of many kinds, each of them once."""

from __future__ import annotations

import json
import os

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lanceyard
from lanceyard.spark.ingestion import ingest
from lanceyard.spark.ledger import FOLDER

QUIET = {"progress": lambda _: None}


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def yard(tmp_path):
    yard = lanceyard.open(tmp_path / "yard")
    yard.create_namespace("raw")
    return yard


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "yard")


def put(source, file, **columns):
    path = source / file
    path.parent.mkdir(exist_ok=True)
    table = pa.table(columns)
    if file.endswith(".parquet"):
        pq.write_table(table, path)
    elif file.endswith(".csv"):
        lines = [",".join(table.column_names)]
        lines += [",".join(str(value) for value in row.values()) for row in table.to_pylist()]
        path.write_text("\n".join(lines))
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_files_become_rows_and_each_file_only_once(spark, source, yard, root, ending):
    put(source, f"a.{ending}", id=[1, 2], name=["x", "y"])
    put(source, f"deeper/b.{ending}", id=[3], name=["z"])
    done = ingest(spark, source, "raw.t", catalog=root, **QUIET)
    assert str(done) == "raw.t: 3 rows from 2 files, 0 files skipped"
    put(source, f"c.{ending}", id=[4], name=["w"])
    done = ingest(spark, source, "raw.t", catalog=root, **QUIET)
    assert (done.files, done.skipped, done.rows) == (1, 2, 1)
    assert sorted(yard.table("raw.t").read()["id"].to_pylist()) == [1, 2, 3, 4]


def test_images_are_kept_as_blobs(spark, source, yard, root):
    (source / "one.png").write_bytes(b"\x89PNG one")
    (source / "two.jpg").write_bytes(b"two")
    done = ingest(spark, source, "raw.images", catalog=root, **QUIET)
    assert (done.files, done.rows) == (2, 2)
    dataset = yard.table("raw.images").to_lance()
    assert "blob" in str(dataset.schema.field("content").type)
    rows = dataset.scanner(blob_handling="all_binary").to_table().to_pylist()
    assert sorted((row["size"], row["content"]) for row in rows) == [
        (3, b"two"),
        (8, b"\x89PNG one"),
    ]


def test_many_files_are_several_commits_with_progress(spark, source, yard, root):
    for number in range(5):
        put(source, f"{number}.json", id=[number])
    shown = []
    ingest(spark, source, "raw.t", catalog=root, files_per_commit=2, progress=shown.append)
    assert [(progress.files, progress.of, progress.rows) for progress in shown] == [
        (2, 5, 2),
        (4, 5, 4),
        (5, 5, 5),
    ]
    assert yard.table("raw.t").version == 3


def test_a_file_that_changed_is_told_and_not_read_again(spark, source, yard, root):
    put(source, "a.json", id=[1])
    ingest(spark, source, "raw.t", catalog=root, **QUIET)
    put(source, "a.json", id=[1, 2])
    done = ingest(spark, source, "raw.t", catalog=root, **QUIET)
    assert (done.files, len(done.changed)) == (0, 1)
    assert "1 of them changed since" in str(done)


def test_new_columns_get_the_types_they_are_given(spark, source, tmp_path):
    put(source, "a.json", v=[[0.5, 1.5], [2.5, 3.5]])
    path = str(tmp_path / "t.lance")
    ingest(spark, source, path, columns={"v.arrow.fixed-size-list.size": "2"}, **QUIET)
    ingest(spark, source, path, columns={"v.arrow.fixed-size-list.size": "2"}, **QUIET)
    assert lance.dataset(path).schema.field("v").type == pa.list_(pa.float64(), 2)
    assert lance.dataset(path).count_rows() == 2


def test_a_crash_after_the_commit_is_found_out(spark, source, yard, root, monkeypatch):
    put(source, "a.json", id=[1])
    monkeypatch.setattr("lanceyard.spark.ledger.Ledger.done", _die)
    with pytest.raises(KeyboardInterrupt):
        ingest(spark, source, "raw.t", catalog=root, **QUIET)
    monkeypatch.undo()
    done = ingest(spark, source, "raw.t", catalog=root, **QUIET)
    assert (done.files, done.skipped) == (0, 1)
    assert yard.table("raw.t").read()["id"].to_pylist() == [1]


def test_a_crash_before_the_commit_is_made_good(spark, source, yard, root, monkeypatch):
    put(source, "a.json", id=[1])
    monkeypatch.setattr("pyspark.sql.DataFrameWriter.save", _die)
    with pytest.raises(KeyboardInterrupt):
        ingest(spark, source, "raw.t", catalog=root, **QUIET)
    monkeypatch.undo()
    assert ingest(spark, source, "raw.t", catalog=root, **QUIET).rows == 1
    assert yard.table("raw.t").read()["id"].to_pylist() == [1]


def _die(*_args, **_kwargs):
    raise KeyboardInterrupt


def test_the_ledger_lies_in_the_table(spark, source, yard, root):
    put(source, "a.json", id=[1])
    ingest(spark, source, "raw.t", catalog=root, **QUIET)
    location = yard.table("raw.t").location
    yard.drop("raw.t")
    assert not os.path.exists(f"{location}/{FOLDER}")
    assert ingest(spark, source, "raw.t", catalog=root, **QUIET).rows == 1


@pytest.mark.parametrize(
    ("name", "columns", "text"),
    [
        ("b.json", {"id": [2], "extra": [1]}, "does not have: extra"),
        ("b.json", {"id": ["two"]}, "Malformed|FAILFAST|type mismatch|cannot"),
    ],
)
def test_files_that_do_not_fit_are_refused_and_nothing_is_added(
    spark, source, yard, root, name, columns, text
):
    put(source, "a.json", id=[1])
    ingest(spark, source, "raw.t", catalog=root, **QUIET)
    put(source, name, **columns)
    with pytest.raises(Exception, match=text):
        ingest(spark, source, "raw.t", catalog=root, **QUIET)
    assert yard.table("raw.t").version == 1


def test_files_of_several_kinds_need_a_word(spark, source, root, yard):
    put(source, "a.json", id=[1])
    put(source, "b.csv", id=[2])
    with pytest.raises(lanceyard.errors.InvalidInputError, match=r"endings: \.csv, \.json"):
        ingest(spark, source, "raw.t", catalog=root, **QUIET)
    assert ingest(spark, source, "raw.t", catalog=root, pattern="*.csv", **QUIET).rows == 1


def test_an_unknown_format_is_told(spark, source, root, yard):
    put(source, "a.json", id=[1])
    with pytest.raises(lanceyard.errors.InvalidInputError, match="known are parquet, csv"):
        ingest(spark, source, "raw.t", catalog=root, format="xml", **QUIET)
