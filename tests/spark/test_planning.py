"""How a scan is divided into tasks."""

from __future__ import annotations

import pickle
import time

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceyard.spark.planning import MIB, Extent, Piece, extents, plan
from lanceyard.spark.reader import Task

sizes = st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 400 * MIB)), max_size=60).map(
    lambda found: [Extent(n, rows, size) for n, (rows, size) in enumerate(found)]
)


def rows_of(pieces: list[Piece], found: list[Extent]) -> list[tuple[int, int]]:
    rows = {extent.fragment: extent.rows for extent in found}
    return [
        (fragment, row)
        for piece in pieces
        for fragment in piece.fragments
        for row in range(
            piece.offset or 0,
            (piece.offset or 0) + (rows[fragment] if piece.limit is None else piece.limit),
        )
    ]


@given(sizes, st.integers(1, 64), st.booleans())
def test_every_row_is_read_once_and_in_order(found, parallelism, divisible):
    pieces = plan(found, parallelism=parallelism, divisible=divisible)
    assert rows_of(pieces, found) == [(e.fragment, row) for e in found for row in range(e.rows)]


@given(sizes)
def test_a_fragment_that_is_filtered_is_never_divided(found):
    assert all(piece.offset is None for piece in plan(found, divisible=False))


def test_many_small_fragments_are_two_tasks_for_two_cores():
    found = [Extent(number, 1_000, 20_000) for number in range(64)]
    assert len(plan(found, parallelism=2)) == 2


def test_uneven_fragments_are_evenly_shared():
    found = [Extent(n, 1_000, size * MIB) for n, size in enumerate((20, 21, 8, 20, 21, 8))]
    assert plan(found, parallelism=2) == [Piece((0, 1, 2)), Piece((3, 4, 5))]


def test_a_task_is_at_most_half_larger_than_asked_for():
    found = [Extent(number, 100, 7 * MIB) for number in range(9)]
    assert {len(piece.fragments) for piece in plan(found, task_size=9 * MIB)} == {1}


def test_a_tiny_table_is_one_task():
    assert plan([Extent(0, 10, 500), Extent(1, 10, 500)], parallelism=8) == [Piece((0, 1))]


def test_one_large_fragment_is_divided_among_the_cores():
    pieces = plan([Extent(0, 1_000, 100 * MIB)], parallelism=4)
    assert [(piece.offset, piece.limit) for piece in pieces] == [
        (0, 250),
        (250, 250),
        (500, 250),
        (750, 250),
    ]


def test_a_task_has_at_most_128_mebibytes():
    pieces = plan([Extent(0, 10_000, 1_280 * MIB)], parallelism=1)
    assert len(pieces) == 10


def test_a_size_that_was_asked_for_is_kept():
    found = [Extent(number, 100, 3 * MIB) for number in range(12)]
    assert len(plan(found, task_size=8 * MIB)) == 6


def test_a_table_without_fragments_has_no_tasks():
    assert plan([]) == []


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A table of 10 000 fragments, which share one data file to be made quickly."""
    path = str(tmp_path_factory.mktemp("many") / "t.lance")
    dataset = lance.write_dataset(pa.table({"n": [1, 2, 3]}), path)
    metadata = dataset.get_fragments()[0].metadata
    again = lance.LanceOperation.Overwrite(dataset.schema, [metadata] * 10_000)
    return lance.LanceDataset.commit(dataset, again, read_version=dataset.version)


def test_ten_thousand_fragments_are_planned_into_tasks_of_a_few_kilobytes(many):
    started = time.perf_counter()
    pieces = plan(extents(many), parallelism=2)
    print(f"planned in {time.perf_counter() - started:.2f} s")
    assert sum(len(piece.fragments) for piece in pieces) == 10_000
    assert max(len(pickle.dumps(Task(1, piece))) for piece in pieces) < 100_000
