"""Types: what a Lance column is in Spark, and what a Spark column is in Lance.

Spark's type is the smallest that holds every value. Where it does not tell the Arrow type, the
field carries that along, so that a table read and written elsewhere is the same table.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    UserDefinedType,
    VariantType,
)

from lanceyard import errors
from lanceyard.spark.batches import BFLOAT16, BLOB, IN_UTC, ToLance, ToSpark, extension, is_list

__all__ = ["ARROW", "SIZE", "ToLance", "ToSpark", "check_append", "lance_schema", "spark_schema"]

ARROW = "lanceyard.arrow"
"""In the metadata of a Spark field: its Arrow field, as base64 of an IPC schema."""
SIZE = "arrow.fixed-size-list.size"
"""In the metadata of a Spark field: the length of its lists, as Java's lance-spark has it."""
BLOB_ENCODING = "lance-encoding:blob"

_DIGITS = 38
_INTEGERS = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
"""From narrow to wide, and the decimal digits that hold each."""
_LEAVES: dict[pa.DataType, DataType] = {
    pa.null(): NullType(),
    pa.bool_(): BooleanType(),
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.uint8(): ShortType(),
    pa.uint16(): IntegerType(),
    pa.uint32(): LongType(),
    pa.uint64(): DecimalType(20, 0),
    pa.float16(): FloatType(),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.large_string(): StringType(),
    pa.string_view(): StringType(),
    pa.binary(): BinaryType(),
    pa.large_binary(): BinaryType(),
    pa.binary_view(): BinaryType(),
    pa.date32(): DateType(),
    pa.date64(): DateType(),
    pa.time32("s"): TimeType(),
    pa.time32("ms"): TimeType(),
    pa.time64("us"): TimeType(),
    pa.time64("ns"): TimeType(),
}


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema that holds all values of a Lance schema.

    Raises
    ------
    UnsupportedOperationError
        Spark has no type for a column.
    """
    return StructType([_spark_field(field) for field in schema])


def lance_schema(schema: StructType, options: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of a new Lance table for a DataFrame.

    A column is what `options` say (``<column>.arrow.fixed-size-list.size``,
    ``<column>.lance.encoding``, ``<column>.arrow.large_var_char``; case does not count), else what
    its metadata says, else what Spark's type is in Arrow.

    Raises
    ------
    InvalidInputError
        An option names no column, or does not fit its column.
    UnsupportedOperationError
        Lance has no type for a column.
    """
    fields = {column.name: _arrow_field(column) for column in schema}
    for key, value in options.items():
        for suffix, change in _OPTIONS.items():
            if key.lower().endswith(suffix):
                column = _column(schema, key, key[: -len(suffix)])
                fields[column.name] = change(key, fields[column.name], column.dataType, value)
    return pa.schema([fields[column.name] for column in schema])


def check_append(incoming: StructType, table: pa.Schema) -> pa.Schema:
    """The Arrow schema, in the order of the table, in which a DataFrame is appended to it.

    Columns are found by name. A nullable column may be missing: Lance reads it as null. That no
    null comes into a column that must not have one is seen when rows are converted.

    Raises
    ------
    InvalidInputError
        Columns are missing or too many, or values could be lost; all of them are named.
    """
    columns = {column.name: column for column in incoming}
    fields = [field for field in table if field.name in columns]
    wrong = [f"the table has no column {name!r}" for name in columns if name not in table.names]
    wrong += [
        f"the DataFrame has no column {field.name!r}, which must not be null"
        for field in table
        if field.name not in columns and not field.nullable
    ]
    for field in fields:
        new, held = columns[field.name].dataType, _spark_type(field.name, field)
        if not _fits(new, held):
            wrong.append(
                f"column {field.name!r} is {new.simpleString()} in the DataFrame "
                f"and {held.simpleString()} in the table"
            )
    if wrong:
        raise errors.InvalidInputError(f"the DataFrame does not fit the table: {'; '.join(wrong)}")
    return pa.schema(fields)


def _spark_field(field: pa.Field) -> StructField:
    """The Spark field of an Arrow field, which it can be told from."""
    column = StructField(field.name, _spark_type(field.name, field), field.nullable)
    if _plain_field(column).equals(field, check_metadata=True):
        return column
    column.metadata[ARROW] = base64.b64encode(pa.schema([field]).serialize()).decode()
    if pa.types.is_fixed_size_list(field.type):
        column.metadata[SIZE] = field.type.list_size
    return column


