"""Each kind of finding: made, found by a dry run that changes nothing, mended, found no more."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

import lanceyard
from lanceyard.catalog.maintenance import Kind, Progress, RepairReport, Severity
from lanceyard.storage.local import LocalStore
from tests.crash.wreck import MODES, Shipyard, open_namespace, show, stream
from tests.repair.damage import (
    CASES,
    DAMAGES,
    IDS,
    LOSSES,
    Damage,
    age,
    dataset,
    no_manifest,
    overwritten,
    write,
)

AT_ONCE = timedelta(0)
MANAGED = {
    Kind.UNPUBLISHED_VERSION,
    Kind.LOST_VERSION,
    Kind.FOREIGN_VERSION,
    Kind.ABANDONED_TRANSACTION,
}
"""Kinds that only a catalog with managed versions has: see `test_managed`."""
V1 = {"manifest_enabled": "false"}
BARE = {**V1, "bare_directories": "true"}


def repair(root: Path, mode: str, *, dry_run: bool = False) -> RepairReport:
    """Repair as a process that starts now does."""
    instance = open_namespace(root, mode)
    try:
        return instance.repair(dry_run=dry_run, unreferenced_for=AT_ONCE)
    finally:
        instance.close()


def kinds(report: RepairReport) -> set[Kind]:
    assert not report.failures
    assert not report.unchecked
    return {finding.kind for finding in report.findings}


def files(root: Path) -> dict[str, tuple[int, float]]:
    """All files and folders below a root, as they are."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            found[os.path.relpath(path, root)] = (status.st_ino, status.st_mtime)
    return found


def find_and_mend(root: Path, mode: str, damage: Damage) -> None:
    """Damage a catalog: a dry run finds it and changes nothing, a repair mends it for good."""
    damage.make(root, mode)
    age(root)
    there = files(root)
    found = repair(root, mode, dry_run=True)
    assert kinds(found) == {damage.kind}
    assert found.dry_run
    assert files(root) == there

    assert kinds(repair(root, mode)) == {damage.kind, *damage.also}
    age(root)
    assert kinds(repair(root, mode, dry_run=True)) == set()


@pytest.mark.parametrize(("damage", "mode"), CASES, ids=IDS)
def test_damage_is_found_mended_and_found_no_more(
    yard: Shipyard, damage: Damage, mode: str
) -> None:
    with yard.copy(mode) as root:
        before = show(root, mode)
        find_and_mend(root, mode, damage)
        assert show(root, mode) == damage.after(before)


