"""Tasks of a scan: small fragments together, large ones in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

MIB = 1 << 20
LARGEST_TASK = 128 * MIB
SMALLEST_TASK = 4 * MIB
OPENING = MIB
"""What opening a fragment costs, as bytes that could be read meanwhile."""
ROW_BYTES = 64
"""Of a fragment whose files do not tell their size."""


class Extent(NamedTuple):
    """A fragment, and how much of it there is to read."""

    fragment: int
    rows: int
    size: int


class Piece(NamedTuple):
    """What one task reads: whole fragments, or a range of the rows of one."""

    fragments: tuple[int, ...]
    offset: int | None = None
    limit: int | None = None


def extent(metadata: FragmentMetadata) -> Extent:
    """A fragment by its metadata."""
    rows = int(metadata.num_rows)
    size = sum(file.file_size_bytes or 0 for file in metadata.files) or rows * ROW_BYTES
    return Extent(int(metadata.id), rows, size)


def extents(dataset: LanceDataset) -> list[Extent]:
    """All fragments of a version."""
    return [extent(fragment.metadata) for fragment in dataset.get_fragments()]


def plan(
    found: Sequence[Extent],
    *,
    task_size: int | None = None,
    parallelism: int | None = None,
    divisible: bool = True,
) -> list[Piece]:
    """Divide fragments into tasks of about equal size, in order.

    Unless a size is given, it is chosen so that all cores have something to do but no task is
    tiny. Where a filter selects rows, a fragment cannot be divided by row numbers.
    """
    found = [each for each in found if each.rows]
    size = task_size or _task_size(found, parallelism or os.cpu_count() or 1)
    pieces: list[Piece] = []
    for together in _grouped(found, size):
        alone = together[0]
        if len(together) == 1 and divisible and alone.size > size * 3 // 2:
            pieces += _divided(alone, round(alone.size / size))
        else:
            pieces.append(Piece(tuple(each.fragment for each in together)))
    return pieces


def _task_size(found: Sequence[Extent], parallelism: int) -> int:
    total = sum(each.size + OPENING for each in found)
    return min(LARGEST_TASK, max(SMALLEST_TASK, -(-total // parallelism)))


def _grouped(found: Iterable[Extent], size: int) -> Iterator[list[Extent]]:
    group: list[Extent] = []
    filled = 0
    for each in found:
        cost = each.size + OPENING
        if group and filled + cost > size:
            yield group
            group, filled = [], 0
        group.append(each)
        filled += cost
    if group:
        yield group


def _divided(large: Extent, parts: int) -> Iterator[Piece]:
    step = -(-large.rows // parts)
    for offset in range(0, large.rows, step):
        yield Piece((large.fragment,), offset, min(step, large.rows - offset))
