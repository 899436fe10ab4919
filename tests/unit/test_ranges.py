"""Ranges behave as sets of numbers do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lanceyard.catalog.ranges import NONE, Ranges

numbers = st.sets(st.integers(1, 30))


@given(numbers, numbers)
def test_two_sets_are_joined_and_taken_apart(one: set[int], other: set[int]) -> None:
    assert Ranges.of(one).union(Ranges.of(other)) == Ranges.of(one | other)
    assert Ranges.of(one).minus(Ranges.of(other)) == Ranges.of(one - other)
    assert Ranges.of(one).common(Ranges.of(other)) == Ranges.of(one & other)


@given(numbers, st.integers(0, 31), st.integers(0, 31))
def test_a_range_is_added_and_taken_out(found: set[int], start: int, end: int) -> None:
    between = set(range(start, end))
    assert Ranges.of(found).with_range(start, end) == Ranges.of(found | between)
    assert Ranges.of(found).without_range(start, end) == Ranges.of(found - between)


@given(numbers)
def test_a_set_is_gone_through_both_ways(found: set[int]) -> None:
    ranges = Ranges.of(found)
    assert [*ranges.ascending()] == sorted(found)
    assert [*ranges.descending()] == sorted(found, reverse=True)
    assert ranges.size == len(found)
    assert ranges.last == max(found, default=None)
    assert [n for n in range(32) if ranges.has(n)] == sorted(found)


def test_numbers_in_a_row_are_one_range() -> None:
    assert Ranges.of(range(1, 20_001)) == ((1, 20_001),)
    assert NONE.with_range(3, 3) == NONE
