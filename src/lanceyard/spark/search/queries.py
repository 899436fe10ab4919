"""Queries: what a search asks of a table, read from what SQL or a DataFrame gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import QueryTableRequest
from pyspark.sql.types import FloatType, StructType

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.namespace.content.failures import told
from lanceyard.namespace.content.fields import find_column
from lanceyard.namespace.queries.fusion import DISTANCE, RELEVANCE, SCORE
from lanceyard.namespace.queries.searches import Search
from lanceyard.namespace.queries.vectors import Neighbours, has_vectors
from lanceyard.namespace.requests import read_texts
from lanceyard.spark.batches import BLOB, ToSpark, extension
from lanceyard.spark.options import Options
from lanceyard.spark.reference import TableReference
from lanceyard.spark.scan import Scan
from lanceyard.spark.types import BLOB_ENCODING

if TYPE_CHECKING:
    from lance import LanceDataset

K = 10
"""How many rows are found unless said."""

_FIELDS = {
    "k": "k",
    "column": "vector_column",
    "filter": "filter",
    "nprobes": "nprobes",
    "refine_factor": "refine_factor",
    "metric": "distance_type",
    "exact": "bypass_vector_index",
}
"""Arguments of searches, and what QueryTable calls them."""


def pinned(
    reference: TableReference, columns: Sequence[str] | None, version: int | str | None
) -> Scan:
    """The version of a table that is searched: the newest, one by its number, or one by a tag.

    Raises
    ------
    LanceNamespaceError
        There is no such table or version, it lacks a column, or a column holds blobs.
    """
    options = Options(
        reference=reference,
        columns=None if columns is None else tuple(columns),
        version=version if isinstance(version, int) else None,
        tag=version if isinstance(version, str) else None,
    )
    scan = Scan.open(options)
    blobs = [name for name in names_of(scan) if _holds_blobs(scan.dataset.schema.field(name))]
    if blobs:
        raise errors.UnsupportedOperationError(
            f"column {blobs[0]!r} of table {reference} holds blobs, which searches do not read: "
            "choose the other ones by columns"
        )
    return scan


def names_of(scan: Scan) -> list[str]:
    """The columns of the table that are read."""
    return scan.schema.fieldNames()


def found_schema(scan: Scan, *, vectors: bool, words: bool) -> StructType:
    """What a search finds: columns of the table, and how good a row is."""
    schema = StructType([*scan.schema.fields])
    added = {DISTANCE: vectors, SCORE: words, RELEVANCE: vectors and words}
    for name in (name for name, is_added in added.items() if is_added):
        schema.add(name, FloatType())
    return schema


def read_query(given: Mapping[str, Any], columns: Sequence[str]) -> QueryTableRequest:
    """The query that arguments make; those that are missing or None have their defaults.

    A filter comes before the search: the best of the rows for which it holds are found.

    Raises
    ------
    InvalidInputError
        An argument does not make sense.
    """
    query: dict[str, Any] = {"k": K, "prefilter": True, "vector": {}}
    query |= {field: given[name] for name, field in _FIELDS.items() if given.get(name) is not None}
    # An empty list would mean all columns.
    query["columns"] = {"column_names": list(columns) or [DISTANCE]}
    if given.get("vector") is not None:
        query["vector"] = {"single_vector": numbers(given["vector"])}
    if given.get("words") is not None:
        column = given.get("text_column")
        words = {"query": given["words"], "columns": None if column is None else [column]}
        query["full_text_query"] = {"string_query": words}
    return read_texts(QueryTableRequest, query)


def numbers(vector: Iterable[Any]) -> list[float]:
    """A vector as numbers that Lance can compare.

    Raises
    ------
    InvalidInputError
        One is missing, or is no number: Lance would take it for 0.
    """
    found = [float(each) if isinstance(each, Decimal) else each for each in vector]
    if not found:
        raise errors.InvalidInputError("the vector to search for is empty")
    for each in found:
        if not isinstance(each, int | float) or not math.isfinite(each):
            shown = "null" if each is None else each
            raise errors.InvalidInputError(f"a vector to search for contains {shown}")
    return found


def check(scan: Scan, query: QueryTableRequest, *, vectors: bool, words: bool) -> None:
    """Refuse what the table does not have, before rows come; vector and words may come with them.

    Raises
    ------
    LanceNamespaceError
        A column is missing or of the wrong kind, or nothing says which; a vector has another
        number of dimensions; there is no full-text index.
    """
    dataset = scan.dataset
    with told(identifier(scan)):
        Search(dataset, query)
        if vectors and not has_vectors(query):
            Neighbours(dataset, query)
        if words:
            _check_text_column(scan, query)


def answer(scan: Scan, query: QueryTableRequest) -> pa.Table:
    """The rows that a query finds, the best ones first."""
    with told(identifier(scan)):
        return Search(scan.dataset, query).answer().read_all()


def in_spark(found: pa.Table, schema: StructType) -> pa.Table:
    """What was found in the types of Spark; columns that the schema does not have are left out."""
    convert = ToSpark(found.schema, schema)
    batches = found.to_batches() or [pa.RecordBatch.from_pylist([], schema=found.schema)]
    return pa.Table.from_batches(map(convert, batches))


def identifier(scan: Scan) -> Identifier:
    """What errors call the table."""
    return Identifier(scan.options.reference.table or (str(scan.options.reference),))


def _check_text_column(scan: Scan, query: QueryTableRequest) -> None:
    text = query.full_text_query
    columns = text.string_query.columns if text is not None and text.string_query else None
    for column in columns or ():
        found = find_column(scan.dataset, column)
        if not _holds_texts(found.kind):
            raise errors.InvalidInputError(f"column {column!r} holds no texts, but {found.kind}")
    if not columns and not _has_text_index(scan.dataset):
        raise errors.InvalidInputError(
            f"table {scan.options.reference} has no full-text index: create one of kind FTS, "
            "or name the column of texts to read through"
        )


def _has_text_index(dataset: LanceDataset) -> bool:
    return any(index.index_type == "Inverted" for index in dataset.describe_indices())


def _holds_texts(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    return any(is_kind(inner) for is_kind in kinds) or extension(pa.field("", kind)) is not None


def _holds_blobs(field: pa.Field) -> bool:
    metadata: Mapping[bytes, bytes] = field.metadata or {}
    return extension(field) == BLOB or metadata.get(BLOB_ENCODING.encode()) == b"true"
