"""Batch writes through a real Spark."""

from __future__ import annotations

import os
import pickle

import lance
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

import lanceyard
from lanceyard.spark.options import Options
from lanceyard.spark.write import Write

MODES = {
    "v2": {"dir_listing_enabled": "false"},
    "compat": {},
    "managed": {"table_version_management": "true"},
    "v1": {"manifest_enabled": "false"},
}
NUMBERS = StructType([StructField("id", LongType(), nullable=False)])

in_every_mode = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


@pytest.fixture
def mode():
    return MODES["v2"]


@pytest.fixture
def yard(tmp_path, mode):
    return lanceyard.open(tmp_path / "yard", **mode)


@pytest.fixture
def catalog(tmp_path, mode):
    named = {f"catalog.{key}": value for key, value in mode.items()}
    return {"catalog.root": str(tmp_path / "yard"), **named}


def write(frame, catalog, table="t", mode="append", **options):
    frame.write.format("lance").mode(mode).options(**catalog, **options).option(
        "table", table
    ).save()


def files(location):
    return set(os.listdir(os.path.join(location, "data")))


@in_every_mode
def test_a_table_is_created_appended_to_and_replaced(spark, yard, catalog):
    write(spark.range(10), catalog)
    write(spark.range(10, 15), catalog)
    table = yard.table("t")
    assert sorted(table.read()["id"].to_pylist()) == [*range(15)]
    write(spark.range(3).withColumn("x", F.lit("y")), catalog, mode="overwrite")
    assert table.read().sort_by("id").to_pydict() == {"id": [0, 1, 2], "x": ["y"] * 3}
    assert table.version == 3


def test_one_job_is_one_version(spark, yard, catalog):
    write(spark.range(1_000).repartition(8), catalog)
    table = yard.table("t")
    assert (table.version, table.count()) == (1, 1_000)


def test_an_empty_frame_makes_an_empty_table(spark, yard, catalog):
    write(spark.range(0), catalog)
    assert (yard.table("t").count(), yard.table("t").schema.names) == (0, ["id"])


def test_appending_nothing_makes_no_version(spark, yard, catalog):
    write(spark.range(3), catalog)
    write(spark.range(0), catalog)
    assert yard.table("t").version == 1


def test_a_declared_table_is_filled_where_it_was_declared(spark, yard, catalog):
    declared = yard.namespace.declare_table({"id": ["t"]})
    write(spark.range(3), catalog)
    assert yard.table("t").location == declared.location
    assert yard.table("t").count() == 3


def test_a_table_can_be_replaced_by_what_was_read_from_it(spark, yard, catalog):
    write(spark.range(10), catalog)
    read = spark.read.format("lance").options(**catalog).option("table", "t").load()
    write(read.where("id % 2 = 0"), catalog, mode="overwrite")
    assert sorted(yard.table("t").read()["id"].to_pylist()) == [0, 2, 4, 6, 8]


def test_a_path_is_written(spark, tmp_path):
    path = str(tmp_path / "t.lance")
    spark.range(5).write.format("lance").mode("append").save(path)
    spark.range(5).write.format("lance").mode("append").save(path)
    assert lance.dataset(path).count_rows() == 10


def test_columns_get_the_types_that_options_give_them(spark, tmp_path):
    path = str(tmp_path / "t.lance")
    rows = [(1, [1.0, 2.0], b"x", "a"), (2, [3.0, 4.0], None, None)]
    frame = spark.createDataFrame(rows, "id int, V array<float>, image binary, text string")
    frame.write.format("lance").mode("append").options(
        **{
            "V.arrow.fixed-size-list.size": "2",
            "image.lance.encoding": "blob",
            "text.arrow.large_var_char": "true",
        }
    ).save(path)
    schema = lance.dataset(path).schema
    assert schema.field("V").type == pa.list_(pa.float32(), 2)
    assert schema.field("text").type == pa.large_string()
    assert "blob" in str(schema.field("image").type)
    back = spark.read.format("lance").load(path).orderBy("id").collect()
    assert [tuple(row) for row in back] == [
        (1, [1.0, 2.0], bytearray(b"x"), "a"),
        (2, [3.0, 4.0], None, None),
    ]


