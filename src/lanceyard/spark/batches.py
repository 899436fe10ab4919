"""Batches: rows between Lance and Spark, converted without loss or refused by column.

A conversion is made once for a pair of schemas. What is identical passes untouched, and lists
change their kind without their values being copied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lanceyard import errors

BLOB = "lance.blob.v2"
BFLOAT16 = "lance.bfloat16"

IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)
"""For Spark's mapping of types: before 4.2 timestamps are in UTC, and there is nothing to say."""

Convert = Callable[[pa.Array], pa.Array]

_NANOSECONDS = pa.time64("ns")
_ALIGNMENT = 16
"""Of decimals, in bytes."""


def extension(field: pa.Field) -> str | None:
    """The name of a field's extension type, be it registered in this process or not."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    name: bytes | None = (field.metadata or {}).get(b"ARROW:extension:name")
    return name.decode() if name else None


def is_list(arrow: pa.DataType) -> bool:
    """Whether a type is one of the lists that Lance can hold."""
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(arrow) for is_kind in kinds)


class Batches:
    """Converts batches from one schema to another, which may have fewer columns."""

    def __init__(self, source: pa.Schema, target: pa.Schema) -> None:
        """Prepare the conversion.

        Raises
        ------
        InvalidInputError
            A column is missing in the source, or of a type that cannot be converted.
        """
        self._target = target
        self._prepare(source)

    def _prepare(self, source: pa.Schema) -> None:
        self._source = source
        self._columns = [(field.name, _column(source, field)) for field in self._target]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in the target's schema.

        Raises
        ------
        InvalidInputError
            A value would be lost, or a list has the wrong length, or a null is where none may be;
            the text names the column.
        """
        if not batch.schema.equals(self._source):
            # Blobs come as binary; Spark sends times in its own zone, and large types if told so.
            self._prepare(batch.schema)
        if not self._columns:
            return batch.select([])  # which keeps the number of rows
        arrays = [convert(batch.column(name)) for name, convert in self._columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self._target)


class ToSpark(Batches):
    """Converts batches of a Lance scan to the Arrow schema that Spark expects."""

    def __init__(self, lance: pa.Schema, spark: StructType) -> None:
        """Prepare the conversion of what was scanned with ``blob_handling="all_binary"``."""
        super().__init__(lance, to_arrow_schema(spark, **IN_UTC))
        self._parts = lance, spark

    def __reduce__(self) -> tuple[Any, ...]:
        return ToSpark, self._parts


class ToLance(Batches):
    """Converts batches that Spark sends to the schema of a Lance table, or a part of it."""

    def __init__(self, spark: StructType | pa.Schema, lance: pa.Schema) -> None:
        """Prepare the conversion of what arrives for a DataFrame's schema."""
        arrow = to_arrow_schema(spark, **IN_UTC) if isinstance(spark, StructType) else spark
        super().__init__(arrow, lance)
        self._parts = spark, lance

    def __reduce__(self) -> tuple[Any, ...]:
        return ToLance, self._parts


def _column(schema: pa.Schema, target: pa.Field) -> Convert:
    """The conversion of one column of a schema."""
    name, index = target.name, schema.get_field_index(target.name)
    if index < 0:
        raise errors.InvalidInputError(f"there is no column {name!r}, or more than one")
    source = schema.field(index)
    convert = _converter(name, source, target)

    def converted(array: pa.Array) -> pa.Array:
        if not target.nullable and array.null_count:
            raise _null(name)
        if convert is None:
            return array
        try:
            return convert(array)
        except pa.ArrowInvalid as cause:
            raise errors.InvalidInputError(
                f"column {name!r} has a value of {source.type} that is none of {target.type}: "
                f"{cause}"
            ) from cause

    return converted


def _converter(path: str, source: pa.Field, target: pa.Field) -> Convert | None:
    """The conversion of a field, or None where there is nothing to convert."""
    if _identical(source.type, target.type):
        return None
    before, decode = _decoded(source)
    after, encode = _encoded(path, target)
    convert = None if _identical(before, after) else _convert(path, before, after)
    steps = [step for step in (decode, convert, encode) if step is not None]

    def chain(array: pa.Array) -> pa.Array:
        for step in steps:
            array = step(array)
        return array

    return chain if steps else None


