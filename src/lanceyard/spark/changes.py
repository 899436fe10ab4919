"""What a version of a table added to the one before, for those who follow it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lanceyard import errors
from lanceyard.spark import planning
from lanceyard.spark.planning import Extent
from lanceyard.spark.scan import Scan

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

KEPT = {"Rewrite", "CreateIndex", "UpdateConfig", "Project", "DataReplacement", "ReserveFragments"}
"""Operations after which the table holds the same rows: compaction, indexes, configuration."""


class Added(NamedTuple):
    """The rows that a version added, as fragments of that version."""

    version: int
    extents: tuple[Extent, ...]


@lru_cache(maxsize=256)
def added(scan: Scan, version: int, on_change: str) -> Added:
    """The fragments that a version added, or all of its if it is the first.

    Versions that only rewrite, index or configure add none. Where rows were changed or deleted,
    `on_change` decides: *fail*, *ignore* (add none) or *reemit* (add the fragments with new rows,
    in which rows that did not change may be repeated).

    Raises
    ------
    TableVersionNotFoundError
        The version, or the one before it, was cleaned away.
    UnsupportedOperationError
        Rows were changed or deleted, and that is to fail.
    """
    now = _open(scan, version)
    operation = _operation(now, version)
    if operation in KEPT:
        return Added(version, ())
    fragments = _fragments(now)
    before = {} if version == 1 else _fragments(_open(scan, version - 1))
    new = [metadata for number, metadata in fragments.items() if number not in before]
    is_changed = any(
        number not in fragments or _deletions(fragments[number]) != _deletions(metadata)
        for number, metadata in before.items()
    )
    if not is_changed or on_change == "reemit":
        return Added(version, tuple(planning.extent(metadata) for metadata in new))
    if on_change == "ignore":
        return Added(version, ())
    raise errors.UnsupportedOperationError(
        f"version {version} of table {scan.options.reference} changed or deleted rows "
        f"({operation}), which a stream cannot follow: set option on_change to ignore (skip such "
        "versions) or reemit (read what they wrote, which may repeat rows)"
    )


def snapshot(scan: Scan, version: int) -> Added:
    """All rows of a version, as if it had added them."""
    return Added(version, tuple(planning.extents(_open(scan, version))))


def _open(scan: Scan, version: int) -> LanceDataset:
    try:
        return scan.at(version).dataset
    except errors.LanceNamespaceError as cause:
        raise errors.TableVersionNotFoundError(
            f"version {version} of table {scan.options.reference} was cleaned away before the "
            "stream read it: start the stream anew (with a new checkpoint), and keep versions for "
            "longer than it stands still"
        ) from cause


def _fragments(dataset: LanceDataset) -> dict[int, FragmentMetadata]:
    return {fragment.fragment_id: fragment.metadata for fragment in dataset.get_fragments()}


def _deletions(metadata: FragmentMetadata) -> int:
    return int(metadata.num_deletions)


def _operation(dataset: LanceDataset, version: int) -> str:
    found = dataset.read_transaction(version)
    return "unknown operation" if found is None else type(found.operation).__name__
