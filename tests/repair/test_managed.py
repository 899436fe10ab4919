"""Repair of catalogs that manage versions: what crashes, clean-ups and strangers leave there."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.catalog.changes import PublishVersions
from lanceyard.catalog.directory import open_catalog
from lanceyard.catalog.maintenance import Kind, RepairReport
from lanceyard.catalog.versions import TableVersion
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from tests.transactions.conftest import open_yard
from tests.transactions.workers import die

LAST = 2**64 - 1


def rows(*found: int) -> pa.Table:
    return pa.table({"n": pa.array(found, pa.int64())})


def numbers(yard: lanceyard.Yard, name: str) -> list[int]:
    return sorted(yard.table(name).read()["n"].to_pylist())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A catalog with a table of three versions, left alone for long."""
    root = tmp_path / "yard"
    with open_yard(root) as yard:
        yard.create_namespace("shop")
        yard.create_table("shop.a", rows(1))
        yard.create_table("shop.b", rows(10))
        for number in (2, 3):
            yard.table("shop.a").append(rows(number))
    return root


def folder(root: Path) -> Path:
    return Path(open_yard(root).table("shop.a").location) / "_versions"


def manifest(root: Path, number: int) -> Path:
    return folder(root) / f"{LAST - number:020d}.manifest"


def mend(root: Path) -> RepairReport:
    """Repair, an hour later."""
    later = time.time() + 3_600
    settings = DirectorySettings(root=str(root), durability=Durability.OS)
    namespace = Namespace(open_catalog(settings, clock=lambda: later))
    return namespace.repair(unreferenced_for=timedelta(days=7))


def kinds(report: RepairReport) -> list[Kind]:
    assert not report.failures
    assert not report.unchecked
    return sorted((finding.kind for finding in report.findings), key=lambda kind: kind.name)


def test_a_healthy_catalog_is_left_alone(root: Path) -> None:
    assert kinds(mend(root)) == []
    assert numbers(open_yard(root), "shop.a") == [1, 2, 3]


def unpublish(root: Path, number: int, *, keep_final: bool) -> None:
    """Bring a version back to the moment after its row was committed."""
    catalog = open_yard(root).namespace._catalog._hashed  # type: ignore[attr-defined]
    final = manifest(root, number)
    staged = f"{final.name}-0000"
    if not keep_final:
        final.rename(final.with_name(staged))
    location = final.parent.parent.name
    version = TableVersion(number, staged, 1, None, 1, {}, staged)
    told = ((number, version.to_json(location)),)
    catalog.manifest.commit(PublishVersions("shop$a", location, told))
    catalog.close()


@pytest.mark.parametrize("keep_final", [True, False])
@pytest.mark.parametrize("number", [2, 3])
def test_a_version_that_was_not_published_is(root: Path, number: int, *, keep_final: bool) -> None:
    unpublish(root, number, keep_final=keep_final)
    assert kinds(mend(root)) == [Kind.UNPUBLISHED_VERSION]
    assert manifest(root, number).exists()
    assert kinds(mend(root)) == []
    assert numbers(open_yard(root), "shop.a") == [1, 2, 3]
    found = lance.dataset(str(root / "__manifest")).to_table()["metadata"].to_pylist()
    assert not [text for text in found if text and ".manifest-" in text.split('"staging_path"')[0]]


def test_rows_of_versions_that_were_cleaned_away_go(root: Path) -> None:
    lance.dataset(folder(root).parent).cleanup_old_versions(
        older_than=timedelta(0), delete_unverified=True
    )
    assert set(kinds(mend(root))) == {Kind.LOST_VERSION}
    yard = open_yard(root)
    listed = yard.namespace.list_table_versions({"id": ["shop", "a"]}).versions
    assert [version.version for version in listed] == [3]
    yard.table("shop.a").append(rows(4))
    assert numbers(yard, "shop.a") == [1, 2, 3, 4]


@pytest.mark.parametrize("count", [1, 2])
def test_versions_written_past_the_catalog_go_to_the_trash(root: Path, count: int) -> None:
    location = folder(root).parent
    for _ in range(count):
        lance.write_dataset(rows(666), location, mode="append")
    assert kinds(mend(root)) == [Kind.FOREIGN_VERSION] * count
    assert sorted(lance.dataset(location).to_table()["n"].to_pylist()) == [1, 2, 3]
    yard = open_yard(root)
    yard.table("shop.a").append(rows(4))
    assert numbers(yard, "shop.a") == [1, 2, 3, 4]


def test_lost_files_are_left_out_in_a_version_that_is_a_row(root: Path) -> None:
    table = folder(root).parent
    newest = lance.dataset(table).get_fragments()[-1].metadata.files[0].path
    (table / "data" / newest).unlink()
    assert kinds(mend(root)) == [Kind.MISSING_FILES]
    yard = open_yard(root)
    assert numbers(yard, "shop.a") == [1, 2]
    assert yard.table("shop.a").version == 4


def test_an_abandoned_transaction_is_canceled(root: Path) -> None:
    dead = multiprocessing.get_context("spawn").Process(target=die, args=(str(root),))
    dead.start()
    dead.join()
    assert kinds(mend(root)) == [Kind.ABANDONED_TRANSACTION]
    assert os.listdir(root / "_lanceyard" / "transactions") == []
    assert numbers(open_yard(root), "shop.a") == [1, 2, 3]


def test_a_transaction_that_somebody_is_at_work_on_is_left_alone(root: Path) -> None:
    yard = open_yard(root)
    tx = yard.transaction()
    tx.table("shop.a").insert(rows(4))
    assert kinds(mend(root)) == []
    tx.commit()
    assert numbers(yard, "shop.a") == [1, 2, 3, 4]


def test_what_a_refused_writer_staged_is_a_stray(root: Path) -> None:
    staged = manifest(root, 3).with_name(f"{LAST - 4:020d}.manifest-0000")
    shutil.copyfile(manifest(root, 3), staged)
    assert kinds(mend(root)) == [Kind.STRAY_FILES]
    assert not staged.exists()
