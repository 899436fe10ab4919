"""Fusion: the rows that two searches found, ranked by both."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

CONSTANT = 60
"""What is added to all ranks, as lancedb and the paper on reciprocal rank fusion do."""

ROW_ID = "_rowid"
DISTANCE = "_distance"
SCORE = "_score"
RELEVANCE = "_relevance_score"
ADDED = (DISTANCE, SCORE, RELEVANCE, ROW_ID)
"""The columns that searches add to those of the table."""


def fuse(near: pa.Table, matching: pa.Table, *, offset: int, limit: int) -> pa.Table:
    """Fuse what a vector search and a full-text search found, by row id.

    Each row adds up 1 / (60 + its rank) of the searches that found it. Distance and score are null
    where a search did not find the row. Rows that are equally relevant, or match equally well, are
    in the order of their row ids.
    """
    import pyarrow as pa

    matching = matching.sort_by([(SCORE, "descending"), (ROW_ID, "ascending")])
    found = {DISTANCE: _by_row(near, DISTANCE), SCORE: _by_row(matching, SCORE)}
    found[RELEVANCE] = relevance = _relevance(*found.values())
    rows = sorted(relevance, key=lambda row: (-relevance[row], row))[offset : offset + limit]

    names = [name for name in near.column_names if name in matching.column_names]
    both = pa.concat_tables([near.select(names), matching.select(names)])
    places = {row: place for place, row in enumerate(both[ROW_ID].to_pylist())}
    picked = both.take(pa.array([places[row] for row in rows], pa.int64()))
    for name, values in found.items():
        picked = picked.append_column(name, pa.array(map(values.get, rows), pa.float32()))
    return picked.select([*(name for name in names if name != ROW_ID), *found, ROW_ID])


def _by_row(ranked: pa.Table, column: str) -> dict[int, float]:
    """A column by row id, best first; a row that was found twice counts where it is best."""
    values: dict[int, float] = {}
    for row, value in zip(ranked[ROW_ID].to_pylist(), ranked[column].to_pylist(), strict=True):
        values.setdefault(row, value)
    return values


def _relevance(*rankings: dict[int, float]) -> dict[int, float]:
    relevance: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            relevance[row] += 1 / (CONSTANT + rank)
    return dict(relevance)
