"""Schemas as JSON: the names that stock clients read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance.schema import schema_to_json
from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.schema import from_json, to_json

PLAIN = [
    (pa.null(), "null"),
    (pa.bool_(), "bool"),
    (pa.int8(), "int8"),
    (pa.uint64(), "uint64"),
    (pa.float16(), "float16"),
    (pa.float32(), "float32"),
    (pa.float64(), "float64"),
    (pa.string(), "utf8"),
    (pa.large_string(), "large_utf8"),
    (pa.binary(), "binary"),
    (pa.large_binary(), "large_binary"),
    (pa.date32(), "date32"),
    (pa.timestamp("us", tz="UTC"), "timestamp"),
]


def written(kind: pa.DataType) -> dict[str, Any]:
    field: dict[str, Any] = to_json(pa.schema([pa.field("f", kind)]))["fields"][0]
    return dict(field["type"])


@pytest.mark.parametrize(("kind", "name"), PLAIN, ids=str)
def test_a_plain_type_has_the_name_that_clients_read(kind: pa.DataType, name: str) -> None:
    assert written(kind)["type"] == name


def test_a_list_has_its_item_as_a_field() -> None:
    item = {"name": "item", "nullable": True, "type": {"type": "int8"}, "metadata": None}
    assert written(pa.list_(pa.int8())) == {"type": "list", "fields": [item]}


def test_a_vector_has_its_length() -> None:
    kind = written(pa.list_(pa.float32(), 8))
    assert (kind["type"], kind["length"]) == ("fixed_size_list", 8)
    assert kind["fields"][0]["type"] == {"type": "float32"}


def test_a_struct_has_its_fields() -> None:
    kind = written(pa.struct([pa.field("a", pa.int8(), nullable=False), ("b", pa.string())]))
    assert [field["name"] for field in kind["fields"]] == ["a", "b"]
    assert [field["nullable"] for field in kind["fields"]] == [False, True]


def test_a_map_has_entries_of_key_and_value() -> None:
    (entries,) = written(pa.map_(pa.string(), pa.int8()))["fields"]
    assert (entries["name"], entries["nullable"]) == ("entries", False)
    assert [field["type"]["type"] for field in entries["type"]["fields"]] == ["utf8", "int8"]


def test_a_decimal_has_precision_and_scale_in_one_number() -> None:
    assert written(pa.decimal128(10, 2)) == {"type": "decimal128", "length": 10_002}


def test_binary_of_one_size_has_its_length() -> None:
    assert written(pa.binary(16)) == {"type": "fixed_size_binary", "length": 16}


def test_a_dictionary_reads_as_its_values() -> None:
    assert written(pa.dictionary(pa.int8(), pa.string())) == {"type": "utf8"}


def test_metadata_is_text() -> None:
    schema = pa.schema([pa.field("f", pa.int8(), metadata={"k": "ü"})], metadata={"s": "v"})
    assert to_json(schema)["metadata"] == {"s": "v"}
    assert to_json(schema)["fields"][0]["metadata"] == {"k": "ü"}


def test_the_model_of_the_specification_takes_every_type() -> None:
    kinds = [kind for kind, _ in PLAIN]
    kinds += [pa.list_(pa.int8()), pa.list_(pa.float32(), 8), pa.struct([("a", pa.int8())])]
    schema = pa.schema([pa.field(f"f{i}", kind) for i, kind in enumerate(kinds)])
    model = JsonArrowSchema.from_dict(to_json(schema))
    assert model is not None
    assert len(model.fields) == len(kinds)


LOSSLESS = [
    *(kind for kind, name in PLAIN if name != "timestamp"),
    pa.timestamp("us"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.duration("us"),
    pa.date64(),
    pa.decimal128(10, 2),
    pa.decimal256(40, 3),
    pa.binary(16),
    pa.list_(pa.int8()),
    pa.large_list(pa.field("x", pa.string(), nullable=False)),
    pa.list_(pa.float32(), 8),
    pa.struct([pa.field("a", pa.int8(), nullable=False), ("b", pa.list_(pa.float16(), 4))]),
    pa.struct([pa.field("a", pa.int8(), metadata={"k": "v"})]),
    pa.map_(pa.string(), pa.int8()),
]


@pytest.mark.parametrize("kind", LOSSLESS, ids=str)
def test_a_type_is_read_as_it_was_written(kind: pa.DataType) -> None:
    assert from_json(written(kind)).equals(kind, check_metadata=True)


IN_LANCES_WORDS = [
    *(kind for kind, _ in PLAIN),
    pa.timestamp("ns"),
    pa.timestamp("ms", tz="+02:00"),
    pa.time32("s"),
    pa.time64("ns"),
    pa.duration("s"),
    pa.decimal128(10, 2),
    pa.decimal256(40, 3),
    pa.binary(16),
    pa.list_(pa.float32(), 8),
    pa.struct([("a", pa.float64()), ("b", pa.large_list(pa.date32()))]),
]


@pytest.mark.parametrize("kind", IN_LANCES_WORDS, ids=str)
def test_a_type_in_lances_own_words_is_read(kind: pa.DataType) -> None:
    field = schema_to_json(pa.schema([pa.field("f", kind)]))["fields"][0]
    assert from_json(field["type"]) == kind


NO_TYPES: list[dict[str, Any]] = [
    {},
    {"type": "int33"},
    {"type": None},
    {"type": "list"},
    {"type": "struct", "fields": [{"name": "a"}]},
    {"type": "struct", "fields": [{"name": "a", "type": {"type": "int8"}}] * 2},
    {"type": "list", "fields": [{"name": "a", "type": {"type": "nothing"}}]},
    {"type": "list", "fields": [{"name": x, "type": {"type": "int8"}} for x in "ab"]},
    {"type": "int8", "fields": [{"name": "a", "type": {"type": "int8"}}]},
    {"type": "fixed_size_list", "fields": [{"name": "a", "type": {"type": "int8"}}], "length": "x"},
    {"type": "struct", "fields": "ab"},
    {"type": "timestamp:years"},
    {"type": "list", "fields": [{"name": "a", "type": "int8"}]},
    {"type": "decimal:128:2"},
    {"type": "decimal:64:10:2"},
    {"type": "decimal128"},
    {"type": "fixed_size_binary"},
]


@pytest.mark.parametrize("described", NO_TYPES, ids=str)
def test_what_is_no_type_is_refused(described: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="is no data type"):
        from_json(described)
