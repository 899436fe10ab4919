"""GetTableStats: how large a table is, and how it is divided."""

from __future__ import annotations

from lance_namespace import (
    GetTableStatsRequest,
    GetTableStatsResponse,
)
from lance_namespace_urllib3_client.models.fragment_stats import FragmentStats
from lance_namespace_urllib3_client.models.fragment_summary import FragmentSummary

from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.content.indexes import indexes_of
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import read_texts

SMALL = 1024 * 1024
"""Compaction joins fragments with fewer rows than this, unless told otherwise."""


class StatisticsOperations(ContentOperations):
    """Count what tables consist of. Deleted rows do not count."""

    @operation
    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        """Return the size of a table in bytes and rows, and how its fragments differ in length."""
        request = read_texts(GetTableStatsRequest, request)
        with self._reading(request.id, branch=request.branch) as dataset:
            fragments = [fragment.metadata for fragment in dataset.get_fragments()]
            lengths = sorted(fragment.num_rows for fragment in fragments)
            files = [file for fragment in fragments for file in fragment.files]
            return GetTableStatsResponse(
                total_bytes=sum(file.file_size_bytes or 0 for file in files),
                num_rows=sum(lengths),
                num_indices=len(indexes_of(dataset)),
                fragment_stats=FragmentStats(
                    num_fragments=len(lengths),
                    num_small_fragments=sum(length < SMALL for length in lengths),
                    lengths=_summary(lengths or [0]),
                ),
            )


def _summary(lengths: list[int]) -> FragmentSummary:
    def percentile(percent: int) -> int:
        return lengths[min(len(lengths) * percent // 100, len(lengths) - 1)]

    return FragmentSummary(
        min=lengths[0],
        max=lengths[-1],
        mean=sum(lengths) // len(lengths),
        p25=percentile(25),
        p50=percentile(50),
        p75=percentile(75),
        p99=percentile(99),
    )