def _spark_type(path: str, field: pa.Field) -> DataType:
    """The Spark type of an Arrow field; `path` is its name in errors."""
    name, arrow = extension(field), field.type
    if name == BLOB:
        return BinaryType()
    if name == BFLOAT16:
        return FloatType()
    if isinstance(arrow, pa.BaseExtensionType):
        arrow = arrow.storage_type
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if is_list(arrow):
        item = arrow.value_field
        return ArrayType(_spark_type(f"{path}.element", item), item.nullable)
    if pa.types.is_map(arrow):
        key, value = arrow.key_field, arrow.item_field
        spark_key, spark_value = (
            _spark_type(f"{path}.key", key),
            _spark_type(f"{path}.value", value),
        )
        return MapType(spark_key, spark_value, value.nullable)
    if pa.types.is_struct(arrow):
        return StructType(
            [StructField(f.name, _spark_type(f"{path}.{f.name}", f), f.nullable) for f in arrow]
        )
    return _spark_leaf(path, arrow)


def _spark_leaf(path: str, arrow: pa.DataType) -> DataType:
    """The Spark type of an Arrow type that has no children."""
    if arrow in _LEAVES:
        return _LEAVES[arrow]
    if pa.types.is_timestamp(arrow):
        return TimestampNTZType() if arrow.tz is None else TimestampType()
    if pa.types.is_duration(arrow):
        return DayTimeIntervalType()
    if pa.types.is_fixed_size_binary(arrow):
        return BinaryType()
    if pa.types.is_decimal(arrow):
        # Arrow also has scales below zero and above the precision.
        scale = max(arrow.scale, 0)
        precision = max(arrow.precision - arrow.scale, 0) + scale
        if precision <= _DIGITS:
            return DecimalType(precision, scale)
    raise errors.UnsupportedOperationError(
        f"column {path!r} is {arrow}, for which Spark has no type: leave it out, "
        "or add a column of another type that holds its values"
    )


def _arrow_field(column: StructField) -> pa.Field:
    """The Arrow field that a column's metadata tells, where it is not stale, else the plain one."""
    text = column.metadata.get(ARROW)
    if text is not None:
        (field,) = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
        before = _spark_type(column.name, field)
        if _fits(before, column.dataType) and _fits(column.dataType, before):
            if before != column.dataType:  # by what may be null inside
                field = field.with_type(_with_nulls(field.type))
            return field.with_name(column.name).with_nullable(field.nullable or column.nullable)
    plain = _plain_field(column)
    if SIZE in column.metadata and isinstance(column.dataType, ArrayType):
        return _fixed_size(SIZE, plain, column.dataType, column.metadata[SIZE])
    return plain


def _with_nulls(arrow: pa.DataType) -> pa.DataType:
    """A type whose values may be null wherever Arrow allows it."""

    def loose(field: pa.Field) -> pa.Field:
        return field.with_type(_with_nulls(field.type)).with_nullable(True)

    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(loose(arrow.value_field), arrow.list_size)
    if pa.types.is_large_list(arrow):
        return pa.large_list(loose(arrow.value_field))
    if pa.types.is_list(arrow):
        return pa.list_(loose(arrow.value_field))
    if pa.types.is_map(arrow):
        return pa.map_(arrow.key_field, loose(arrow.item_field))
    if pa.types.is_struct(arrow):
        return pa.struct([loose(field) for field in arrow])
    return arrow


def _plain_field(column: StructField) -> pa.Field:
    return pa.field(column.name, _plain_type(column.name, column.dataType), column.nullable)


def _plain_type(path: str, spark: DataType) -> pa.DataType:
    """What Spark's type is in Arrow; the child of a list is called as pyarrow calls it."""
    match spark:
        case ArrayType():
            item = _plain_type(f"{path}.element", spark.elementType)
            return pa.list_(pa.field("item", item, spark.containsNull))
        case MapType():
            key = _plain_type(f"{path}.key", spark.keyType)
            value = _plain_type(f"{path}.value", spark.valueType)
            return pa.map_(key, pa.field("value", value, spark.valueContainsNull))
        case StructType():
            return pa.struct(
                [
                    pa.field(f.name, _plain_type(f"{path}.{f.name}", f.dataType), f.nullable)
                    for f in spark
                ]
            )
        case UserDefinedType() | VariantType():
            raise _unknown_to_lance(path, spark)
    try:
        arrow = to_arrow_type(spark, **IN_UTC)
    except PySparkTypeError:
        raise _unknown_to_lance(path, spark) from None
    if pa.types.is_struct(arrow):  # geometry and geography
        raise _unknown_to_lance(path, spark)
    return arrow