@pytest.mark.parametrize("mode", ["v2", "compat"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_lost_manifest_is_built_again_from_the_directories(
    yard: Shipyard, loss: Damage, mode: str
) -> None:
    with yard.copy(mode) as root:
        before = show(root, mode)
        find_and_mend(root, mode, loss)
        after = show(root, mode)
        assert after.tables == before.tables
        assert after.namespaces.keys() == before.namespaces.keys()


@pytest.mark.parametrize("mode", ["v2", "compat"])
def test_tables_whose_manifest_is_gone_are_listed_again(yard: Shipyard, mode: str) -> None:
    with yard.copy(mode) as root:
        before = show(root, mode)
        no_manifest(root, mode)
        age(root)
        assert kinds(repair(root, mode)) == {Kind.UNLISTED_TABLE}
        assert show(root, mode).tables == before.tables


@pytest.mark.parametrize("settings", [V1, BARE], ids=["v1", "bare"])
def test_who_knows_no_rows_is_not_told_by_them_what_to_hide(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    dataset(tmp_path / "t.lance", 1)
    dataset(tmp_path / "plain", 1)
    with lanceyard.open(tmp_path, dir_listing_enabled="false") as yard:
        for name in ("t", "plain"):
            yard.create_table(name, {"n": [2]})
    age(tmp_path)
    there = files(tmp_path)
    with lanceyard.open(tmp_path, **settings) as yard:
        assert yard.repair().findings == ()
    assert files(tmp_path) == there


def test_every_kind_has_a_test() -> None:
    assert {damage.kind for damage in (*DAMAGES, *LOSSES)} | MANAGED == {*Kind}


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_found_in_a_catalog_that_is_in_order(yard: Shipyard, mode: str) -> None:
    with yard.copy(mode) as root:
        overwritten(root, mode)
        before = show(root, mode)
        age(root)
        there = files(root)
        assert kinds(repair(root, mode, dry_run=True)) == set()
        report = repair(root, mode)
        assert kinds(report) == set()
        assert files(root) == there
        assert show(root, mode) == before
        assert report.tables == len(before.tables)


@pytest.mark.parametrize(("damage", "mode"), CASES, ids=IDS)
def test_what_is_younger_than_the_window_is_left_alone(
    yard: Shipyard, damage: Damage, mode: str
) -> None:
    with yard.copy(mode) as root:
        age(root)
        damage.make(root, mode)
        # The row is old in both cases, and is removed or rewritten only as it is.
        about_rows = {Kind.DUPLICATE_ROW, Kind.MISSING_DIRECTORY}
        assert kinds(repair(root, mode, dry_run=True)) <= about_rows


def test_a_finding_says_what_where_since_when_how_bad_and_what_will_be_done(
    yard: Shipyard,
) -> None:
    with yard.copy("v2") as root:
        orphan = next(damage for damage in DAMAGES if damage.name == "orphan")
        orphan.make(root, "v2")
        age(root)
        [finding] = repair(root, "v2", dry_run=True).findings
    assert finding.kind is Kind.ORPHAN_DIRECTORY
    assert finding.kind.severity is Severity.LITTER
    assert finding.path == "0123abcd_ns$new"
    assert finding.since is not None
    assert abs(time.time() - 3600 - finding.since.timestamp()) < 60
    assert str(finding).startswith("0123abcd_ns$new: a table directory that no row refers to")
    assert str(finding).endswith("move the directory to the trash")


def test_what_was_removed_is_in_the_trash_until_the_retention_has_passed(yard: Shipyard) -> None:
    with yard.copy("v2") as root:
        orphan = next(damage for damage in DAMAGES if damage.name == "orphan")
        orphan.make(root, "v2")
        age(root)
        repair(root, "v2")
        [kept] = (root / "_lanceyard" / "trash").iterdir()
        assert (kept / "content" / "0123abcd_ns$new" / "_versions").is_dir()
        assert "ORPHAN_DIRECTORY" in (kept / "finding.json").read_text()

        instance = open_namespace(root, "v2")
        assert instance.repair(retention=timedelta(hours=1)).emptied == 0
        assert kept.exists()
        assert instance.repair(dry_run=True, retention=AT_ONCE).emptied == 0
        assert instance.repair(retention=AT_ONCE).emptied == 1
        assert not kept.exists()


def test_a_file_that_a_long_job_may_still_commit_is_no_orphan(yard: Shipyard) -> None:
    with yard.copy("v2") as root:
        orphan = next(damage for damage in DAMAGES if damage.name == "orphan_file")
        orphan.make(root, "v2")
        age(root)
        instance = open_namespace(root, "v2")
        assert instance.repair(dry_run=True).findings == ()
        age(root, 8 * 24 * 3600)
        assert len(instance.repair(dry_run=True).findings) == 1


def test_directories_of_others_are_nobodys_business(yard: Shipyard) -> None:
    with yard.copy("v2") as root:
        write(root / "backup" / "readme.txt", b"x")
        write(root / "deadbeef_photos" / "holiday.jpg", b"x")
        write(root / "notes.txt", b"x")
        age(root)
        assert repair(root, "v2", dry_run=True).findings == ()


def test_a_table_that_cannot_be_opened_is_told_and_left_alone(yard: Shipyard) -> None:
    with yard.copy("v2") as root:
        where = next(root.glob("*_keep"))
        for version in [*(where / "_versions").glob("*.manifest")]:
            version.unlink()
            version.write_bytes(b"garbage that ends as a manifest does LANC")
        age(root)
        there = files(where)
        report = repair(root, "v2")
        [(path, why)] = report.unchecked
        assert path == where.name
        assert str(why)
        assert "could not be looked at" in str(report)
        assert files(where) == there


def test_progress_is_told(yard: Shipyard) -> None:
    seen: list[Progress] = []
    with yard.copy("v2") as root:
        open_namespace(root, "v2").repair(dry_run=True, progress=seen.append)
    assert {step.phase for step in seen} == {"rows", "directories", "tables"}
    assert all(step.done <= step.total for step in seen)
    assert seen[-1].done == seen[-1].total


@pytest.mark.parametrize("mode", ["v2", "compat"])
def test_what_a_registration_replaced_or_took_over_is_left_alone(yard: Shipyard, mode: str) -> None:
    with yard.copy(mode) as root:
        instance = open_namespace(root, mode)
        hidden = instance.deregister_table({"id": ["t"]}).location
        instance.register_table({"id": ["other"], "location": hidden})
        register = {"id": ["keep"], "location": "loose", "mode": "overwrite"}
        instance.register_table(register)
        instance.close()
        before = show(root, mode)
        age(root)
        assert kinds(repair(root, mode)) == set()
        assert show(root, mode) == before
        instance = open_namespace(root, mode)
        instance.create_table({"id": ["t"]}, stream([7]))
        assert show(root, mode).tables["t"] == ((7,), {})
        assert show(root, mode).tables["other"][0] == (3,)


@pytest.mark.parametrize("mode", MODES)
def test_a_declared_table_that_was_deregistered_keeps_its_reservation(
    yard: Shipyard, mode: str
) -> None:
    with yard.copy(mode) as root:
        instance = open_namespace(root, mode)
        before = show(root, mode)
        place = Path(instance.deregister_table({"id": ["declared"]}).location)
        age(root)
        assert kinds(repair(root, mode)) == set()
        location = str(place.relative_to(root))
        open_namespace(root, mode).register_table({"id": ["declared"], "location": location})
        assert show(root, mode) == before


def test_what_somebody_holds_is_left_alone_however_old_it_is(yard: Shipyard) -> None:
    with yard.copy("v2") as root:
        orphan = next(damage for damage in DAMAGES if damage.name == "orphan")
        orphan.make(root, "v2")
        age(root)
        there = files(root)
        with LocalStore(str(root)).hold("0123abcd_ns$new"):
            report = repair(root, "v2")
        assert report.findings == ()
        assert [finding.path for finding in report.busy] == ["0123abcd_ns$new"]
        assert "left alone, in use: 0123abcd_ns$new" in str(report)
        assert files(root) == there
