"""Many at once: managed commits of processes, calls of threads, droppers that stood still."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pytest

from lanceyard import errors
from lanceyard.catalog.base import TableWriter
from lanceyard.catalog.hive.rows import Leaving
from lanceyard.catalog.hive.swaps import ConflictError
from lanceyard.identifier import Identifier
from tests.conformance.kit import numbers
from tests.hive.catalog.tables import append_each

from .tables import create, location, names, rows

SPAWN = multiprocessing.get_context("spawn")
deep = pytest.mark.deep


@pytest.mark.parametrize(
    ("processes", "commits"), [(2, 5), pytest.param(8, 25, marks=deep)], ids=["few", "many"]
)
def test_no_managed_commit_is_lost(
    managed: Any, home: list[str], processes: int, commits: int
) -> None:
    table = [*home, "t"]
    create(managed, table)
    parts = [[n * commits + i for i in range(commits)] for n in range(processes)]
    with ProcessPoolExecutor(processes, mp_context=SPAWN) as pool:
        for done in [pool.submit(append_each, managed._given, table, part) for part in parts]:
            done.result()
    assert rows(managed, table) == [*range(processes * commits)]
    last = managed.describe_table({"id": table, "load_detailed_metadata": True}).version
    assert last == 1 + processes * commits


def mixed_calls(ns: Any, home: list[str], me: int, calls: int) -> list[str]:
    """Random calls on tables of one's own; tells which tables are left."""
    chance = random.Random(me)
    left: list[str] = []
    made = 0
    for _ in range(calls):
        act = chance.choice(["declare", "list", "describe", "alter", "rename", "drop"])
        if act == "declare" or not left:
            made += 1
            left.append(f"t{me}_{made}")
            ns.declare_table({"id": [*home, left[-1]]})
        elif act == "list":
            assert {*left} <= {*names(ns, home)}
        elif act == "describe":
            assert ns.describe_table({"id": [*home, left[0]]}).location
        elif act == "alter":
            assert ns.alter_table({"id": [*home, left[0]], "set": {"k": act}}).properties == {
                "k": act
            }
        elif act == "rename":
            made += 1
            ns.rename_table({"id": [*home, left.pop()], "new_table_name": f"t{me}_{made}"})
            left.append(f"t{me}_{made}")
        else:
            ns.drop_table({"id": [*home, left.pop(0)]})
    return left


@pytest.mark.parametrize("calls", [10, pytest.param(50, marks=deep)])
def test_threads_share_an_instance(ns: Any, home: list[str], calls: int) -> None:
    with ThreadPoolExecutor(16) as pool:
        left = [*pool.map(lambda me: mixed_calls(ns, home, me, calls), range(16))]
    assert names(ns, home) == sorted(name for each in left for name in each)


@pytest.mark.parametrize("operation", ["create_table", "declare_table", "register_table"])
def test_of_many_that_want_a_name_one_gets_it(
    ns: Any, home: list[str], tmp_path: Path, operation: str
) -> None:
    lost = create(ns, [*home, "lost"], 7)
    ns.deregister_table({"id": [*home, "lost"]})

    def act(number: int) -> int:
        try:
            if operation == "create_table":
                create(ns, [*home, "t"], number)
            elif operation == "declare_table":
                ns.declare_table({"id": [*home, "t"]})
            else:
                ns.register_table({"id": [*home, "t"], "location": str(lost)})
        except (errors.TableAlreadyExistsError, errors.InvalidInputError):
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(act, range(4))) == 1
    assert names(ns, home) == ["t"]
    kept = {location(ns, [*home, "t"]), lost}
    assert {*(tmp_path / "root" / f"{home[-1]}.tables").iterdir()} == kept


class Meanwhile:
    """Content of a table, in the middle of whose writing something else happens."""

    def __init__(self, writer: TableWriter, happening: Callable[[], object]) -> None:
        self._writer = writer
        self._happening = happening

    def __call__(self, location: str, *, replace: bool) -> list[str]:
        written = self._writer(location, replace=replace)
        self._happening()
        return written


def write(location: str, *, replace: bool) -> list[str]:
    """Content that is written by pylance."""
    lance.write_dataset(numbers(1, 2), location, mode="overwrite" if replace else "create")
    return []


@pytest.mark.parametrize("mode", ["storage", "impl"])
def test_a_declared_table_that_is_renamed_while_it_is_filled_keeps_its_content(
    open_hive: Any, home: list[str], mode: str
) -> None:
    ns = open_hive(managed_by=mode)
    ns.declare_table({"id": [*home, "t"]})
    rename = {"id": [*home, "t"], "new_table_name": "renamed"}
    writer = Meanwhile(write, lambda: ns.rename_table(rename))
    with pytest.raises(errors.ConcurrentModificationError, match="renamed"):
        ns._catalog.create_table(Identifier((*home, "t")), {}, writer, replace=False)
    assert rows(ns, [*home, "renamed"]) == [1, 2]


def test_a_table_that_was_replaced_is_not_dropped_by_who_saw_the_old_one(
    ns: Any, home: list[str]
) -> None:
    table = [*home, "t"]
    create(ns, table, 1)
    rows_of_others = ns._catalog.rows
    seen = rows_of_others.require(Identifier(table))
    ns.drop_table({"id": table})
    create(ns, table, 2)
    with pytest.raises(ConflictError):
        rows_of_others.take_out(seen, Leaving.DROPPED)
    assert rows(ns, table) == [2]


@pytest.mark.parametrize("mode", ["storage", "impl"])
def test_overwriting_at_once_leaves_one_whole_table(
    open_hive: Any, home: list[str], tmp_path: Path, mode: str
) -> None:
    ns = open_hive(managed_by=mode)
    table = [*home, "t"]
    create(ns, table, 0)
    with ThreadPoolExecutor(4) as pool:
        [*pool.map(lambda n: create(ns, table, n, n, mode="overwrite"), range(1, 5))]
    found = rows(ns, table)
    assert found in [[n, n] for n in range(1, 5)]
    assert [*(tmp_path / "root" / f"{home[-1]}.tables").iterdir()] == [location(ns, table)]


def test_a_batch_of_one_table_is_no_batch(managed: Any, home: list[str]) -> None:
    with pytest.raises(errors.UnsupportedOperationError):
        managed.batch_commit_tables({"operations": [{"declare_table": {"id": [*home, "t"]}}]})
    assert "BatchCommitTables" not in managed.list_operations().operations
    assert names(managed, home) == []
