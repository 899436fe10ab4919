"""Batches: one commit of the manifest, all of it or nothing, whoever looks and whenever it ends."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pytest
from lance_namespace.errors import LanceNamespaceError

from lanceyard.storage.failing import Crash, FailingStore, Moment
from lanceyard.storage.local import LocalStore
from tests.crash.wreck import Point, Witness
from tests.races.arena import RACERS, Processes
from tests.versions.managed import (
    Sightings,
    append,
    check_settled,
    content,
    create,
    handle,
    land_batches,
    on_stage,
    open_managed,
    open_upon,
    rows,
    send_batch,
    staged_files,
    versions,
    watch_batches,
)

HUNDRED = [f"t{i:03d}" for i in range(100)]
# The upkeep of a crashed catalog crashes too, in a thread that nobody waits for.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

Send = Callable[[Any, list[dict[str, Any]]], Any]


def create_versions(ns: Any, asked: list[dict[str, Any]]) -> Any:
    return ns.batch_create_table_versions({"entries": asked})


def commit_tables(ns: Any, asked: list[dict[str, Any]]) -> Any:
    return ns.batch_commit_tables({"operations": [{"create_table_version": a} for a in asked]})


ways = pytest.mark.parametrize("send", [create_versions, commit_tables])


def states(root: Path) -> list[set[str]]:
    """The object ids in every version of the manifest that there is, oldest first."""
    table = lance.dataset(f"{root}/__manifest")
    found = []
    for number in sorted(version["version"] for version in table.versions()):
        ids = table.checkout_version(number).to_table(columns=["object_id"])
        found.append({*ids["object_id"].to_pylist()})
    return found


def manifests(root: Path) -> set[str]:
    return {path.name for path in (root / "__manifest" / "_versions").glob("*.manifest")}


@ways
def test_a_batch_of_a_hundred_tables_is_one_version_of_the_manifest(root: Path, send: Send) -> None:
    ns = open_managed(root)
    for name in HUNDRED:
        create(ns, name, 1)
    asked = on_stage(ns, HUNDRED).insert(2)
    ns.close()
    before = manifests(root)
    send(ns, asked)
    after = manifests(root)
    wanted = {f"{name}$2" for name in HUNDRED}
    assert {len(state & wanted) for state in states(root)} == {0, len(HUNDRED)}
    assert len(after - before) == 1
    assert {tuple(rows(ns, name)) for name in HUNDRED} == {(1, 2)}
    ns.close()
    check_settled(root)
    assert staged_files(root) == []


@ways
def test_one_refused_version_keeps_out_all(ns: Any, root: Path, send: Send) -> None:
    for name in "abc":
        create(ns, name, 1)
    asked = on_stage(ns, "abc").insert(2)
    append(ns, "b", 3)
    with pytest.raises(LanceNamespaceError) as refusal:
        send(ns, asked)
    assert refusal.value.code in (12, 14)
    assert [rows(ns, name) for name in "abc"] == [[1], [1, 3], [1]]
    assert [versions(ns, name) for name in "abc"] == [[1], [2, 1], [1]]
    for name in "abc":
        append(ns, name, 4)
    assert [rows(ns, name) for name in "abc"] == [[1, 4], [1, 3, 4], [1, 4]]
    ns.close()
    check_settled(root)


@ways
def test_the_same_batch_again_succeeds_and_changes_nothing(ns: Any, root: Path, send: Send) -> None:
    for name in "abc":
        create(ns, name, 1)
    asked = on_stage(ns, "abc").insert(2)
    once = send(ns, asked)
    again = send(ns, asked)
    assert again == once
    other = open_managed(root)
    assert send(other, asked) == once
    assert [rows(ns, name) for name in "abc"] == [[1, 2]] * 3
    assert [versions(ns, name) for name in "abc"] == [[2, 1]] * 3


def test_versions_of_one_table_may_follow_each_other_in_a_batch(ns: Any, root: Path) -> None:
    create(ns, "t", 1)
    staged = on_stage(ns, ["t"])
    asked = [*staged.insert(2), *staged.insert(3), *staged.insert(4)]
    commit_tables(ns, asked)
    assert rows(ns, "t") == [1, 2, 3, 4]
    assert [rows(ns, "t", number) for number in (2, 3)] == [[1, 2], [1, 2, 3]]
    ns.close()
    check_settled(root)
    assert staged_files(root) == []


def test_what_a_refused_batch_staged_is_there_for_the_next_one(ns: Any, root: Path) -> None:
    """Versions that follow each other in a batch do not build upon something foreign."""
    for name in "ab":
        create(ns, name, 1)
    staged, other = on_stage(ns, ["a"]), on_stage(ns, ["b"])
    first, second = staged.insert(2), staged.insert(3)
    late = other.insert(2)
    append(ns, "b", 3)
    with pytest.raises(LanceNamespaceError):
        commit_tables(ns, [*first, *second, *late])
    commit_tables(ns, [*first, *second, *on_stage(ns, ["b"]).insert(4)])
    assert [rows(ns, name) for name in "ab"] == [[1, 2, 3], [1, 3, 4]]
    ns.close()
    check_settled(root)


SOME, SECONDS = 10, 5.0


@pytest.mark.parametrize(
    ("tables", "seconds", "most"),
    [
        pytest.param(SOME, SECONDS, 1_000_000, id="some"),
        pytest.param(SOME, 3600.0, 1_000, id="often", marks=pytest.mark.deep),
        pytest.param(100, 3600.0, 100, id="many", marks=pytest.mark.deep),
    ],
)
def test_readers_see_all_of_a_batch_or_nothing(
    root: Path, tmp_path: Path, pool: Executor, tables: int, seconds: float, most: int
) -> None:
    names = HUNDRED[:tables]
    ns = open_managed(root)
    for name in names:
        create(ns, name, -1)
    ns.close()
    done = str(tmp_path / "done")
    watching = [pool.submit(watch_batches, str(root), names, done) for _ in range(2)]
    landing = pool.submit(land_batches, str(root), names, done, seconds=seconds, most=most)
    landed = landing.result()
    for sightings in watching:
        check_sightings(sightings.result(), landed)
    last = landed + 1
    assert [handle(ns, name).version for name in names] == [last] * tables
    ns.close()
    check_settled(root)
    assert staged_files(root) == []


def check_sightings(found: Sightings, landed: int) -> None:
    assert found.torn == []
    assert landed > 0
    assert max(found.versions) == landed + 1
    assert found.states >= len(found.versions) > 1


class Everything(NamedTuple):
    """All that a catalog shows, after a batch of all kinds of steps or before it."""

    rows: dict[str, list[int]]
    versions: dict[str, list[int]]
    declared: list[str]
    """Tables that have no version."""


BEFORE = Everything(
    {"a": [1], "b": [1], "c": [1], "old": [1], "thin": [1, 2, 3]},
    {"a": [1], "b": [1], "c": [1], "old": [1], "thin": [3, 2, 1]},
    [],
)
AFTER = Everything(
    {"a": [1, 2], "b": [1, 2], "c": [1, 2], "thin": [1, 2, 3]},
    {"a": [2, 1], "b": [2, 1], "c": [2, 1], "thin": [3]},
    ["new"],
)


def show(ns: Any) -> Everything:
    """Everything, read by stock handles at every version that is listed."""
    found: dict[str, list[int]] = {}
    numbers: dict[str, list[int]] = {}
    declared = []
    for name in ns.list_tables({"id": []}).tables:
        listed = versions(ns, name)
        if not listed:
            declared.append(name)
            continue
        opened = handle(ns, name)
        assert opened.version == listed[0], name
        found[name], numbers[name] = content(opened), listed
        for number in listed[1:]:
            assert handle(ns, name, number).version == number
    return Everything(found, numbers, declared)


class Dock:
    """Copies of a catalog in which a batch is staged."""

    def __init__(self, folder: Path) -> None:
        self._original = folder / "original"
        self._numbers = itertools.count()
        ns = open_managed(self._original)
        for name in ("a", "b", "c", "old", "thin"):
            create(ns, name, 1)
        append(ns, "thin", 2)
        append(ns, "thin", 3)
        self._asked = on_stage(ns, "abc").insert(2)
        ns.close()

    def batch(self) -> dict[str, Any]:
        created: list[dict[str, Any]] = [{"create_table_version": each} for each in self._asked]
        others = [
            {"declare_table": {"id": ["new"]}},
            {"deregister_table": {"id": ["old"]}},
            {
                "delete_table_versions": {
                    "id": ["thin"],
                    "ranges": [{"start_version": 1, "end_version": 3}],
                }
            },
        ]
        return {"operations": [*created, *others]}

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """A catalog of its own, whose files are links: none is ever written in place."""
        root = self._original.parent / f"copy{next(self._numbers)}"
        shutil.copytree(self._original, root, copy_function=os.link)
        try:
            yield root
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def changes(self) -> list[Point]:
        """The calls between which the disk changes: a crash forgets all that is not on it."""
        with self.copy() as root:
            witness = Witness(root)
            calls = self._count(witness, root)
            found = [Point(call, moment) for (_, moment), call in witness.seen.items()]
        return [point for point in found if point.call <= calls]

    def calls(self) -> list[Point]:
        """Before and after every storage call of the batch."""
        with self.copy() as root:
            store = FailingStore(LocalStore(str(root)), 0, Moment.BEFORE)
            calls = self._count(store, root)
        return [Point(call, moment) for call in range(1, calls + 1) for moment in Moment]

    def _count(self, store: FailingStore, root: Path) -> int:
        ns = open_upon(store, root)
        ns.batch_commit_tables(self.batch())
        calls = store.calls
        ns.close()
        return calls


@pytest.fixture(scope="module")
def dock(tmp_path_factory: pytest.TempPathFactory) -> Dock:
    return Dock(tmp_path_factory.mktemp("dock"))


points = pytest.mark.parametrize(
    "points",
    [
        pytest.param(Dock.changes, id="changes"),
        pytest.param(Dock.calls, id="calls", marks=pytest.mark.deep),
    ],
)


def test_a_batch_of_all_kinds_lands(dock: Dock) -> None:
    with dock.copy() as root:
        ns = open_managed(root)
        assert show(ns) == BEFORE
        ns.batch_commit_tables(dock.batch())
        assert show(ns) == show(open_managed(root)) == AFTER
        ns.close()
        check_settled(root)
        assert staged_files(root) == []


@points
@pytest.mark.parametrize("again", [True, False], ids=["the same batch", "the next append"])
def test_a_crash_leaves_all_of_a_batch_or_nothing(
    dock: Dock, points: Callable[[Dock], list[Point]], again: bool
) -> None:
    seen = []
    for point in points(dock):
        with dock.copy() as root:
            acknowledged = crash(dock, root, point)
            ns = open_managed(root)
            found = show(ns)
            assert found in ([AFTER] if acknowledged else [BEFORE, AFTER]), point
            seen.append(found)
            if again:
                send_again(ns, dock, found, point)
            go_on(ns, root, show(ns))
    assert BEFORE in seen
    assert AFTER in seen


def crash(dock: Dock, root: Path, point: Point) -> bool:
    """Let a batch end at one storage call, and return whether its writer was told of success."""
    victim = open_upon(FailingStore(LocalStore(str(root)), point.call, point.moment), root)
    try:
        victim.batch_commit_tables(dock.batch())
    except Crash:
        return False
    finally:
        victim.close()
    return True


def send_again(ns: Any, dock: Dock, found: Everything, point: Point) -> None:
    """The same batch lands if it has not landed, and else is refused: `new` exists."""
    if found == BEFORE:
        ns.batch_commit_tables(dock.batch())
    else:
        with pytest.raises(LanceNamespaceError):
            ns.batch_commit_tables(dock.batch())
    assert show(ns) == AFTER, point


def go_on(ns: Any, root: Path, found: Everything) -> None:
    """Let the next writers append to every table, and let everything settle."""
    for name in (*found.rows, *found.declared):
        append(ns, name, 9)
        assert rows(ns, name) == [*found.rows.get(name, []), 9], name
    ns.close()
    check_settled(root)


@points
def test_an_error_leaves_all_of_a_batch_or_nothing(
    dock: Dock, points: Callable[[Dock], list[Point]]
) -> None:
    for point, error in zip(points(dock), itertools.cycle([OSError, PermissionError])):
        with dock.copy() as root:
            store = FailingStore(LocalStore(str(root)), point.call, point.moment, error)
            victim = open_upon(store, root)
            try:
                victim.batch_commit_tables(dock.batch())
                expected = [AFTER]
            except LanceNamespaceError:
                expected = [BEFORE, AFTER]
            ns = open_managed(root)
            assert show(ns) in expected, point
            assert show(victim) == show(ns), point
            victim.close()
            go_on(ns, root, show(ns))


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.deep)])
def test_of_batches_that_meet_in_one_table_one_lands(
    processes: Processes, root: Path, rounds: int
) -> None:
    """Every batch has a table of its own and one that all have."""
    ns = open_managed(root)
    own = [f"own{i}" for i in range(RACERS)]
    for name in ("shared", *own):
        create(ns, name, 0)
    for turn in range(1, rounds + 1):
        asked = [on_stage(ns, ["shared", name]).insert(turn) for name in own]
        jobs = [partial(send_batch, str(root), each) for each in asked]
        codes = processes.run(jobs)
        [winner] = [i for i, code in enumerate(codes) if code is None]
        assert {code for code in codes if code is not None} <= {12, 14}
        assert handle(ns, "shared").version == turn + 1
        for i, name in enumerate(own):
            assert (turn in rows(ns, name)) == (i == winner)
    ns.close()
    check_settled(root)
