"""Values for columns: what a back-fill computes, by SQL or by a Python function over Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lanceyard import errors
from lanceyard.spark.maintenance.fingerprints import digest
from lanceyard.spark.maintenance.pickling import dump, load

if TYPE_CHECKING:
    from lance import LanceDataset

Function = Callable[[pa.RecordBatch], Any]
"""From some columns of a batch to new ones: a batch, a table, or arrays by their names."""
SQL_TYPES = {
    pa.int8(): "Int8",
    pa.int16(): "Int16",
    pa.int32(): "Int32",
    pa.int64(): "Int64",
    pa.uint8(): "UInt8",
    pa.uint16(): "UInt16",
    pa.uint32(): "UInt32",
    pa.uint64(): "UInt64",
    pa.float16(): "Float16",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.string(): "Utf8",
    pa.large_string(): "LargeUtf8",
    pa.bool_(): "Boolean",
    pa.date32(): "Date32",
    pa.binary(): "Binary",
}
"""What an expression can be cast to."""
PROBE = 16
"""How many rows a function is tried on."""


class Values(ABC):
    """How the values of some columns are computed."""

    @abstractmethod
    def schema(self, dataset: LanceDataset) -> pa.Schema:
        """Names and types of what is computed for a table. Raises `InvalidInputError`."""

    @abstractmethod
    def transform(
        self, names: Mapping[str, str], schema: pa.Schema
    ) -> tuple[Any, list[str] | None]:
        """What pylance merges into a fragment, and the columns that it reads.

        Columns get other names, and the types of a schema with those names.
        """

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """The same for the same computation, in every process."""


@dataclass(frozen=True)
class Expressions(Values):
    """Expressions in SQL, by the names of columns."""

    expressions: Mapping[str, str]

    def schema(self, dataset: LanceDataset) -> pa.Schema:
        return dataset.scanner(columns=dict(self.expressions)).projected_schema

    def transform(
        self, names: Mapping[str, str], schema: pa.Schema
    ) -> tuple[Any, list[str] | None]:
        return {
            names[name]: self._cast(sql, schema.field(names[name]))
            for name, sql in self.expressions.items()
        }, None

    def _cast(self, sql: str, field: pa.Field) -> str:
        kind = SQL_TYPES.get(field.type)
        return sql if kind is None else f"arrow_cast({sql}, '{kind}')"

    @property
    def fingerprint(self) -> str:
        return repr(sorted(self.expressions.items()))


@dataclass(frozen=True)
class Computed(Values):
    """What a Python function makes of batches."""

    function: bytes
    """Pickled with its code."""
    code: str
    """A digest of that code."""
    reads: tuple[str, ...] | None
    """The columns that it is given; None for all."""
    declared: pa.Schema | None

    @classmethod
    def of(
        cls, function: Function, reads: Sequence[str] | None, schema: pa.Schema | None
    ) -> Computed:
        """A function as it is now."""
        reads = None if reads is None else tuple(reads)
        return cls(dump(function), digest(function), reads, schema)

    def schema(self, dataset: LanceDataset) -> pa.Schema:
        """What was declared, or else what the function makes of the first rows."""
        if self.declared is not None:
            return self.declared
        columns = None if self.reads is None else list(self.reads)
        first = dataset.scanner(columns=columns, limit=PROBE).to_table().combine_chunks()
        if not first.num_rows:
            raise errors.InvalidInputError(
                "the table has no rows to try the function on: say schema="
            )
        function: Function = load(self.function)
        made = _batch(function(first.to_batches()[0]))
        return pa.schema([field.with_nullable(True) for field in made.schema])

    def transform(
        self, names: Mapping[str, str], schema: pa.Schema
    ) -> tuple[Any, list[str] | None]:
        from lance.udf import BatchUDF

        function: Function = load(self.function)
        columns = [names[name] for name in names]

        def compute(batch: pa.RecordBatch) -> pa.RecordBatch:
            made = _batch(function(batch))
            _check(made, names, batch.num_rows)
            arrays = [_fitted(made.column(name), schema.field(names[name])) for name in names]
            return pa.record_batch(arrays, schema=pa.schema([schema.field(c) for c in columns]))

        return BatchUDF(compute, output_schema=pa.schema([schema.field(c) for c in columns])), (
            None if self.reads is None else list(self.reads)
        )

    @property
    def fingerprint(self) -> str:
        return f"{self.code} {self.reads} {self.declared}"


def _batch(made: Any) -> pa.RecordBatch:
    """What a function returned, as one batch."""
    if isinstance(made, pa.RecordBatch):
        return made
    if type(made).__module__.partition(".")[0] == "pandas":
        return pa.RecordBatch.from_pandas(made, preserve_index=False)
    if isinstance(made, Mapping):
        made = pa.table(dict(made))
    if not isinstance(made, pa.Table):
        raise errors.InvalidInputError(
            f"the function returned {type(made).__name__}: it must return a record batch, a table, "
            "a data frame or a dict of arrays"
        )
    whole = made.combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], schema=made.schema)


def _fitted(made: pa.Array, field: pa.Field) -> pa.Array:
    """Values in the type of their column."""
    if made.null_count and not field.nullable:
        raise errors.InvalidInputError("the function returned nulls for a column without nulls")
    return made.cast(field.type)


def _check(made: pa.RecordBatch, names: Iterable[str], rows: int) -> None:
    missing = [name for name in names if name not in made.schema.names]
    if missing:
        raise errors.InvalidInputError(f"the function did not return column {missing[0]!r}")
    if made.num_rows != rows:
        raise errors.InvalidInputError(
            f"the function returned {made.num_rows} rows for {rows}: there must be one for each"
        )