def test_a_table_that_is_copied_keeps_its_arrow_types(spark, tmp_path):
    source, target = str(tmp_path / "a.lance"), str(tmp_path / "b.lance")
    schema = pa.schema(
        [
            pa.field("u", pa.uint8()),
            pa.field("v", pa.list_(pa.float16(), 3)),
            pa.field("at", pa.timestamp("ms", "Europe/Berlin")),
            pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        ]
    )
    rows = {"u": [255], "v": [[1, 2, 3]], "at": [1_700_000_000_123], "kind": ["x"]}
    table = pa.table({name: pa.array(rows[name]).cast(schema.field(name).type) for name in rows})
    lance.write_dataset(table, source)
    spark.read.format("lance").load(source).write.format("lance").mode("append").save(target)
    assert lance.dataset(target).schema == lance.dataset(source).schema
    assert lance.dataset(target).to_table() == lance.dataset(source).to_table()


def test_rows_and_sums_equal_those_of_parquet(spark, tmp_path):
    frame = spark.range(20_000).selectExpr(
        "id", "cast(id % 7 as int) k", "if(id % 11 = 0, null, concat('s', id)) s", "id / 3 x"
    )
    frame.write.mode("overwrite").parquet(str(tmp_path / "p"))
    frame.write.format("lance").mode("append").save(str(tmp_path / "l.lance"))

    def checked(found):
        return found.selectExpr("count(*)", "sum(hash(id, k, s, x))", "count(s)").collect()

    assert checked(spark.read.parquet(str(tmp_path / "p"))) == checked(
        spark.read.format("lance").load(str(tmp_path / "l.lance"))
    )


