"""Searches: what a query asks for, as scans of a Lance table and their answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.content.sql import condition, whole
from lanceyard.namespace.queries.fulltext import read_text_query
from lanceyard.namespace.queries.fusion import ADDED, DISTANCE, ROW_ID, SCORE, fuse
from lanceyard.namespace.queries.vectors import Neighbours, Query, has_vectors

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset
    from lance.dataset import LanceScanner

Columns = list[str] | dict[str, str] | None
LARGEST = 2**63 - 1
"""What Lance takes as a limit; clients that want all rows ask for twice as many."""

SEGMENT = re.compile(r"`(?:[^`]|``)*`|[^.`]+")


class Search:
    """A query of a table: by vector, by text, by both (hybrid), or by a filter alone.

    Without `prefilter` a filter is applied to what a search has found, as pylance and the reference
    do it: there may be fewer rows than asked for.
    """

    def __init__(self, dataset: LanceDataset, query: Query) -> None:
        """Read a query of an open table.

        Raises `TableColumnNotFoundError` and `InvalidInputError`.
        """
        if query.k < 1:
            raise InvalidInputError(f"k must be at least 1, not {query.k}")
        self._dataset = dataset
        self._query = query
        self._limit = min(query.k, LARGEST)
        self._offset = min(query.offset or 0, LARGEST)
        self._vectors = Neighbours(dataset, query) if has_vectors(query) else None
        text = query.full_text_query
        self._text = None if text is None else read_text_query(text, dataset)
        self._is_hybrid = self._vectors is not None and self._text is not None
        self._columns = _columns(dataset, query)

    def answer(self) -> pa.RecordBatchReader:
        """The rows that were found, the best ones first."""
        if self._is_hybrid:
            return self._fused().to_reader()
        scan = self._scan()
        if self._vectors and self._vectors.is_batch and self._offset:
            return _skip_in_each_query(scan.to_table(), self._offset).to_reader()
        return scan.to_reader()

    def plan(self, tell: Callable[[LanceScanner], str]) -> str:
        """What is told about the scan, or about both scans of a hybrid query."""
        if self._is_hybrid:
            near, matching = self._hybrid()
            return f"Vector search:\n{tell(near)}\nFull-text search:\n{tell(matching)}"
        return tell(self._scan())

    def _scan(self) -> LanceScanner:
        columns, row_id = self._columns, self._query.with_row_id
        cut: dict[str, Any] = {"limit": self._limit, "offset": self._offset or None}
        if self._text is not None:
            columns = _with_score(columns, SCORE)
            return self._scanner(columns, row_id=row_id, full_text_query=self._text, **cut)
        if self._vectors is None:
            return self._scanner(columns, row_id=row_id, **cut)
        if self._vectors.is_batch or not self._offset:
            cut = {}
        columns = _with_score(columns, DISTANCE)
        return self._scanner(columns, row_id=row_id, nearest=self._nearest(), **cut)

    def _hybrid(self) -> tuple[LanceScanner, LanceScanner]:
        """The two scans of a hybrid query, each for as many rows as the answer may need."""
        if self._vectors and self._vectors.count > 1:
            raise InvalidInputError("a hybrid query looks for one vector")
        columns = _without_scores(self._columns)
        near, limit = {"nearest": self._nearest()}, min(self._offset + self._limit, LARGEST)
        matching = {"full_text_query": self._text, "limit": limit}
        return (
            self._scanner(_with_score(columns, DISTANCE), row_id=True, **near),
            self._scanner(_with_score(columns, SCORE), row_id=True, **matching),
        )

    def _fused(self) -> pa.Table:
        near, matching = (scan.to_table() for scan in self._hybrid())
        fused = fuse(near, matching, offset=self._offset, limit=self._limit)
        if self._query.with_row_id or ROW_ID in (self._columns or ()):
            return fused
        return fused.drop_columns([ROW_ID])

    def _nearest(self) -> dict[str, Any]:
        assert self._vectors
        return self._vectors.nearest(offset=self._offset, limit=self._limit)

    def _scanner(self, columns: Columns, *, row_id: bool | None, **search: Any) -> LanceScanner:
        return self._dataset.scanner(
            columns=columns,
            filter=condition(self._query.filter or None),
            prefilter=self._query.prefilter,
            with_row_id=row_id,
            fast_search=self._query.fast_search,
            # Lance warns that scores will no longer be added to columns; ours have them already.
            disable_scoring_autoprojection=columns is not None,
            **search,
        )


def _columns(dataset: LanceDataset, query: Query) -> Columns:
    """The columns that are asked for; an empty list or map means all, as for the reference."""
    if query.columns is None:
        return None
    names, aliases = query.columns.column_names, query.columns.column_aliases
    if names and aliases:
        raise InvalidInputError("columns has column_names or column_aliases, not both")
    if aliases:
        return {alias: _expression(dataset, text) for alias, text in aliases.items()}
    return names or None


def _expression(dataset: LanceDataset, text: str) -> str:
    """A field path in SQL; what is no path of this table is SQL already."""
    if dataset.lance_schema.field(text) is None:
        return whole(text)
    return SEGMENT.sub(lambda part: part[0] if part[0][0] == "`" else f"`{part[0]}`", text)


def _with_score(columns: Columns, score: str) -> Columns:
    """The columns and, behind them, how good a row is."""
    if columns is None or score in columns:
        return columns
    return {**columns, score: score} if isinstance(columns, dict) else [*columns, score]


def _without_scores(columns: Columns) -> Columns:
    """The columns that both searches of a hybrid query have."""
    if isinstance(columns, dict):
        return {name: text for name, text in columns.items() if name not in ADDED}
    return columns and [name for name in columns if name not in ADDED]


def _skip_in_each_query(found: pa.Table, offset: int) -> pa.Table:
    """The answers to a batch of queries without the first rows of each."""
    import numpy as np
    import pyarrow as pa

    queries = found["query_index"].to_numpy()  # in order
    places = np.arange(len(queries)) - np.searchsorted(queries, queries)
    return found.filter(pa.array(places >= offset))
