"""Joins by nearness: for each row of a DataFrame the nearest rows of a Lance table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import QueryTableRequest
from pyspark.sql.types import ArrayType, NumericType, StructField, StructType

from lanceyard import errors
from lanceyard.namespace import CatalogName, properties_of
from lanceyard.spark.reference import TableReference
from lanceyard.spark.scan import Scan
from lanceyard.spark.search.catalogs import parts
from lanceyard.spark.search.queries import (
    K,
    answer,
    check,
    found_schema,
    in_spark,
    names_of,
    pinned,
    read_query,
)
from lanceyard.spark.worker import spare_imports

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

How = Literal["inner", "left"]

QUERIES = 256
"""How many vectors are searched for at once: Lance makes a plan of them all."""
ROWS = 65_536
"""How many rows they may find together."""
INDEX = "query_index"
"""The column in which Lance says which vector a row was found for."""


def nearest_join(
    queries: DataFrame,
    table: str,
    *,
    catalog: CatalogName | None = None,
    vector: str,
    on: str | None = None,
    k: int = K,
    columns: Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002 - what the functions of SQL call it
    how: How = "inner",
    version: int | str | None = None,
    metric: str | None = None,
    nprobes: int | None = None,
    refine_factor: int | None = None,
    exact: bool = False,
    suffix: str = "_found",
) -> DataFrame:
    """Join each row of a DataFrame with the nearest rows of a table, by the table's vector index.

    Executors search, with as many tasks as `queries` has partitions. The version is chosen now,
    and all tasks search that one. Rows at the same distance are found in the order of their ids.

    Parameters
    ----------
    queries
        Rows with a vector to search for.
    table
        The name of a table in the catalog; without one, its path.
    catalog
        A directory, the address of a server, or the properties of a catalog.
    vector
        The column of `queries` with the vectors.
    on
        The column of the table with its vectors. It need not be said if there is only one.
    k
        How many rows to find for each.
    columns
        The columns of the table to add; all unless said. ``_distance`` always comes behind them.
    filter
        A condition in Lance's SQL: the nearest of the rows for which it holds are found.
    how
        Whether a row for which nothing is found goes (``inner``) or stays with nulls (``left``).
    version
        A number or a tag; the newest version unless said.
    metric, nprobes, refine_factor
        As in pylance.
    exact
        Compare with all rows, without the index.
    suffix
        What is added to the names of found columns that `queries` has already.

    Raises
    ------
    LanceNamespaceError
        There is no such table, or what is asked for does not fit it. That a vector is null or of
        the wrong length is seen only when the join runs.
    """
    if how not in ("inner", "left"):
        raise errors.InvalidInputError(f"how must be 'inner' or 'left', not {how!r}")
    _check_queries(queries.schema, vector)
    scan = pinned(_reference(table, catalog), columns, version)
    given = {"k": k, "column": on, "filter": filter, "metric": metric, "exact": exact}
    given |= {"nprobes": nprobes, "refine_factor": refine_factor}
    query = read_query(given, names_of(scan))
    check(scan, query, vectors=True, words=False)
    found = found_schema(scan, vectors=True, words=False)
    joined = _joined(queries.schema, found, suffix)
    join = Join(scan, query, vector, found, joined, is_left=how == "left")
    return queries.mapInArrow(_task(join), joined)


@dataclass(frozen=True)
class Join:
    """A join, as it is sent to executors."""

    scan: Scan
    query: QueryTableRequest
    vector: str
    """The column of the queries."""
    found: StructType
    """The columns of what is found, as the table calls them."""
    schema: StructType
    """The columns of the result."""
    is_left: bool

    def batches(self, queries: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What is found for batches of queries, in their order."""
        spare_imports()
        size = max(1, min(QUERIES, ROWS // self.query.k))
        for batch in queries:
            for start in range(0, batch.num_rows, size):
                yield self._joined(batch.slice(start, size))

    def _joined(self, queries: pa.RecordBatch) -> pa.RecordBatch:
        numbers, found = self._search(queries.column(self.vector))
        mine, theirs = self._pairs(numbers, queries.num_rows)
        left, right = queries.take(mine), found.take(theirs)
        arrays = [*left.columns, *(column.combine_chunks() for column in right.columns)]
        fields = [*left.schema, *(field.with_nullable(True) for field in right.schema)]
        named = zip(fields, self.schema.fieldNames(), strict=True)
        schema = pa.schema([field.with_name(name) for field, name in named])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _search(self, vectors: pa.Array) -> tuple[np.ndarray, pa.Table]:
        """The neighbours of vectors, nearest first, and the number of the vector of each."""
        wanted = self.query.vector.model_copy(update={"multi_vector": self._vectors(vectors)})
        found = answer(self.scan, self.query.model_copy(update={"vector": wanted}))
        if found.schema.names[0] != INDEX:
            raise errors.InvalidInputError(
                f"table {self.scan.options.reference} has several vectors in a row: a join needs "
                "a column with one"
            )
        numbers = found.column(0).to_numpy()
        return numbers, in_spark(found.remove_column(0), self.found)

    def _vectors(self, column: pa.Array) -> list[np.ndarray]:
        values = pc.list_flatten(column)
        if column.null_count or values.null_count:
            raise errors.InvalidInputError(
                f"column {self.vector!r} has a null, which nothing is near to: leave such rows out"
            )
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
        numbers = values.to_numpy(zero_copy_only=False)
        if not np.isfinite(numbers).all():
            raise errors.InvalidInputError(
                f"column {self.vector!r} has a number that is not finite: leave such rows out"
            )
        ends = np.cumsum(pc.list_value_length(column).to_numpy(zero_copy_only=False))
        return np.split(numbers, ends[:-1])

    def _pairs(self, numbers: np.ndarray, queries: int) -> tuple[pa.Array, pa.Array]:
        """Which rows of the queries and of what was found belong together; null is none."""
        places = np.arange(len(numbers))
        if not self.is_left:
            return pa.array(numbers), pa.array(places)
        alone = np.setdiff1d(np.arange(queries), numbers)
        both = np.concatenate([numbers, alone])
        order = np.argsort(both, kind="stable")
        theirs = np.concatenate([places, np.full(len(alone), -1)])[order]
        return pa.array(both[order]), pa.array(theirs, mask=theirs < 0)


def _task(join: Join) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # A function of its own, as Spark asks for its name.
    def nearest(queries: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return join.batches(queries)

    return nearest


def _reference(table: str, catalog: CatalogName | None) -> TableReference:
    if catalog is None:
        return TableReference.take({"path": table})
    return TableReference(table=tuple(parts(table)), catalog=properties_of(catalog))


def _check_queries(schema: StructType, vector: str) -> None:
    names = schema.fieldNames()
    for name, times in Counter(names).items():
        if times > 1:
            raise errors.InvalidInputError(f"the queries have {times} columns {name!r}: rename one")
    if vector not in names:
        raise errors.InvalidInputError(
            f"the queries have no column {vector!r}: they have {', '.join(names)}"
        )
    kind = schema[vector].dataType
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, NumericType):
        raise errors.InvalidInputError(
            f"column {vector!r} of the queries must be an array of numbers, but is "
            f"{kind.simpleString()}"
        )


def _joined(queries: StructType, found: StructType, suffix: str) -> StructType:
    """All columns of the queries, then those that are found: null where nothing is.

    Spark does not tell names apart by case.
    """
    joined = StructType([*queries.fields])  # Spark keeps the very list
    taken = {name.lower() for name in queries.fieldNames()}
    for field in found:
        name = f"{field.name}{suffix}" if field.name.lower() in taken else field.name
        if name.lower() in taken:
            raise errors.InvalidInputError(
                f"queries and table both have a column {field.name!r}, and {name!r} is taken, "
                "too: choose another suffix"
            )
        taken.add(name.lower())
        joined.add(StructField(name, field.dataType, True, field.metadata))
    return joined
