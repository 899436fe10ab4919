"""Repair: tables without data, data without tables, and what a crash left half done."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveTable
from lanceyard.catalog.hive.rows import LEAVING, Leaving
from lanceyard.catalog.maintenance import Kind
from lanceyard.identifier import Identifier

from .tables import create, names, rows

YEAR = 365 * 86_400


@pytest.fixture(autouse=True)
def later(ns: Any) -> None:
    """A year has passed."""
    maintenance = ns._catalog.maintenance
    assert maintenance is not None
    now = maintenance._clock
    maintenance._clock = lambda: now() + YEAR


def missing_directory(ns: Any, home: list[str]) -> Path:
    place = create(ns, [*home, "bad"], 1)
    shutil.rmtree(place)
    return place


def orphan(ns: Any, home: list[str]) -> Path:
    place = create(ns, [*home, "bad"], 1)
    ns._catalog._metastore.drop_table(ns._catalog.databases.name(Identifier(home)), "bad")
    return place


def half_dropped(ns: Any, home: list[str]) -> Path:
    place = create(ns, [*home, "bad"], 1)
    row = ns._catalog.rows.require(Identifier((*home, "bad")))
    ns._catalog.rows.take_out(row, Leaving.DROPPED)
    return place


def half_deregistered(ns: Any, home: list[str]) -> Path:
    place = create(ns, [*home, "bad"], 1)
    row = ns._catalog.rows.require(Identifier((*home, "bad")))
    ns._catalog.places.hide(str(place))
    ns._catalog.rows.take_out(row, Leaving.DEREGISTERED)
    return place


def unfinished(ns: Any, home: list[str]) -> Path:
    place = create(ns, [*home, "bad"], 1)
    ns._catalog.places.hide(str(place))
    return place


DAMAGE = {
    Kind.MISSING_DIRECTORY: (missing_directory, False, []),
    Kind.ORPHAN_DIRECTORY: (orphan, False, []),
    Kind.HALF_DROPPED_TABLE: (half_dropped, False, []),
    Kind.HALF_DEREGISTERED_TABLE: (half_deregistered, True, []),
    Kind.UNFINISHED_CHANGE: (unfinished, True, ["bad"]),
}
"""How each damage is made; whether its data stays, and which tables are left besides."""
each_damage = pytest.mark.parametrize(
    ("kind", "make", "stays", "left"),
    [(kind, *said) for kind, said in DAMAGE.items()],
    ids=[kind.name.lower() for kind in DAMAGE],
)


@each_damage
def test_damage_is_found_and_mended_once(
    ns: Any, home: list[str], kind: Kind, make: Any, stays: bool, left: list[str]
) -> None:
    create(ns, [*home, "good"], 1, 2)
    place = make(ns, home)
    report = ns.repair()
    assert ([finding.kind for finding in report.findings], report.failures) == ([kind], ())
    assert (place.exists(), names(ns, home)) == (stays, sorted([*left, "good"]))
    assert rows(ns, [*home, "good"]) == [1, 2]
    assert ns.repair().findings == ()
    ns.drop_namespace({"id": home, "behavior": "cascade"})


@each_damage
def test_a_dry_run_changes_nothing(
    ns: Any,
    metastore: Metastore,
    where: DatabaseName,
    home: list[str],
    kind: Kind,
    make: Any,
    stays: bool,
    left: list[str],
) -> None:
    make(ns, home)

    def sight() -> object:
        records = metastore.find_tables(where, metastore.table_names(where))
        root = Path(ns._catalog.places.root)
        return records, sorted(str(path) for path in root.rglob("*"))

    before = sight()
    assert [finding.kind for finding in ns.repair(dry_run=True).findings] == [kind]
    assert sight() == before


@each_damage
def test_what_is_young_is_left_alone(
    ns: Any, home: list[str], kind: Kind, make: Any, stays: bool, left: list[str]
) -> None:
    make(ns, home)
    ns._catalog.maintenance._window = YEAR + 600
    assert ns.repair().findings == ()


def test_what_is_thrown_away_is_in_the_trash(ns: Any, home: list[str]) -> None:
    place = orphan(ns, home)
    ns.repair()
    [found] = Path(ns._catalog.places.root).glob(f"_lanceyard/trash/*/content/*/{place.name}")
    shutil.move(found, place)
    ns.register_table({"id": [*home, "back"], "location": str(place)})
    assert rows(ns, [*home, "back"]) == [1]


def test_what_was_deregistered_is_kept(ns: Any, home: list[str]) -> None:
    place = create(ns, [*home, "t"], 1)
    ns.deregister_table({"id": [*home, "t"]})
    assert (ns.repair().findings, place.exists()) == ((), True)


def test_tables_and_files_of_others_are_left_alone(
    ns: Any, metastore: Metastore, where: DatabaseName, home: list[str], tmp_path: Path
) -> None:
    lance = {"EXTERNAL": "TRUE", "table_type": "lance"}
    metastore.create_table(HiveTable(where, "t", f"file:{tmp_path}/theirs", lance))
    os.rmdir(tmp_path / "theirs")
    strange = tmp_path / "root" / f"{home[-1]}.tables" / "0123abcd_notes"
    strange.mkdir(parents=True)
    (strange / "notes.txt").write_text("mine")
    assert ns.repair().findings == ()
    assert (strange.exists(), names(ns, home)) == (True, ["t"])


def test_a_database_can_be_dropped_in_which_a_drop_was_cut_short(ns: Any, home: list[str]) -> None:
    place = half_dropped(ns, home)
    ns.drop_namespace({"id": home})
    assert not place.exists()


def test_names_of_tables_that_are_about_to_go_are_hives(ns: Any, home: list[str]) -> None:
    half_dropped(ns, home)
    assert names(ns, home) == []
    assert LEAVING.islower()