def _identical(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether all values pass untouched."""
    return bool(source.equals(target, check_metadata=True)) and not _is_looked_at(source)


def _is_looked_at(arrow: pa.DataType) -> bool:
    """Whether values may not pass: Spark holds a time as nanoseconds, but no such time.

    And decimals may lie in memory where Lance cannot read them.
    """
    children = (arrow.field(i).type for i in range(arrow.num_fields))
    is_so = arrow == _NANOSECONDS or pa.types.is_decimal(arrow)
    return is_so or any(_is_looked_at(child) for child in children)


def _decoded(field: pa.Field) -> tuple[pa.DataType, Convert | None]:
    """The type of a field's values without extension and dictionary, and the way there."""
    name, arrow = extension(field), field.type
    if name == BLOB:
        return pa.large_binary(), None
    if name == BFLOAT16:
        return pa.float32(), _from_bfloat16
    if isinstance(arrow, pa.BaseExtensionType):
        return arrow.storage_type, lambda array: array.storage
    if pa.types.is_dictionary(arrow):
        return arrow.value_type, lambda array: array.dictionary_decode()
    return arrow, None


def _encoded(path: str, field: pa.Field) -> tuple[pa.DataType, Convert | None]:
    """The type of a field's values without extension and dictionary, and the way back."""
    name, arrow = extension(field), field.type
    if name == BLOB:
        return pa.large_binary(), partial(_to_blob, arrow)
    if name == BFLOAT16:
        return pa.float32(), partial(_to_bfloat16, path, arrow)
    if isinstance(arrow, pa.BaseExtensionType):
        return arrow.storage_type, partial(_wrapped, arrow)
    if pa.types.is_dictionary(arrow):
        return arrow.value_type, partial(_to_dictionary, arrow)
    return arrow, None


def _convert(path: str, source: pa.DataType, target: pa.DataType) -> Convert:
    """The conversion between two types that are no extensions and no dictionaries."""
    if pa.types.is_null(source):
        return lambda array: pa.nulls(len(array), target)
    if is_list(source) and is_list(target):
        return _lists(path, f"{path}.element", source.value_field, target.value_field, target)
    if pa.types.is_map(source) and pa.types.is_map(target):
        return _lists(path, path, _entries(source), _entries(target), target)
    if pa.types.is_struct(source) and pa.types.is_struct(target):
        return _structs(path, source, target)
    return _leaves(path, source, target)


def _structs(path: str, source: pa.DataType, target: pa.DataType) -> Convert:
    """The conversion of structs, field by field, by name."""
    names = [field.name for field in source]
    if sorted(names) != sorted(field.name for field in target):
        raise _inconvertible(path, source, target)
    children = []
    for field in target:
        place, name = names.index(field.name), f"{path}.{field.name}"
        convert = _converter(name, source.field(place), field)
        children.append((name, place, convert, field.nullable))

    def converted(array: pa.Array) -> pa.Array:
        # Flattened fields are null wherever the struct is: what hides there is not converted.
        flat = array.flatten()
        values = []
        for name, place, convert, nullable in children:
            value = flat[place]
            if not nullable and value.null_count != array.null_count:
                raise _null(name)
            values.append(value if convert is None else convert(value))
        return pa.StructArray.from_arrays(values, fields=list(target), mask=_mask(array))

    return converted


def _entries(arrow: pa.DataType) -> pa.Field:
    """The child of a map, seen as a list."""
    pair = [arrow.key_field.with_name("key"), arrow.item_field.with_name("value")]
    return pa.field("entries", pa.struct(pair), nullable=False)


def _lists(
    path: str, child: str, source: pa.Field, target: pa.Field, arrow: pa.DataType
) -> Convert:
    """The conversion of lists and maps of `source` to those of type `arrow`, of `target`."""
    convert = _converter(child, source, target)
    is_fixed = pa.types.is_fixed_size_list(arrow)
    build = partial(_fixed_lists, path) if is_fixed else _BUILD[arrow.id]
    passes = convert is None and target.nullable and not is_fixed

    def converted(array: pa.Array) -> pa.Array:
        values, offsets = _rows(array)
        if array.null_count and not passes:
            values, offsets = _visible(array, values, offsets)
        if not target.nullable and values.null_count:
            raise _null(child)
        values = values if convert is None else convert(values)
        return build(arrow, values, offsets, _mask(array))

    return converted


def _rows(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The values of all lists, those that hide in null rows too, and their offsets from 0."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        return values, _even_offsets(len(array), size)
    offsets = array.offsets
    first, last = offsets[0], offsets[-1].as_py()
    values = array.values.slice(first.as_py(), last - first.as_py())
    # A slice of offsets cannot go with a mask.
    return values, pc.subtract(offsets, first) if array.offset or first.as_py() else offsets


@lru_cache(maxsize=32)
def _even_offsets(rows: int, size: int) -> pa.Array:
    return pa.array(np.arange(rows + 1, dtype=np.int64) * size)


def _visible(array: pa.Array, values: pa.Array, offsets: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The values and offsets of lists without what hides in null rows."""
    lengths, valid = np.diff(offsets.to_numpy()), _valid(array)
    visible = lengths * valid
    if visible.sum() == len(values):
        return values, offsets
    values = values.filter(pa.array(np.repeat(valid, lengths)))
    return values, pa.array(np.concatenate(([0], np.cumsum(visible))))


def _variable_lists(
    arrow: pa.DataType, values: pa.Array, offsets: pa.Array, mask: pa.Array | None
) -> pa.Array:
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), values, type=arrow, mask=mask)


def _large_lists(
    arrow: pa.DataType, values: pa.Array, offsets: pa.Array, mask: pa.Array | None
) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), values, type=arrow, mask=mask)


def _maps(
    arrow: pa.DataType, values: pa.Array, offsets: pa.Array, mask: pa.Array | None
) -> pa.Array:
    keys, items = values.flatten()
    return pa.MapArray.from_arrays(offsets.cast(pa.int32()), keys, items, type=arrow, mask=mask)


_BUILD: dict[int, Callable[..., pa.Array]] = {
    pa.lib.Type_LIST: _variable_lists,
    pa.lib.Type_LARGE_LIST: _large_lists,
    pa.lib.Type_MAP: _maps,
}


def _fixed_lists(
    path: str, arrow: pa.DataType, values: pa.Array, offsets: pa.Array, mask: pa.Array | None
) -> pa.Array:
    """Lists of one length, from those in which null rows have no values."""
    size, lengths = arrow.list_size, np.diff(offsets.to_numpy())
    valid = True if mask is None else ~mask.to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((lengths != size) & valid)
    if len(wrong):
        raise errors.InvalidInputError(
            f"column {path!r} holds lists of {size} values, but one has {lengths[wrong[0]]}"
        )
    if mask is not None:
        values = _spread(values, valid, arrow)
    return pa.FixedSizeListArray.from_arrays(values, type=arrow, mask=mask)


def _spread(values: pa.Array, valid: Any, arrow: pa.DataType) -> pa.Array:
    """The values of lists of one length, with those of another list for each null row.

    Lance wants no null in what may not be null, even where it hides.
    """
    if not len(values):
        return _zero(arrow.value_type).take(np.zeros(len(valid) * arrow.list_size, np.int64))
    lists = pa.FixedSizeListArray.from_arrays(values, type=arrow)
    return lists.take(np.maximum(np.cumsum(valid) - 1, 0)).values


def _zero(arrow: pa.DataType) -> pa.Array:
    """An array of one value, whichever."""
    if isinstance(arrow, pa.BaseExtensionType):
        return _wrapped(arrow, _zero(arrow.storage_type))
    if pa.types.is_fixed_size_list(arrow):
        one = _zero(arrow.value_type)
        return pa.FixedSizeListArray.from_arrays(one.take([0] * arrow.list_size), type=arrow)
    if pa.types.is_struct(arrow):
        nulls = [pa.nulls(1, field.type) for field in arrow]
        return pa.StructArray.from_arrays(nulls, fields=list(arrow))
    if pa.types.is_null(arrow):
        return pa.nulls(1)
    return pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(bytes(arrow.bit_width // 8 + 1))])


def _leaves(path: str, source: pa.DataType, target: pa.DataType) -> Convert:
    """The cast between two types of one kind, which fails where a value would be another."""
    kind = _kind(source)
    if kind is None or kind is not _kind(target):
        raise _inconvertible(path, source, target)
    if target == _NANOSECONDS:
        return lambda array: array.cast(pa.time64("us")).cast(target)
    if source == target:
        return _aligned
    if kind is pa.types.is_floating and source.bit_width > target.bit_width:
        if source != pa.float32():
            raise _inconvertible(path, source, target)
        return lambda array: _all_finite(path, array, array.cast(target))
    return lambda array: array.cast(target)


def _aligned(array: pa.Array) -> pa.Array:
    """The same decimals where a processor may read them at once: Spark sends them 8 bytes apart."""
    valid, values = array.buffers()
    if values is None or values.address % _ALIGNMENT == 0:
        return array
    copy = pa.allocate_buffer(values.size)
    memoryview(copy).cast("B")[:] = memoryview(values).cast("B")
    return pa.Array.from_buffers(
        array.type, len(array), [valid, copy], array.null_count, array.offset
    )


def _kind(arrow: pa.DataType) -> Callable[[pa.DataType], bool] | None:
    """The test that a type and those that can hold its values have in common."""
    return next((is_kind for is_kind in _KINDS if is_kind(arrow)), None)


def _is_number(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_integer(arrow) or pa.types.is_decimal(arrow))


def _is_text(arrow: pa.DataType) -> bool:
    return arrow in {pa.string(), pa.large_string(), pa.string_view()}


def _is_binary(arrow: pa.DataType) -> bool:
    variable = {pa.binary(), pa.large_binary(), pa.binary_view()}
    return arrow in variable or pa.types.is_fixed_size_binary(arrow)


def _is_instant(arrow: pa.DataType) -> bool:
    return pa.types.is_timestamp(arrow) and arrow.tz is not None


_KINDS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_boolean,
    _is_number,
    pa.types.is_floating,
    _is_text,
    _is_binary,
    pa.types.is_date,
    _is_instant,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_duration,
)


def _to_blob(arrow: pa.DataType, array: pa.Array) -> pa.Array:
    """Blobs that hold their bytes themselves."""
    data, *rest = arrow.storage_type if isinstance(arrow, pa.BaseExtensionType) else arrow
    values = [array, *(pa.nulls(len(array), field.type) for field in rest)]
    mask = _mask(array)
    return _wrapped(arrow, pa.StructArray.from_arrays(values, fields=[data, *rest], mask=mask))


def _to_dictionary(arrow: pa.DataType, array: pa.Array) -> pa.Array:
    encoded = array.dictionary_encode()
    indices = encoded.indices.cast(arrow.index_type)
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=arrow.ordered)


def _from_bfloat16(array: pa.Array) -> pa.Array:
    """Floats whose upper half is the given one."""
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    bits = storage.view(pa.uint16()).cast(pa.uint32())
    return pc.shift_left(bits, pa.scalar(16, pa.uint32())).view(pa.float32())


def _to_bfloat16(path: str, arrow: pa.DataType, array: pa.Array) -> pa.Array:
    """The nearest floats that have only an upper half, the even one of two."""
    floats = array.fill_null(0).to_numpy()
    bits = floats.view(np.uint32)
    odd = (bits >> 16) & 1
    rounded = np.where(np.isnan(floats), bits | 0x400000, bits + 0x7FFF + odd) >> 16
    halves = pa.array(rounded.astype(np.uint16), mask=~_valid(array))
    result = _wrapped(arrow, halves.view(pa.binary(2)))
    _all_finite(path, array, _from_bfloat16(result))
    return result


def _all_finite(path: str, before: pa.Array, after: pa.Array) -> pa.Array:
    """The rounded numbers, none of which has become infinite."""
    if pc.sum(pc.is_finite(before)) != pc.sum(pc.is_finite(after)):
        raise errors.InvalidInputError(
            f"column {path!r} has a number beyond the largest of {after.type}"
        )
    return after


def _wrapped(arrow: pa.DataType, storage: pa.Array) -> pa.Array:
    """An array of an extension type, where that is registered in this process."""
    if isinstance(arrow, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(arrow, storage)
    return storage


def _valid(array: pa.Array) -> Any:
    return array.is_valid().to_numpy(zero_copy_only=False)


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _null(path: str) -> errors.InvalidInputError:
    return errors.InvalidInputError(f"column {path!r} must not be null, but a value is")


def _inconvertible(path: str, source: pa.DataType, target: pa.DataType) -> errors.InvalidInputError:
    return errors.InvalidInputError(
        f"column {path!r} is {source}, which cannot become {target} without loss"
    )