def _unknown_to_lance(path: str, spark: DataType) -> errors.UnsupportedOperationError:
    return errors.UnsupportedOperationError(
        f"column {path!r} is {spark.simpleString()}, for which Lance has no type: "
        "use STRING, or cast it, or drop it before writing"
    )


def _fits(new: DataType, held: DataType) -> bool:
    """Whether every value of one type, null inside apart, is a value of another."""
    match new, held:
        case ArrayType(), ArrayType():
            return _fits(new.elementType, held.elementType)
        case MapType(), MapType():
            return _fits(new.keyType, held.keyType) and _fits(new.valueType, held.valueType)
        case StructType(), StructType():
            return new.names == held.names and all(
                _fits(a.dataType, b.dataType) for a, b in zip(new, held, strict=True)
            )
    return _leaf_fits(new, held)


def _leaf_fits(new: DataType, held: DataType) -> bool:
    match new, held:
        case (NullType(), _) | (FloatType(), DoubleType()):
            return True
        case DecimalType(), DecimalType():
            return new.scale == held.scale and new.precision <= held.precision
        case IntegralType(), DecimalType():
            return _INTEGERS[type(new)] <= held.precision - held.scale
        case IntegralType(), IntegralType():
            return _INTEGERS[type(new)] <= _INTEGERS[type(held)]
    return type(new) is type(held)


def _column(schema: StructType, key: str, name: str) -> StructField:
    """The column that an option names; Spark writes the names of options in lower case."""
    found = [column for column in schema if column.name.lower() == name.lower()]
    if len(found) != 1:
        what = "names more than one column" if found else "names a column that does not exist"
        raise errors.InvalidInputError(f"option {key!r} {what}")
    return found[0]


def _wrong_column(key: str, spark: DataType, needed: str) -> errors.InvalidInputError:
    return errors.InvalidInputError(
        f"option {key!r} needs a column of {needed}, but that is {spark.simpleString()}"
    )


def _wrong_value(key: str, value: object, needed: str) -> errors.InvalidInputError:
    return errors.InvalidInputError(f"option {key!r} must be {needed}, not {value!r}")


def _fixed_size(key: str, field: pa.Field, spark: DataType, value: Any) -> pa.Field:
    variable = (StringType, BinaryType, ArrayType, MapType)
    if not isinstance(spark, ArrayType) or isinstance(spark.elementType, variable):
        raise _wrong_column(key, spark, "arrays of numbers")
    if not str(value).isdecimal() or int(value) < 1:
        raise _wrong_value(key, value, "a positive whole number")
    # Lance does not keep that numbers in fixed lists are never null.
    item = field.type.value_field.with_nullable(True)
    return field.with_type(pa.list_(item, int(value)))


def _blob(key: str, field: pa.Field, spark: DataType, value: str) -> pa.Field:
    if not isinstance(spark, BinaryType):
        raise _wrong_column(key, spark, "binary")
    if value.lower() != "blob":
        raise _wrong_value(key, value, "'blob'")
    return pa.field(field.name, pa.large_binary(), field.nullable, {BLOB_ENCODING: "true"})


def _large(key: str, field: pa.Field, spark: DataType, value: str) -> pa.Field:
    if not isinstance(spark, StringType | BinaryType):
        raise _wrong_column(key, spark, "strings")
    if value.lower() not in {"true", "false"}:
        raise _wrong_value(key, value, "'true' or 'false'")
    if value.lower() == "false" or extension(field):
        return field
    return field.with_type(
        pa.large_string() if isinstance(spark, StringType) else pa.large_binary()
    )


_OPTIONS: dict[str, Callable[[str, pa.Field, DataType, str], pa.Field]] = {
    f".{SIZE}": _fixed_size,
    ".lance.encoding": _blob,
    ".arrow.large_var_char": _large,
}
