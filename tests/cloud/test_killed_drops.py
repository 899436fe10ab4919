"""``kill -9`` of a program that deletes many files: the table is gone, `repair` does the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from _pytest.mark import ParameterSet

import lanceyard
from lanceyard import errors
from lanceyard.catalog.maintenance import Kind
from lanceyard.cli.exits import Exit
from tests.cli.terminal import Terminal
from tests.cloud import bucket
from tests.cloud.conftest import MODES
from tests.cloud.crowd import batches, fill
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy, Request

BATCH = bucket.KIND.batch
SOME = BATCH + BATCH // 10
WINDOW = 1
PATIENCE = 60.0
NAMES = {"v1": "t", "compat": "t", "v2": "ns.t"}
"""A table of each mode; those of the first two have a directory of their own name."""
LEFT = {
    "v1": Kind.HALF_DROPPED_TABLE,
    "compat": Kind.HALF_DROPPED_TABLE,
    "v2": Kind.ORPHAN_DIRECTORY,
}
"""What repair finds of it."""


@dataclass(frozen=True)
class Yards:
    """A catalog in a bucket, for programs that live and for one that does not."""

    proxy: Proxy
    root: str
    mode: str = "v2"

    @contextmanager
    def opened(self) -> Iterator[lanceyard.Yard]:
        """The catalog at once, when whoever was killed may as well be at work."""
        with lanceyard.open(self.root, **MODES[self.mode], **bucket.storage()) as yard:
            yield yard

    @contextmanager
    def opened_later(self) -> Iterator[lanceyard.Yard]:
        """The catalog after the window, when it is known that nobody is."""
        time.sleep(WINDOW + 0.5)
        window = {"window": str(WINDOW)}
        with lanceyard.open(self.root, **MODES[self.mode], **window, **bucket.storage()) as yard:
            yield yard

    def command(self, name: str, *words: str) -> tuple[str, ...]:
        """The words of a command; the environment says how the bucket is reached."""
        given = {**MODES[self.mode], "window": str(WINDOW)}
        properties = [word for pair in given.items() for word in ("-p", "=".join(pair))]
        return (name, self.root, *words, *properties)

    def kill_drop(self, *words: str, after: int = 1) -> None:
        """Kill a command that drops something, after so many batches of files are deleted."""
        self.proxy.forget()
        with self.proxy.failing(Fault.SILENT, self._is_later_than(after), times=1000) as rule:
            words = self.command("drop", *words, "--yes", "--purge")
            victim = subprocess.Popen(
                [sys.executable, "-m", "lanceyard", *words],
                env={**os.environ, **bucket.environment(self.proxy.endpoint)},
            )
            deadline = time.monotonic() + PATIENCE
            while not rule.met and victim.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            victim.kill()
            victim.wait()
        assert rule.met

    def _is_later_than(self, count: int) -> Callable[[Request], bool]:
        """Whether a request deletes files when so many batches of them are gone."""
        return lambda request: (
            bool(batches([request])) and len(batches(self.proxy.requests)) > count
        )


def make(yard: lanceyard.Yard, name: str, count: int = 0) -> ObjectPath:
    """Make a table with so many files more than it needs; its directory."""
    yard.create_table(name, {"n": [1]})
    place = ObjectPath.of(yard.table(name).location)
    fill(place, count)
    return place


def found_by_repair(yard: lanceyard.Yard) -> list[tuple[Kind, str]]:
    """What a repair finds among tables and removes for good, and where.

    Whoever is killed may have been tidying the manifest, too.
    """
    found = yard.repair(retention=timedelta(0)).findings
    return [(each.kind, each.path) for each in found if each.path != "__manifest"]


def deep(mode: str) -> ParameterSet:
    return pytest.param(mode, marks=pytest.mark.deep)


def keys(place: ObjectPath) -> set[str]:
    return {path.key for path in place.rglob("*")}


def numbers(yard: lanceyard.Yard, name: str) -> list[int]:
    return yard.table(name).read()["n"].to_pylist()


@pytest.mark.parametrize("mode", ["v2", deep("v1"), deep("compat")])
def test_what_a_killed_drop_leaves_is_no_table_and_goes_by_repair(
    proxy: Proxy, root: str, mode: str
) -> None:
    yards, name = Yards(proxy, root, mode), NAMES[mode]
    with yards.opened() as yard:
        if mode == "v2":
            yard.create_namespace("ns")
        table, other = make(yard, name, SOME), make(yard, f"{name}_too")
    untouched = keys(other)
    yards.kill_drop(name)
    left = keys(table)
    assert 0 < len(left) < SOME - BATCH + 10

    with yards.opened() as yard:
        assert yard.tables(name.rpartition(".")[0]) == ["t_too"]
        if mode == "v2":
            assert keys(make(yard, name)).isdisjoint(left)
        else:
            with pytest.raises(errors.ConcurrentModificationError, match="try again later"):
                make(yard, name)
    with yards.opened_later() as yard:
        assert found_by_repair(yard) == [(LEFT[mode], table.name)]
        assert not table.exists()
        assert keys(other) == untouched
        if mode != "v2":
            make(yard, name)
        assert numbers(yard, name) == numbers(yard, f"{name}_too") == [1]
        assert found_by_repair(yard) == []


@pytest.mark.deep
def test_the_commands_do_so_half_way_through_fifty_thousand_files(proxy: Proxy, root: str) -> None:
    yards = Yards(proxy, root)
    with yards.opened() as yard:
        yard.create_namespace("ns")
        table, other = make(yard, "ns.t", 50_000), make(yard, "ns.t_too")
    untouched = keys(other)
    yards.kill_drop("ns.t", after=25_000 // BATCH)
    assert 24_000 < len(keys(table)) < 26_000
    with yards.opened_later() as yard:
        assert yard.tables("ns") == ["t_too"]
    bucket.announce()
    with Terminal(*yards.command("repair", "--retention", "0")) as terminal:
        assert terminal.end(600) == Exit.DONE
    assert "copying files" in terminal.seen
    assert "deleting files" in terminal.seen
    assert "1 things found and mended" in terminal.seen
    assert not table.exists()
    assert keys(other) == untouched


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["v1", "compat"])
def test_who_wants_the_name_again_after_the_window_need_not_repair(
    proxy: Proxy, root: str, mode: str
) -> None:
    yards = Yards(proxy, root, mode)
    with yards.opened() as yard:
        table = make(yard, "t", SOME)
    yards.kill_drop("t")
    later = pytest.raises(errors.ConcurrentModificationError, match="try again later")
    with yards.opened() as yard, later:
        yard.drop("t")
    with yards.opened_later() as yard:
        make(yard, "t")
        assert len(keys(table)) < 10
        assert found_by_repair(yard) == []


def test_of_a_namespace_all_is_gone_when_the_drop_of_its_tables_is_killed(
    proxy: Proxy, root: str
) -> None:
    yards = Yards(proxy, root)
    with yards.opened() as yard:
        yard.create_namespace("ns")
        yard.create_namespace("ns.below")
        doomed = [make(yard, name, 20) for name in ("ns.a", "ns.b", "ns.below.c")]
        yard.create_namespace("other")
        kept = make(yard, "other.t")
    untouched = keys(kept)
    yards.kill_drop("ns", "--cascade")
    assert sorted(place.exists() for place in doomed) == [False, True, True]
    with yards.opened() as yard:
        assert yard.namespaces() == ["other"]
        yard.create_namespace("ns")
        make(yard, "ns.a")
    with yards.opened_later() as yard:
        assert [kind for kind, _ in found_by_repair(yard)] == [Kind.ORPHAN_DIRECTORY] * 2
        assert not any(place.exists() for place in doomed)
        assert keys(kept) == untouched
        assert numbers(yard, "ns.a") == numbers(yard, "other.t") == [1]
