"""Every type that Lance holds goes to Spark and back without loss, or is refused by name."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance import LanceDataset, LanceOperation
from lance.arrow import BFloat16Type, EncodedImageType, ImageURIType
from lance.blob import BlobType
from lance.fragment import write_fragments
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from lanceyard.errors import InvalidInputError, UnsupportedOperationError
from lanceyard.spark.batches import IN_UTC
from lanceyard.spark.types import (
    ARROW,
    SIZE,
    ToLance,
    ToSpark,
    check_append,
    lance_schema,
    spark_schema,
)

DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12, 0, 1)  # noqa: DTZ001  columns without a zone exist
INSTANT = NOON.replace(tzinfo=dt.UTC)
POINT = pa.struct([("x", pa.int32()), ("y", pa.uint8())])
STRICT = pa.field("x", pa.int32(), nullable=False)
FLOATS = spark.ArrayType(spark.FloatType())
STRINGS = spark.ArrayType(spark.StringType())

PLAIN: list[tuple[pa.DataType, str, list[Any]]] = [
    (pa.null(), "void", [None]),
    (pa.bool_(), "boolean", [True, False]),
    (pa.int8(), "tinyint", [-128, 127]),
    (pa.int16(), "smallint", [-(2**15), 2**15 - 1]),
    (pa.int32(), "int", [-(2**31), 2**31 - 1]),
    (pa.int64(), "bigint", [-(2**63), 2**63 - 1]),
    (pa.float32(), "float", [1.5, float("-inf")]),
    (pa.float64(), "double", [0.1, float("inf")]),
    (pa.string(), "string", ["", "straße"]),
    (pa.binary(), "binary", [b"", b"\x00\xff"]),
    (pa.date32(), "date", [DAY, dt.date(1, 1, 1)]),
    (pa.timestamp("us"), "timestamp_ntz", [NOON]),
    (pa.timestamp("us", "UTC"), "timestamp", [INSTANT]),
    (pa.time64("ns"), "time(6)", [dt.time(23, 59, 59, 999999)]),
    (pa.duration("us"), "interval day to second", [dt.timedelta(days=-1, microseconds=1)]),
    (pa.decimal128(38, 10), "decimal(38,10)", [Decimal("-1.5"), Decimal("9" * 28)]),
    (pa.list_(pa.int32()), "array<int>", [[], [1, None, 3]]),
    (pa.list_(STRICT.with_name("item")), "array<int>", [[], [1, 2]]),
    (pa.list_(pa.list_(pa.string())), "array<array<string>>", [[[], None, ["a", None]]]),
    (pa.struct([STRICT]), "struct<x:int>", [{"x": 1}]),
    (pa.map_(pa.string(), pa.int32()), "map<string,int>", [[], [("a", 1), ("b", None)]]),
]
"""Arrow types that Spark's types are, and values of them."""