@pytest.mark.parametrize(
    ("frame", "options", "text"),
    [
        ("id int, x string", {}, "id"),
        ("id long, y string", {}, "y"),
        ("id long, x string, z int", {}, "z"),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_anything_is_written(
    spark, tmp_path, frame, options, text
):
    path = str(tmp_path / "t.lance")
    spark.createDataFrame([(1, "a")], "id long, x string").write.format("lance").mode(
        "append"
    ).save(path)
    before = files(path)
    wrong = spark.createDataFrame([], frame.replace("id int", "id string"))
    with pytest.raises(Exception, match=text):
        wrong.write.format("lance").mode("append").options(**options).save(path)
    assert files(path) == before


def test_a_value_that_does_not_fit_is_told_with_its_column(spark, tmp_path):
    path = str(tmp_path / "t.lance")
    wrong = spark.createDataFrame([([1.0, 2.0],), ([1.0],)], "v array<float>").coalesce(1)
    with pytest.raises(Exception, match=r"(?s)InvalidInputError.*\bv\b"):
        wrong.write.format("lance").mode("append").option("v.arrow.fixed-size-list.size", "2").save(
            path
        )
    assert not os.path.exists(f"{path}/_versions")


def test_a_table_that_exists_or_is_missing_can_be_refused(spark, yard, catalog):
    with pytest.raises(Exception, match="was not found, and if_missing=fail"):
        write(spark.range(3), catalog, if_missing="fail")
    assert yard.tables() == []
    write(spark.range(3), catalog, if_exists="fail")
    with pytest.raises(Exception, match="exists already, and if_exists=fail"):
        write(spark.range(3), catalog, if_exists="fail")


def test_a_protected_table_is_not_replaced(spark, yard, catalog):
    yard.create_table("t", {"id": [1]}, properties={"protected": "true"})
    with pytest.raises(Exception, match="protected"):
        write(spark.range(3), catalog, mode="overwrite")
    write(spark.range(3), catalog)
    assert yard.table("t").count() == 4


@in_every_mode
def test_a_job_that_fails_leaves_no_table_and_the_next_one_makes_it(spark, yard, catalog):
    broken = spark.range(100, numPartitions=4).selectExpr("if(id = 99, raise_error('no'), id) id")
    with pytest.raises(Exception, match="no"):
        write(broken.selectExpr("cast(id as long) id"), catalog)
    whole = yard.namespace.list_tables({"id": [], "include_declared": False})
    assert list(whole.tables) == []
    write(spark.range(3), catalog)
    assert yard.table("t").count() == 3


# What follows drives the parts of a write by hand, as Spark's processes do.


def begin(catalog):
    return Write.begin(NUMBERS, Options.parse({**catalog, "table": "t"}), overwrite=False)


@pytest.fixture
def filled(yard):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    return yard.create_table("t", pa.table({"id": [0, 1, 2]}, schema=schema))


def batch(*numbers):
    return pa.record_batch({"id": pa.array(numbers, pa.int64())})


@in_every_mode
def test_tasks_do_not_ask_the_catalog(filled, catalog, monkeypatch):
    job = begin(catalog)
    monkeypatch.setattr("lanceyard.spark.reference.TableReference.find", _refuse)
    assert pickle.loads(pickle.dumps(job)).write([batch(7)]).fragments


@in_every_mode
def test_an_abort_after_a_commit_that_landed_deletes_nothing(filled, catalog):
    job = begin(catalog)
    message = job.write([batch(7, 8)])
    job.commit([message, None])
    job.abort([message, None])
    assert sorted(filled.read()["id"].to_pylist()) == [0, 1, 2, 7, 8]


@in_every_mode
def test_an_abort_deletes_the_files_of_tasks_that_finished(filled, catalog):
    before = files(filled.location)
    job = begin(catalog)
    message = job.write([batch(7, 8)])
    assert files(filled.location) != before
    job.abort([message, None])
    assert files(filled.location) == before


@in_every_mode
def test_a_commit_whose_reply_is_lost_is_found(filled, catalog, monkeypatch):
    job = begin(catalog)
    message = job.write([batch(7)])
    real = lance.LanceDataset.commit

    def lose(*args, **kwargs):
        real(*args, **kwargs)
        raise OSError("connection reset")

    monkeypatch.setattr(lance.LanceDataset, "commit", lose)
    job.commit([message])
    monkeypatch.undo()
    assert sorted(filled.read()["id"].to_pylist()) == [0, 1, 2, 7]


@in_every_mode
def test_a_commit_that_fails_says_so_and_its_files_are_deleted(filled, catalog, monkeypatch):
    job = begin(catalog)
    message = job.write([batch(7)])
    monkeypatch.setattr(lance.LanceDataset, "commit", _refuse)
    with pytest.raises(lanceyard.errors.InternalError, match="disk full"):
        job.commit([message])
    monkeypatch.undo()
    job.abort([message])
    assert filled.read()["id"].to_pylist() == [0, 1, 2]


def _refuse(*_args, **_kwargs):
    raise OSError("disk full")


@in_every_mode
def test_of_two_jobs_that_create_a_table_one_wins(yard, catalog):
    jobs = [begin(catalog) for _ in range(2)]
    messages = [job.write([batch(number)]) for number, job in enumerate(jobs)]
    jobs[0].commit([messages[0]])
    with pytest.raises(lanceyard.errors.ConcurrentModificationError):
        jobs[1].commit([messages[1]])
    jobs[1].abort([messages[1]])
    assert yard.table("t").read()["id"].to_pylist() == [0]


@in_every_mode
def test_rows_for_columns_that_were_replaced_meanwhile_are_refused(filled, catalog):
    job = begin(catalog)
    message = job.write([batch(7)])
    filled.overwrite(pa.table({"x": ["a"], "id": [5]}))
    with pytest.raises(lanceyard.errors.ConcurrentModificationError, match="got other columns"):
        job.commit([message])
    assert filled.read().to_pydict() == {"x": ["a"], "id": [5]}


@in_every_mode
def test_rows_are_added_to_a_table_that_got_a_column_meanwhile(filled, catalog):
    job = begin(catalog)
    message = job.write([batch(7)])
    filled.to_lance().add_columns(pa.field("more", pa.int64()))
    job.commit([message])
    assert filled.read().sort_by("id").to_pydict() == {"id": [0, 1, 2, 7], "more": [None] * 4}


@in_every_mode
def test_rows_without_a_new_column_that_must_not_be_null_are_refused(filled, catalog):
    job = begin(catalog)
    message = job.write([batch(7)])
    filled.to_lance().add_columns({"twice": "id * 2"})
    with pytest.raises(lanceyard.errors.ConcurrentModificationError, match="got other columns"):
        job.commit([message])
    assert filled.read().sort_by("id")["twice"].to_pylist() == [0, 2, 4]


@in_every_mode
def test_appends_at_the_same_time_both_land(filled, catalog):
    jobs = [begin(catalog) for _ in range(2)]
    messages = [job.write([batch(number)]) for number, job in enumerate(jobs, 10)]
    for job, message in zip(jobs, messages, strict=True):
        job.commit([message])
    assert sorted(filled.read()["id"].to_pylist()) == [0, 1, 2, 10, 11]


@in_every_mode
def test_a_table_that_is_dropped_while_it_is_written_is_not_brought_back(filled, yard, catalog):
    job = begin(catalog)
    message = job.write([batch(7)])
    yard.drop("t")
    with pytest.raises(lanceyard.errors.ConcurrentModificationError, match="was dropped"):
        job.commit([message])
    assert yard.tables() == []
