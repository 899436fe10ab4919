"""Ranges: sets of version numbers, which mostly follow one another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import reduce


class Ranges(tuple[tuple[int, int], ...]):
    """An immutable set of numbers as sorted, disjoint ranges ``[start, end)``.

    A table with twenty thousand versions is mostly one range.
    """

    __slots__ = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Ranges:
        """The set of some numbers, in any order."""
        found: list[tuple[int, int]] = []
        for number in sorted(set(numbers)):
            if found and found[-1][1] == number:
                found[-1] = (found[-1][0], number + 1)
            else:
                found.append((number, number + 1))
        return cls(found)

    @property
    def last(self) -> int | None:
        """The greatest number."""
        return self[-1][1] - 1 if self else None

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(end - start for start, end in self)

    def has(self, number: int) -> bool:
        """Whether a number is in the set."""
        at = bisect_right(self, (number, float("inf"))) - 1
        return at >= 0 and self[at][0] <= number < self[at][1]

    def ascending(self) -> Iterator[int]:
        """All numbers, least first."""
        for start, end in self:
            yield from range(start, end)

    def descending(self) -> Iterator[int]:
        """All numbers, greatest first."""
        for start, end in reversed(self):
            yield from range(end - 1, start - 1, -1)

    def with_range(self, start: int, end: int) -> Ranges:
        """The set with a range added."""
        if self and self[-1][1] == start < end:  # the usual case: the next number
            return Ranges((*self[:-1], (self[-1][0], end)))
        before = [r for r in self if r[1] < start]
        after = [r for r in self if r[0] > end]
        touching = [r for r in self if r[1] >= start and r[0] <= end]
        merged = (min([start, *(r[0] for r in touching)]), max([end, *(r[1] for r in touching)]))
        return Ranges((*before, merged, *after)) if start < end else self

    def without_range(self, start: int, end: int) -> Ranges:
        """The set with a range taken out."""
        if start >= end:
            return self
        kept: list[tuple[int, int]] = []
        for low, high in self:
            kept += [(low, min(high, start)), (max(low, end), high)]
        return Ranges((low, high) for low, high in kept if low < high)

    def union(self, other: Ranges) -> Ranges:
        """Numbers in either set."""
        return reduce(lambda found, r: found.with_range(*r), other, self)

    def minus(self, other: Ranges) -> Ranges:
        """Numbers in this set that are not in the other."""
        return reduce(lambda found, r: found.without_range(*r), other, self)

    def common(self, other: Ranges) -> Ranges:
        """Numbers in both sets."""
        return self.minus(self.minus(other))


NONE = Ranges()