WIDENED: list[tuple[pa.DataType, str, list[Any]]] = [
    (pa.uint8(), "smallint", [0, 255]),
    (pa.uint16(), "int", [0, 2**16 - 1]),
    (pa.uint32(), "bigint", [0, 2**32 - 1]),
    (pa.uint64(), "decimal(20,0)", [0, 2**64 - 1]),
    (pa.float16(), "float", [1.5, -65504.0]),
    (pa.large_string(), "string", ["", "a"]),
    (pa.large_binary(), "binary", [b"", b"a"]),
    (pa.binary(3), "binary", [b"abc"]),
    (pa.date64(), "date", [DAY]),
    (pa.timestamp("s"), "timestamp_ntz", [NOON]),
    (pa.timestamp("ms"), "timestamp_ntz", [NOON]),
    (pa.timestamp("ns"), "timestamp_ntz", [NOON]),
    (pa.timestamp("s", "UTC"), "timestamp", [INSTANT]),
    (pa.timestamp("ms", "Europe/Berlin"), "timestamp", [INSTANT]),
    (pa.timestamp("us", "+02:00"), "timestamp", [INSTANT]),
    (pa.timestamp("ns", "America/New_York"), "timestamp", [INSTANT]),
    (pa.time32("s"), "time(6)", [dt.time(1, 2, 3)]),
    (pa.time32("ms"), "time(6)", [dt.time(1, 2, 3, 4000)]),
    (pa.time64("us"), "time(6)", [dt.time(1, 2, 3, 4)]),
    (pa.duration("s"), "interval day to second", [dt.timedelta(seconds=-1)]),
    (pa.duration("ms"), "interval day to second", [dt.timedelta(milliseconds=1)]),
    (pa.duration("ns"), "interval day to second", [dt.timedelta(microseconds=1)]),
    (pa.decimal256(38, 2), "decimal(38,2)", [Decimal("-1.25")]),
    (pa.decimal128(5, -2), "decimal(7,0)", [Decimal(100)]),
    (pa.dictionary(pa.int8(), pa.string()), "string", ["a", "b", "a"]),
    (pa.dictionary(pa.uint16(), pa.large_string()), "string", ["a", "b", "a"]),
    (pa.dictionary(pa.int32(), pa.int64()), "bigint", [1, 2, 1]),
    (pa.dictionary(pa.int32(), pa.uint32()), "bigint", [1, 2, 1]),
    (pa.large_list(pa.int32()), "array<int>", [[], [1, None]]),
    (pa.list_(pa.field("element", pa.int32())), "array<int>", [[], [1, None]]),
    (pa.list_(pa.float32(), 2), "array<float>", [[1.0, 2.0], [3.0, None]]),
    (pa.list_(pa.float16(), 2), "array<float>", [[1.0, 2.0]]),
    (pa.list_(pa.uint8(), 3), "array<smallint>", [[1, 2, 255]]),
    (pa.list_(pa.list_(pa.float32(), 2), 2), "array<array<float>>", [[[1, 2], [3, 4]]]),
    (pa.list_(pa.list_(pa.float32(), 2)), "array<array<float>>", [[], [[1, 2], None]]),
    (pa.list_(POINT, 2), "array<struct<x:int,y:smallint>>", [[{"x": 1, "y": 2}, None]]),
    (pa.list_(POINT), "array<struct<x:int,y:smallint>>", [[], [{"x": 1, "y": None}, None]]),
    (
        pa.struct([pa.field("v", pa.list_(pa.float32(), 2)), STRICT]),
        "struct<v:array<float>,x:int>",
        [{"v": [1, 2], "x": 1}, {"v": None, "x": 2}],
    ),
    (
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        "array<string>",
        [["a", "b"], [None], []],
    ),
    (
        pa.map_(pa.large_string(), pa.list_(pa.float16(), 2)),
        "map<string,array<float>>",
        [[], [("a", [1, 2]), ("b", None)]],
    ),
]
"""Arrow types that cannot be told from Spark's types, and values of them."""

EXTENSIONS: list[tuple[pa.DataType, str, list[Any]]] = [
    (BFloat16Type(), "float", [b"\x80\x3f", b"\xc0\x7f", b"\x80\xff"]),
    (BlobType(), "binary", [{"data": b""}, {"data": b"a"}]),
    (EncodedImageType(), "binary", [b"a"]),
    (ImageURIType(), "string", ["file:///a"]),
    (pa.json_(), "string", ['{"a":1}', "null"]),
    (pa.uuid(), "binary", [b"0123456789abcdef"]),
    (pa.bool8(), "tinyint", [0, 1]),
    (pa.fixed_shape_tensor(pa.float32(), [2, 1]), "array<float>", [[1.0, 2.0]]),
    (pa.opaque(pa.large_binary(), "t", "v"), "binary", [b"a"]),
]

STRICT_VECTOR = (pa.list_(STRICT, 2), "array<int>", [[1, 2], [3, 4]])
"""Lance forgets that its values must not be null."""

TYPES = [*PLAIN, *WIDENED]
REFUSED = [
    pa.decimal256(39, 2),
    pa.decimal256(38, -1),
    pa.month_day_nano_interval(),
    pa.list_view(pa.int8()),
    pa.run_end_encoded(pa.int32(), pa.string()),
]


def named(case: Any) -> str:
    return str(case[0]) if isinstance(case, tuple) else str(case)


def one(arrow: pa.DataType, **settings: Any) -> pa.Schema:
    return pa.schema([pa.field("c", arrow, **settings)])


def column(arrow: pa.DataType, values: list[Any], **settings: Any) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, arrow)], schema=one(arrow, **settings))


def extended(arrow: pa.DataType, values: list[Any]) -> pa.RecordBatch:
    storage = pa.array(values, arrow.storage_type)
    array = pa.ExtensionArray.from_storage(arrow, storage)
    return pa.record_batch([array], schema=one(arrow))


def stored(path: Path, *batches: pa.RecordBatch) -> LanceDataset:
    return lance.write_dataset(pa.Table.from_batches(batches), path)


def scanned(dataset: LanceDataset) -> list[pa.RecordBatch]:
    return list(dataset.scanner(blob_handling="all_binary").to_batches())


def whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, proven to be well formed down to the last offset."""
    batch.validate(full=True)
    return batch


def sent_by_spark(schema: spark.StructType, batch: pa.RecordBatch) -> pa.RecordBatch:
    """What Spark sends after it has read a batch: nothing is left in null rows."""
    plain = to_arrow_schema(schema, **IN_UTC)
    arrays = [pa.array(batch.column(f.name).to_pylist(), f.type) for f in plain]
    return pa.record_batch(arrays, schema=plain)


def with_nulls(schema: spark.StructType) -> spark.StructType:
    """The schema as it is after a join that finds nothing."""
    return spark.StructType.fromJson(json.loads(schema.json().replace("false", "true")))


def columns(**types: Any) -> spark.StructType:
    schema = spark.StructType()
    for name, type_ in types.items():
        schema.add(name, type_)
    return schema


def there_and_back(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    ours = spark_schema(schema)
    read = whole(ToSpark(schema, ours)(batch))
    assert read.schema.equals(to_arrow_schema(ours, **IN_UTC), check_metadata=True)
    written = whole(ToLance(ours, lance_schema(ours, {}))(sent_by_spark(ours, read)))
    assert whole(ToLance(ours, schema)(read)).equals(written)
    return written


@pytest.mark.parametrize("case", TYPES, ids=named)
def test_lance_holds_the_type_and_spark_gets_every_value_and_gives_it_back(
    tmp_path: Path, case: Any
) -> None:
    arrow, name, values = case
    rows = column(arrow, [*values, None, *values])
    schema = rows.schema
    # Lance refuses some arrays for what hides in null rows, and panics on slices of others.
    clean = [there_and_back(schema, part) for part in (rows, rows.slice(1), rows.slice(0, 0))]
    dataset = stored(tmp_path, *clean)
    assert dataset.schema.equals(schema, check_metadata=True)
    assert dataset.to_table().to_pylist() == [*rows.to_pylist(), *rows.slice(1).to_pylist()]
    assert spark_schema(dataset.schema)["c"].dataType.simpleString() == name
    for batch in scanned(dataset):
        copy = there_and_back(dataset.schema, batch)
        assert copy.schema.equals(dataset.schema, check_metadata=True)
        assert copy.to_pylist() == batch.to_pylist()
        assert stored(tmp_path / "copy", copy).to_table().to_pylist() == batch.to_pylist()


@pytest.mark.parametrize("case", [*TYPES, STRICT_VECTOR], ids=named)
def test_slices_and_empty_batches_are_converted_as_well(case: Any) -> None:
    arrow, _, values = case
    source = column(arrow, [None, *values, None, None, *values])
    for start in range(len(source) + 1):
        for length in (0, 1, 2, len(source)):
            batch = source.slice(start, length)
            assert there_and_back(source.schema, batch).to_pylist() == batch.to_pylist()


@pytest.mark.parametrize("case", [*TYPES, STRICT_VECTOR], ids=named)
def test_a_type_is_converted_inside_lists_structs_and_maps_too(case: Any) -> None:
    arrow, _, values = case
    inner = pa.field("f", arrow)
    rows = [None, {"f": None}, *({"f": value} for value in values)]
    for outer, outer_rows in (
        (pa.struct([inner]), rows),
        (pa.list_(pa.struct([inner])), [None, [], rows, [None]]),
        (pa.large_list(arrow), [None, values, [], [None]]),
        (pa.map_(pa.string(), arrow), [None, [], [("a", None), ("b", values[0])]]),
    ):
        source = column(outer, outer_rows)
        for batch in (source, source.slice(1), source.slice(2, 1)):
            assert there_and_back(source.schema, batch).to_pylist() == batch.to_pylist()


@pytest.mark.parametrize("case", EXTENSIONS, ids=named)
def test_an_extension_type_is_its_storage_to_spark_and_comes_back_as_itself(
    tmp_path: Path, case: Any
) -> None:
    arrow, name, values = case
    source = extended(arrow, [None, *values])
    dataset = stored(tmp_path, source)
    assert dataset.schema.field("c").type == arrow
    assert spark_schema(dataset.schema)["c"].dataType.simpleString() == name
    for batch in scanned(dataset):
        copy = there_and_back(dataset.schema, batch)
        assert copy.schema.field("c").type == arrow
        (again,) = scanned(stored(tmp_path / "copy", copy))
        assert again.equals(batch)


def test_extension_types_are_converted_inside_lists_and_structs(tmp_path: Path) -> None:
    halves = extended(BFloat16Type(), [b"\x80\x3f", b"\x00\x40", None, b"\x80\x3f"]).column(0)
    blobs = extended(BlobType(), [{"data": b"a"}, None]).column(0)
    source = pa.record_batch(
        {
            "vector": pa.FixedSizeListArray.from_arrays(halves, 2),
            "struct": pa.StructArray.from_arrays([blobs], ["blob"]),
        }
    )
    dataset = stored(tmp_path, source)
    ours = spark_schema(dataset.schema)
    (batch,) = scanned(dataset)
    assert ToSpark(dataset.schema, ours)(batch).to_pylist() == [
        {"vector": [1.0, 2.0], "struct": {"blob": b"a"}},
        {"vector": [None, 1.0], "struct": {"blob": None}},
    ]
    copy = there_and_back(dataset.schema, batch)
    assert copy.schema == dataset.schema
    assert scanned(stored(tmp_path / "copy", copy)) == [batch]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_a_blob_is_binary_to_spark_and_comes_back_as_a_blob(tmp_path: Path, version: str) -> None:
    blob = lance_schema(spark.StructType().add("c", "binary"), {"c.lance.encoding": "blob"})
    plain = pa.table([pa.array([b"", None, b"abc"], pa.large_binary())], schema=blob)
    dataset = lance.write_dataset(plain, tmp_path, data_storage_version=version)
    (batch,) = scanned(dataset)
    assert batch.column("c").to_pylist() == [b"", None, b"abc"]
    copy = there_and_back(dataset.schema, batch)
    assert copy.schema.equals(dataset.schema, check_metadata=True)
    added = lance.write_dataset(pa.table(copy), tmp_path, mode="append")
    assert [v for b in scanned(added) for v in b.column("c").to_pylist()] == [b"", None, b"abc"] * 2


def test_extension_types_are_recognised_where_pylance_is_not_imported() -> None:
    schema = pa.schema(
        [
            pa.field("f", pa.binary(2), metadata={"ARROW:extension:name": "lance.bfloat16"}),
            pa.field(
                "b",
                pa.struct([("data", pa.large_binary()), ("uri", pa.string())]),
                metadata={"ARROW:extension:name": "lance.blob.v2"},
            ),
        ]
    )
    ours = spark_schema(schema)
    assert [f.dataType for f in ours] == [spark.FloatType(), spark.BinaryType()]
    sent = pa.record_batch([[1.0, None], [b"a", None]], schema=to_arrow_schema(ours))
    batch = whole(ToLance(ours, schema)(sent))
    assert batch.to_pylist() == [
        {"f": b"\x80\x3f", "b": {"data": b"a", "uri": None}},
        {"f": None, "b": None},
    ]


@pytest.mark.parametrize("arrow", REFUSED, ids=str)
def test_a_type_that_spark_has_not_is_refused_by_name(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedOperationError, match=r"column 'c\.element' is .*leave it out"):
        spark_schema(one(pa.list_(arrow)))


@pytest.mark.parametrize(
    "type_",
    [
        spark.VariantType(),
        spark.YearMonthIntervalType(),
        spark.CalendarIntervalType(),
        spark.GeometryType(4326),
    ],
    ids=str,
)
def test_a_type_that_lance_has_not_is_refused_by_name(type_: spark.DataType) -> None:
    schema = spark.StructType().add("c", spark.StructType().add("x", type_))
    with pytest.raises(UnsupportedOperationError, match=r"column 'c\.x' is .*Lance has no type"):
        lance_schema(schema, {})


@pytest.mark.parametrize("arrow", [pa.string_view(), pa.binary_view()], ids=str)
def test_lance_keeps_a_view_as_what_it_views(tmp_path: Path, arrow: pa.DataType) -> None:
    source = column(arrow, ["a", None])
    assert stored(tmp_path, source).schema.field("c").type in {pa.string(), pa.binary()}
    assert there_and_back(source.schema, source).equals(source)


@pytest.mark.parametrize(
    "arrow",
    [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.time64("ns"), pa.duration("ns")],
    ids=str,
)
@pytest.mark.parametrize("nested", [False, True])
def test_nanoseconds_that_spark_cannot_hold_are_refused(arrow: pa.DataType, nested: bool) -> None:
    batch = column(arrow, [1000, 1001, None])
    if nested:
        batch = pa.record_batch({"c": pa.StructArray.from_arrays([batch.column(0)], ["x"])})
    convert = ToSpark(batch.schema, spark_schema(batch.schema))
    assert convert(batch.slice(0, 1)).num_rows == 1
    with pytest.raises(InvalidInputError, match=r"column 'c' has a value of .*1001"):
        convert(batch)


@pytest.mark.parametrize(
    ("arrow", "sent", "message"),
    [
        (pa.uint8(), 256, "256 not in range"),
        (pa.uint8(), -1, "-1 not in range"),
        (pa.uint64(), Decimal(-1), "out of bounds"),
        (pa.uint64(), Decimal(2**64), "out of bounds"),
        (pa.float16(), 1e30, "beyond the largest of halffloat"),
        (BFloat16Type(), 3.4e38, "beyond the largest of"),
        (pa.timestamp("ms"), NOON.replace(microsecond=1), "would lose data"),
        (pa.timestamp("ns"), NOON.replace(year=9996), "out of bounds"),
        (pa.time32("s"), dt.time(1, 2, 3, 4), "would lose data"),
        (pa.duration("s"), dt.timedelta(milliseconds=1), "would lose data"),
        (pa.binary(3), b"ab", "widths must match"),
        (pa.list_(pa.float32(), 3), [1.0, 2.0], "lists of 3 values, but one has 2"),
        (pa.decimal128(5, -2), Decimal(101), "data loss"),
    ],
    ids=str,
)
def test_a_value_that_the_lance_column_cannot_hold_is_refused(
    arrow: pa.DataType, sent: Any, message: str
) -> None:
    ours = spark_schema(one(arrow))
    batch = pa.record_batch([[None, sent]], schema=to_arrow_schema(ours, **IN_UTC))
    with pytest.raises(InvalidInputError, match=f"column 'c' .*{message}"):
        ToLance(ours, one(arrow))(batch)


def test_floats_round_to_the_nearest_shorter_float() -> None:
    for arrow in (pa.float16(), BFloat16Type()):
        ours = spark_schema(one(arrow))
        sent = pa.record_batch([[1.1, None, float("nan")]], schema=to_arrow_schema(ours))
        batch = ToLance(ours, one(arrow))(sent)
        one_point_one, nothing, nan = ToSpark(one(arrow), ours)(batch).column(0).to_pylist()
        assert abs(one_point_one - 1.1) < 0.004
        assert nothing is None
        assert nan != nan  # noqa: PLR0124  that is how it is told


def test_a_dictionary_with_too_many_values_for_its_index_is_refused() -> None:
    arrow = pa.dictionary(pa.int8(), pa.string())
    sent = pa.record_batch({"c": [str(i) for i in range(129)]})
    with pytest.raises(InvalidInputError, match=r"column 'c' .*128 not in range"):
        ToLance(sent.schema, one(arrow))(sent)


LIST_TYPES = [
    pa.list_(pa.field("element", pa.float32())),
    pa.large_list(pa.float32()),
    pa.list_(pa.float32(), 3),
]


@given(
    rows=st.lists(st.none() | st.lists(st.none() | st.integers(0, 9), min_size=3, max_size=3)),
    cut=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    source=st.sampled_from(LIST_TYPES),
    target=st.sampled_from(LIST_TYPES),
    value=st.sampled_from([pa.float32(), pa.float16(), pa.float64()]),
)
def test_lists_change_their_kind_whatever_is_null_or_sliced(
    rows: list[Any], cut: Any, source: pa.DataType, target: pa.DataType, value: pa.DataType
) -> None:
    def of_value(arrow: pa.DataType) -> pa.DataType:
        size = [arrow.list_size] if pa.types.is_fixed_size_list(arrow) else []
        make = pa.large_list if pa.types.is_large_list(arrow) else pa.list_
        return make(arrow.value_field.with_type(value), *size)

    batch = column(source, rows).slice(*cut)
    schema = one(of_value(target))
    result = whole(ToLance(batch.schema, schema)(batch))
    assert result.schema == schema
    assert result.to_pylist() == batch.to_pylist()


@given(
    rows=st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), min_size=1),
    hidden=st.lists(st.booleans(), min_size=1),
    fixed=st.booleans(),
)
def test_what_hides_in_null_rows_neither_fails_nor_appears(
    rows: list[Any], hidden: list[bool], fixed: bool
) -> None:
    mask = [row is None or hidden[i % len(hidden)] for i, row in enumerate(rows)]
    full = pa.array([row or [] for row in rows], pa.list_(pa.int32()))
    array = pa.ListArray.from_arrays(full.offsets, full.values, mask=pa.array(mask))
    seen = [length for length in {len(r) for r in array.to_pylist() if r is not None} if length]
    even = len(seen) == 1 and [] not in array.to_pylist()
    child = pa.field("item", pa.uint8(), nullable=False)
    arrow = pa.list_(child, seen[0]) if fixed and even else pa.list_(child)
    batch = pa.record_batch({"c": array})
    result = whole(ToLance(batch.schema, one(arrow))(batch))
    assert result.column(0).to_pylist() == array.to_pylist()


def test_hidden_values_of_structs_are_not_converted() -> None:
    inner = pa.array([-1, 2, None], pa.int32())
    array = pa.StructArray.from_arrays([inner], ["x"], mask=pa.array([True, False, True]))
    target = one(pa.struct([pa.field("x", pa.uint8(), nullable=False)]))
    batch = pa.record_batch({"c": array})
    result = whole(ToLance(batch.schema, target)(batch))
    assert result.column(0).to_pylist() == [None, {"x": 2}, None]


@pytest.mark.parametrize(
    "item", [pa.float32(), pa.bool_(), BFloat16Type(), pa.list_(pa.int8(), 2), POINT], ids=str
)
def test_null_rows_of_fixed_lists_hide_no_null_where_none_may_be(
    tmp_path: Path, item: pa.DataType
) -> None:
    schema = one(pa.list_(pa.field("item", item, nullable=False), 2))
    sent = pa.record_batch({"c": pa.nulls(3)})
    ours = spark_schema(schema)
    batch = whole(ToLance(ours, schema)(sent_by_spark(ours, sent)))
    assert stored(tmp_path, batch).to_table().column("c").to_pylist() == [None] * 3


def test_identical_columns_and_the_values_of_vectors_are_not_copied() -> None:
    vector = pa.list_(pa.float32(), 4)
    schema = pa.schema([("id", pa.int64()), ("v", vector)])
    batch = pa.record_batch([range(3), [[0.5] * 4] * 3], schema=schema)
    ours = spark_schema(schema)
    read = ToSpark(schema, ours)(batch)
    written = ToLance(ours, schema)(read)
    for result in (read, written):
        assert result.column("id").buffers()[1].address == batch.column("id").buffers()[1].address
        values = result.column("v").values.buffers()[1]
        assert values.address == batch.column("v").values.buffers()[1].address


@pytest.mark.parametrize("nested", [False, True])
def test_decimals_that_spark_has_sent_wherever_can_be_written(tmp_path: Path, nested: bool) -> None:
    numbers = [Decimal("1.50"), None, Decimal("-2.25")]
    decimals = pa.array(numbers, pa.decimal128(15, 2))
    valid, values = decimals.buffers()
    apart = pa.py_buffer(bytes(8) + values.to_pybytes()).slice(8)
    decimals = pa.Array.from_buffers(decimals.type, 3, [valid, apart])
    array = pa.ListArray.from_arrays([0, 2, 3], decimals) if nested else decimals
    batch = pa.record_batch({"c": array})
    moved = ToLance(batch.schema, batch.schema)(batch)
    lance.write_dataset(pa.table([moved["c"]], schema=batch.schema), tmp_path / "t")
    assert lance.dataset(tmp_path / "t").to_table()["c"].to_pylist() == array.to_pylist()


def test_columns_come_in_the_order_asked_for_and_others_are_left_out() -> None:
    batch = pa.record_batch({"a": [1], "b": ["x"], "c": [2.5]})
    assert ToSpark(batch.schema, columns(c="double", a="long"))(batch).to_pylist() == [
        {"c": 2.5, "a": 1}
    ]


def test_a_batch_without_columns_keeps_its_rows() -> None:
    batch = pa.record_batch({"a": [1, 2, 3]})
    assert ToSpark(batch.schema, spark.StructType())(batch).num_rows == 3


def test_what_arrives_may_be_larger_than_declared() -> None:
    declared = columns(c="string", t="timestamp")
    sent = pa.record_batch(
        [["a", None], [INSTANT, None]],
        schema=pa.schema([("c", pa.large_string()), ("t", pa.timestamp("us", "Asia/Tokyo"))]),
    )
    batch = ToLance(declared, lance_schema(declared, {}))(sent)
    assert batch.to_pylist() == [{"c": "a", "t": INSTANT}, {"c": None, "t": None}]


def test_row_ids_fit_the_long_that_a_reader_asks_for() -> None:
    batch = pa.record_batch([[7]], schema=pa.schema([("_rowid", pa.uint64())]))
    assert ToSpark(batch.schema, columns(_rowid="long"))(batch).to_pylist() == [{"_rowid": 7}]


def test_an_instant_stays_the_same_in_another_zone() -> None:
    schema = one(pa.timestamp("ms", "Europe/Berlin"))
    batch = pa.record_batch([[1_700_000_000_123]], schema=schema)
    read = ToSpark(schema, spark_schema(schema))(batch)
    assert read.column(0).cast(pa.int64()).to_pylist() == [1_700_000_000_123_000]
    assert ToLance(read.schema, schema)(read).equals(batch)


@pytest.mark.parametrize(
    ("have", "want"),
    [
        (pa.int64(), "string"),
        (pa.string(), "integer"),
        (pa.float64(), "float"),
        (pa.timestamp("us"), "timestamp"),
        (pa.timestamp("us", "UTC"), "timestamp_ntz"),
        (pa.list_(pa.int64()), STRINGS),
        (pa.struct([("x", pa.int32())]), columns(y="integer")),
        (pa.map_(pa.string(), pa.int32()), spark.ArrayType(columns(key="string", value="integer"))),
    ],
    ids=str,
)
def test_a_column_cannot_be_read_as_something_else(have: pa.DataType, want: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"column 'c.*cannot become"):
        ToSpark(one(have), columns(c=want))


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInputError, match="no column 'd'"):
        ToSpark(one(pa.int64()), columns(d="long"))


@pytest.mark.parametrize(
    ("arrow", "rows", "path"),
    [
        (pa.int64(), [1, None], "c"),
        (pa.struct([STRICT]), [{"x": None}], r"c\.x"),
        (pa.list_(STRICT), [[1], [None]], r"c\.element"),
        (pa.list_(STRICT, 1), [[1], [None]], r"c\.element"),
        (pa.map_(pa.string(), STRICT), [[("a", None)]], r"c\.value"),
    ],
    ids=str,
)
def test_a_null_where_none_may_be_is_refused_by_column(
    arrow: pa.DataType, rows: list[Any], path: str
) -> None:
    schema = one(arrow, nullable=False)
    loose = with_nulls(spark_schema(schema))
    sent = pa.record_batch([rows], schema=to_arrow_schema(loose))
    with pytest.raises(InvalidInputError, match=f"column '{path}' must not be null"):
        ToLance(loose, schema)(sent)


def test_both_conversions_can_be_pickled() -> None:
    schema = pa.schema([("v", pa.list_(pa.float16(), 2)), ("b", BlobType()), ("u", pa.uuid())])
    ours = spark_schema(schema)
    sent = pa.record_batch([[[1.0, 2.0]], [b"a"], [b"u" * 16]], schema=to_arrow_schema(ours))
    written = pickle.loads(pickle.dumps(ToLance(ours, schema)))(sent)
    assert written.schema == schema
    scan = pa.record_batch(
        [written.column("v"), pa.array([b"a"], pa.large_binary()), written.column("u")],
        names=schema.names,
    )
    assert pickle.loads(pickle.dumps(ToSpark(schema, ours)))(scan).equals(sent)


def test_importing_the_types_imports_neither_pylance_nor_pandas() -> None:
    code = "import sys, lanceyard.spark.types; print({'lance', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("case", PLAIN, ids=named)
def test_a_field_that_spark_tells_carries_nothing(case: Any) -> None:
    assert spark_schema(one(case[0]))["c"].metadata == {}


@pytest.mark.parametrize("case", WIDENED, ids=named)
def test_a_field_that_spark_does_not_tell_carries_its_arrow_field(case: Any) -> None:
    schema = one(case[0], nullable=False, metadata={"lance-encoding:compression": "zstd"})
    ours = spark_schema(schema)
    assert ARROW in ours["c"].metadata
    through_json = spark.StructType.fromJson(ours.jsonValue())
    assert lance_schema(through_json, {}).equals(schema, check_metadata=True)


def test_a_vector_carries_its_length_as_java_reads_it() -> None:
    assert spark_schema(one(pa.list_(pa.float32(), 8)))["c"].metadata[SIZE] == 8


def test_a_renamed_column_keeps_its_arrow_type() -> None:
    field = spark_schema(one(pa.list_(pa.float16(), 8)))["c"]
    renamed = spark.StructType([spark.StructField("d", field.dataType, True, field.metadata)])
    assert lance_schema(renamed, {}) == pa.schema([("d", pa.list_(pa.float16(), 8))])


@pytest.mark.parametrize("now", ["string", STRINGS, spark.ArrayType(FLOATS)], ids=str)
def test_metadata_of_what_the_column_was_before_is_ignored(now: Any) -> None:
    before = spark_schema(one(pa.large_list(pa.float16())))["c"]
    changed = spark.StructType().add("c", now, True, before.metadata)
    assert lance_schema(changed, {}) == lance_schema(columns(c=now), {})


def test_what_has_become_nullable_is_nullable_in_the_table() -> None:
    vector = pa.list_(STRICT, 2)
    before = one(pa.struct([pa.field("v", vector, nullable=False)]), nullable=False)
    after = one(pa.struct([("v", pa.list_(STRICT.with_nullable(True), 2))]))
    assert lance_schema(spark_schema(before), {}) == before
    assert lance_schema(with_nulls(spark_schema(before)), {}) == after


DATA_FRAME = (
    spark.StructType()
    .add("id", "long", False)
    .add("Vector", FLOATS)
    .add("text", "string")
    .add("image", "binary")
    .add("tags", STRINGS)
)


def test_a_new_table_has_the_types_of_spark() -> None:
    assert lance_schema(DATA_FRAME, {}) == pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("Vector", pa.list_(pa.float32())),
            ("text", pa.string()),
            ("image", pa.binary()),
            ("tags", pa.list_(pa.string())),
        ]
    )


def test_options_choose_the_arrow_types_of_columns() -> None:
    options = {
        "path": "ignored",
        "vector.arrow.fixed-size-list.size": "4",
        "image.lance.encoding": "blob",
        "text.arrow.large_var_char": "true",
    }
    schema = lance_schema(DATA_FRAME, options)
    assert schema.field("Vector").type == pa.list_(pa.float32(), 4)
    assert schema.field("text").type == pa.large_string()
    assert schema.field("image").type == pa.large_binary()
    assert schema.field("image").metadata == {b"lance-encoding:blob": b"true"}


def test_an_option_wins_over_metadata() -> None:
    before = spark_schema(one(pa.list_(pa.float16(), 8)))
    schema = lance_schema(before, {"C.Arrow.Fixed-Size-List.Size": "4"})
    assert schema == one(pa.list_(pa.float16(), 4))


def test_the_length_in_metadata_is_enough() -> None:
    column = spark.StructType().add("c", FLOATS, True, {SIZE: 3})
    assert lance_schema(column, {}) == one(pa.list_(pa.float32(), 3))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("nosuch.arrow.fixed-size-list.size", "4", "does not exist"),
        ("text.arrow.fixed-size-list.size", "4", "arrays of numbers, but that is string"),
        ("tags.arrow.fixed-size-list.size", "4", "arrays of numbers, but that is array<string>"),
        ("vector.arrow.fixed-size-list.size", "0", "positive whole number, not '0'"),
        ("vector.arrow.fixed-size-list.size", "x", "positive whole number, not 'x'"),
        ("text.lance.encoding", "blob", "binary, but that is string"),
        ("image.lance.encoding", "zstd", "'blob', not 'zstd'"),
        ("id.arrow.large_var_char", "true", "strings, but that is bigint"),
        ("text.arrow.large_var_char", "yes", "'true' or 'false', not 'yes'"),
    ],
)
def test_an_option_that_does_not_fit_is_an_error(key: str, value: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"option '{key}' .*{message}"):
        lance_schema(DATA_FRAME, {key: value})


def test_an_option_for_two_columns_that_differ_in_case_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="more than one column"):
        lance_schema(columns(v=FLOATS, V=FLOATS), {"v.arrow.fixed-size-list.size": "4"})


TABLE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("size", pa.uint8()),
        ("big", pa.uint64()),
        ("price", pa.decimal128(10, 2)),
        ("vector", pa.list_(pa.float16(), 2)),
        ("ratio", pa.float64()),
    ]
)


def test_rows_are_appended_by_name_in_the_order_and_types_of_the_table() -> None:
    incoming = columns(
        ratio="float", vector=FLOATS, price="decimal(8,2)", big="long", size="byte", id="integer"
    )
    assert check_append(incoming, TABLE) == TABLE
    sent = pa.record_batch(
        [[0.5], [[1, 2]], [Decimal("1.25")], [7], [3], [1]], schema=to_arrow_schema(incoming)
    )
    assert ToLance(incoming, TABLE)(sent).to_pylist() == [
        {"id": 1, "size": 3, "big": 7, "price": Decimal("1.25"), "vector": [1, 2], "ratio": 0.5}
    ]


def test_a_void_column_is_appended_as_nulls() -> None:
    incoming = columns(id="long", vector="void")
    schema = check_append(incoming, TABLE)
    sent = pa.record_batch({"id": [1], "vector": pa.nulls(1)})
    assert ToLance(incoming, schema)(sent).to_pylist() == [{"id": 1, "vector": None}]


def test_all_that_does_not_fit_is_said_at_once() -> None:
    incoming = columns(size="integer", price="decimal(10,3)", ratio="string", extra="long")
    with pytest.raises(InvalidInputError) as refused:
        check_append(incoming, TABLE)
    for said in (
        "the table has no column 'extra'",
        "the DataFrame has no column 'id', which must not be null",
        "column 'size' is int in the DataFrame and smallint in the table",
        "column 'price' is decimal(10,3) in the DataFrame and decimal(10,2) in the table",
        "column 'ratio' is string in the DataFrame and double in the table",
    ):
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("incoming", "fits"),
    [
        (columns(x="integer", y="short"), True),
        (columns(x="byte", y="byte"), True),
        (columns(x="void", y="void"), True),
        (columns(y="short", x="integer"), False),
        (columns(x="integer"), False),
        (columns(x="long", y="short"), False),
        (FLOATS, False),
    ],
    ids=str,
)
def test_nested_types_fit_field_by_field(incoming: spark.DataType, fits: bool) -> None:
    data_frame = columns(c=spark.ArrayType(incoming))
    table = one(pa.list_(POINT))
    if fits:
        assert check_append(data_frame, table) == table
    else:
        with pytest.raises(InvalidInputError, match="column 'c' is"):
            check_append(data_frame, table)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_lance_reads_columns_that_were_not_appended_as_null(tmp_path: Path, version: str) -> None:
    first = pa.Table.from_pylist([{"id": 1, "size": 2, "vector": [1, 2]}], schema=TABLE)
    dataset = lance.write_dataset(first, tmp_path, data_storage_version=version)
    schema = check_append(columns(size="short", id="long"), dataset.schema)
    assert schema.names == ["id", "size"]
    rows = pa.Table.from_pylist([{"id": 2, "size": 3}], schema=schema)
    fragments = write_fragments(rows, dataset, schema=schema, mode="append")
    after = LanceDataset.commit(dataset, LanceOperation.Append(fragments), read_version=1)
    after.validate()
    nothing = {"big": None, "price": None, "vector": None, "ratio": None}
    assert after.to_table().to_pylist()[1] == {"id": 2, "size": 3, **nothing}
    assert after.count_rows("vector IS NULL") == 1
