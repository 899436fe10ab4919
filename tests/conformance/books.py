"""A table to be queried: books with a title, a text and a vector."""

from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa

from .kit import Catalog, Identifier, stream

COUNT = 12
HERE = [3.2, 0.0]
"""A point to which no two books are equally near: from 3, 4, 2, 5, 1, 6, … it is ever farther."""


def books(*numbers: int) -> pa.Table:
    """Books by number. No two of them match a word equally well."""
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "title": [f"story{i}" + " cat" * (i % 4 == 0) for i in numbers],
            "text": [
                " ".join(["cat"] * (i % 4) + ["dog"] * (i % 3) + ["end"] * (i + 1)) for i in numbers
            ],
            "v": pa.array([[i, 0] for i in numbers], pa.list_(pa.float32(), 2)),
            "place": [{"shelf": f"s{i}", "floor.no": i} for i in numbers],
        }
    )


def shelve(catalog: Catalog, table: list[str] | None = None) -> list[str]:
    """Create the table, without indexes."""
    table = table or ["books"]
    catalog.create_table_from(table, stream(books(*range(COUNT))))
    return table


def writable(catalog: Catalog, table: Identifier) -> lance.LanceDataset:
    """The table as pylance changes it: through the catalog."""
    return lance.dataset(namespace_client=catalog.client, table_id=table)


def index_texts(catalog: Catalog, table: list[str], *columns: str, **options: Any) -> None:
    """Index texts for full-text search, word by word as they are."""
    for column in columns:
        index: dict[str, Any] = {"stem": False, "remove_stop_words": False, **options}
        writable(catalog, table).create_scalar_index(column, "INVERTED", **index)


def index_vectors(catalog: Catalog, table: list[str], **options: Any) -> None:
    """Index the vectors of the books, in partitions of which one search probes few."""
    writable(catalog, table).create_index("v", "IVF_FLAT", name="vectors", **options)


def near(*vectors: list[float]) -> dict[str, Any]:
    """The vector of a request."""
    return {"single_vector": vectors[0]} if len(vectors) == 1 else {"multi_vector": list(vectors)}


def names(*columns: str) -> dict[str, Any]:
    """The columns of a request."""
    return {"column_names": list(columns)}


def words(text: str, *columns: str) -> dict[str, Any]:
    """The full-text query of a request, as a text."""
    return {"string_query": {"query": text, "columns": list(columns) or None}}


def structure(**form: Any) -> dict[str, Any]:
    """The full-text query of a request, as a structure."""
    return {"structured_query": {"query": form}}


def ids(rows: pa.Table) -> list[object]:
    """The numbers of the books that were found."""
    found: list[object] = rows["id"].to_pylist()
    return found
