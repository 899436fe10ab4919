"""Schemas: an Arrow schema in the JSON form of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

# The names that stock clients read; Arrow's own where nothing else is said.
NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
}


def to_json(schema: pa.Schema) -> dict[str, Any]:
    """A schema as a JsonArrowSchema has it."""
    return {"fields": [_field(f) for f in schema], "metadata": _texts(schema.metadata)}


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


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    if not metadata:
        return None
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in metadata.items()}
