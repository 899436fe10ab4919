"""Schemas: an Arrow schema in the JSON form of the specification, and types back from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lanceyard.errors import InvalidInputError

# The names that stock clients read; Arrow's own where nothing else is said.
NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
}
# The units of types whose names do not say them.
UNITS = {"timestamp": "us", "time32": "ms", "time64": "us", "duration": "us"}


def to_json(schema: pa.Schema) -> dict[str, Any]:
    """A schema as a JsonArrowSchema has it."""
    return {"fields": [_field(f) for f in schema], "metadata": _texts(schema.metadata)}


def from_json(described: Mapping[str, Any]) -> pa.DataType:
    """The type that a JsonArrowDataType describes, in its words or in those of Lance.

    `to_json` leaves out units and time zones: without them, times are in microseconds where they
    can be, and local.

    Raises
    ------
    InvalidInputError
        There is no such type.
    """
    name, length = described.get("type"), described.get("length")
    try:
        fields = [_read_field(field) for field in described.get("fields") or ()]
        found = _read_nested(name, fields, length) if fields else _read_plain(str(name), length)
    except (ValueError, TypeError, KeyError, pa.ArrowException) as cause:
        raise InvalidInputError(f"{dict(described)} is no data type: {cause}") from cause
    return found


def _field(field: pa.Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "nullable": field.nullable,
        "type": _type(field.type),
        "metadata": _texts(field.metadata),
    }


def _type(kind: pa.DataType) -> dict[str, Any]:
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    if pa.types.is_decimal(kind):
        # One number has to carry both, as the reference does it: precision * 1000 + scale.
        return {"type": f"decimal{kind.bit_width}", "length": kind.precision * 1000 + kind.scale}
    if pa.types.is_fixed_size_binary(kind):
        return {"type": "fixed_size_binary", "length": kind.byte_width}
    if kind.num_fields:
        return _nested_type(kind)
    name = str(kind).partition("[")[0]
    return {"type": NAMES.get(name, name)}


def _nested_type(kind: pa.DataType) -> dict[str, Any]:
    children = [_field(kind.field(i)) for i in range(kind.num_fields)]
    if pa.types.is_map(kind):
        entries = pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)
        children = [_field(entries)]
    if pa.types.is_fixed_size_list(kind):
        return {"type": "fixed_size_list", "fields": children, "length": kind.list_size}
    return {"type": str(kind).partition("<")[0], "fields": children}


def _read_field(field: Mapping[str, Any]) -> pa.Field:
    kind, metadata = from_json(dict(field["type"])), field.get("metadata")
    return pa.field(field["name"], kind, bool(field.get("nullable", True)), metadata)


def _read_nested(name: Any, fields: list[pa.Field], length: int | None) -> pa.DataType:
    if name == "struct":
        if len({field.name for field in fields}) < len(fields):
            raise ValueError("its fields have the same name")
        return pa.struct(fields)
    (item,) = fields
    if name == "map":
        return pa.map_(*item.type)
    if name == "fixed_size_list":
        return pa.list_(item, length)
    return {"list": pa.list_, "large_list": pa.large_list}[name](item)


def _read_plain(name: str, length: int | None) -> pa.DataType:
    """A type without fields: `int32`, `timestamp`, `timestamp:us:UTC`, `decimal:128:10:2`."""
    word, *details = name.split(":", maxsplit=2 if name.startswith("timestamp") else -1)
    if word in UNITS:
        unit, *zone = details or [UNITS[word]]
        return getattr(pa, word)(unit, *(None if each == "-" else each for each in zone))
    if word == "fixed_size_binary":
        return pa.binary(int(details[0]) if details else length)
    if word == "decimal":
        bits, precision, scale = map(int, details)
        return {128: pa.decimal128, 256: pa.decimal256}[bits](precision, scale)
    if word in ("decimal128", "decimal256"):
        return getattr(pa, word)(*divmod(int(length or 0), 1000))
    return pa.type_for_alias(word)


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    if not metadata:
        return None
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in metadata.items()}
