"""Vectors: the part of a query that looks for the nearest ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace import AnalyzeTableQueryPlanRequest, QueryTableRequest

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.content.fields import (
    Field,
    all_fields,
    find_column,
    storage_type,
    vector_type,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset

Query = QueryTableRequest | AnalyzeTableQueryPlanRequest


class Neighbours:
    """The vectors that a query looks for, and the column in which.

    Several vectors are a batch of as many queries, each with its own answer; in a column of
    multi-vectors they are one query.
    """

    def __init__(self, dataset: LanceDataset, query: Query) -> None:
        """Find the column. Raises `TableColumnNotFoundError` and `InvalidInputError`."""
        import pyarrow as pa

        self._query = query
        self._rows = max(dataset.count_rows(), 1)
        self._vectors = _vectors(query)
        column = _column(dataset, query.vector_column)
        self._path = column.path
        in_lists = pa.types.is_list(storage_type(column.kind))
        self.is_batch = bool(query.vector.multi_vector) and not in_lists
        self.count = len(self._vectors) if self.is_batch else 1
        vectors = vector_type(column.kind)
        assert vectors is not None
        size = vectors.list_size
        for vector in self._vectors:
            if len(vector) != size:
                raise InvalidInputError(
                    f"vectors in column {self._path!r} have {size} dimensions, not {len(vector)}"
                )

    def nearest(self, *, offset: int, limit: int) -> dict[str, Any]:
        """What a scan takes as `nearest`. What is skipped has to be found, too.

        It is never more than all rows: Lance reserves memory for what it is asked for, and clients
        that want all rows ask for 2^64 - 1.
        """
        query, offset = self._query, min(offset, self._rows)
        count = min(offset + limit, self._rows)
        wanted: dict[str, Any] = {
            "column": self._path,
            "q": self._vectors if query.vector.multi_vector else self._vectors[0],
            "k": count,
            "metric": query.distance_type,
            "use_index": not query.bypass_vector_index,
            "ef": min(query.ef + offset, self._rows) if query.ef else None,
            "minimum_nprobes": query.minimum_nprobes,
            "maximum_nprobes": query.maximum_nprobes,
        }
        if query.minimum_nprobes is None and query.maximum_nprobes is None:
            wanted["nprobes"] = query.nprobes or None
        if query.refine_factor:
            wanted["refine_factor"] = min(query.refine_factor, -(-self._rows // count))
        if query.lower_bound is not None or query.upper_bound is not None:
            wanted["distance_range"] = (query.lower_bound, query.upper_bound)
        return wanted


def has_vectors(query: Query) -> bool:
    """Whether a query looks for vectors: it always has the field, which may be empty."""
    return bool(query.vector.single_vector or query.vector.multi_vector)


def _vectors(query: Query) -> Sequence[list[float | int]]:
    single, several = query.vector.single_vector, query.vector.multi_vector
    if single and several:
        raise InvalidInputError("vector has a single_vector or a multi_vector, not both")
    return [single] if single else several or []


def _column(dataset: LanceDataset, path: str | None) -> Field:
    """The column that is named, or else the only one that holds vectors."""
    if path is not None:
        column = find_column(dataset, path)
        if not _holds_vectors(column.kind):
            raise InvalidInputError(f"column {path!r} holds no vectors, but {column.kind}")
        return column
    columns = [field for field in all_fields(dataset) if _holds_vectors(field.kind)]
    columns = [field for field in columns if not field.in_list]
    if not columns:
        raise InvalidInputError("the table has no column of vectors")
    if len(columns) > 1:
        choice = ", ".join(field.path for field in columns)
        raise InvalidInputError(f"vector_column must be one of {choice}")
    return columns[0]


def _holds_vectors(kind: pa.DataType) -> bool:
    """Whether Lance can search a column: fixed-size lists of floats or bytes, or lists of them."""
    import pyarrow as pa

    vectors = vector_type(kind)
    if vectors is None:
        return False
    return bool(pa.types.is_floating(vectors.value_type) or pa.types.is_uint8(vectors.value_type))
