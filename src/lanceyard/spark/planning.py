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
TOLERANCE = 1.5
"""How much larger a task may be than wanted, rather than become two."""
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
        if divisible and alone.size > size * TOLERANCE:
            pieces += _divided(alone, round(alone.size / size))
        else:
            pieces.append(Piece(tuple(each.fragment for each in together)))
    return pieces


def _task_size(found: Sequence[Extent], parallelism: int) -> int:
    return min(LARGEST_TASK, max(SMALLEST_TASK, -(-_cost(found) // parallelism)))


def _cost(found: Iterable[Extent]) -> int:
    return sum(each.size + OPENING for each in found)


def _grouped(found: Sequence[Extent], size: int) -> Iterator[list[Extent]]:
    """Neighbours together, in about as many groups as the size asks for; large ones alone.

    Groups that were filled one after the other would leave a small one for the end, at which one
    core would work while the others have nothing to do.
    """
    total = _cost(found)
    groups = -(-total // size)
    group: list[Extent] = []
    current, filled, before = 0, 0, 0
    for each in found:
        cost = each.size + OPENING
        number = (before + cost // 2) * groups // total
        if group and (number != current or filled + cost > size * TOLERANCE):
            yield group
            group, filled = [], 0
        group.append(each)
        current, filled, before = number, filled + cost, before + cost
    if group:
        yield group


def _divided(large: Extent, parts: int) -> Iterator[Piece]:
    step = -(-large.rows // parts)
    for offset in range(0, large.rows, step):
        yield Piece((large.fragment,), offset, min(step, large.rows - offset))
