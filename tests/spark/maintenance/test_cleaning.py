"""Expiry of versions, sweeping of orphans, and migration."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

import lanceyard
from lanceyard.spark.maintenance import backfill, expire, migrate, silent, sweep
from tests.spark.maintenance.conftest import ROWS

NOW = timedelta(0)


def numbers(table):
    """The versions that a table has."""
    return sorted(each.version for each in table.versions())


def orphan(table, name="orphan.lance", age=timedelta(days=8)):
    """A file that no version refers to."""
    path = Path(table.location, "data", name)
    path.write_bytes(b"left behind")
    moment = time.time() - age.total_seconds()
    os.utime(path, (moment, moment))
    return path


@pytest.mark.parametrize("catalog", ["managed", "plain"], indirect=True)
def test_old_versions_go_but_those_with_tags(spark, catalog):
    table = catalog.make("t")
    table.tag("keep", 2)
    asked = {"catalog": catalog.properties, "older_than": NOW, "keep_history": False}
    report = expire(spark, "t", **asked, keep=2, dry_run=True)
    assert "remove 3 versions" in str(report)
    assert numbers(table) == [1, 2, 3, 4, 5, 6]
    expire(spark, "t", **asked, keep=2)
    assert numbers(table) == [2, 5, 6]
    assert table.read(version="keep").num_rows == 2 * ROWS
    assert table.count() == 6 * ROWS
    assert not catalog.yard.repair().findings


def test_nothing_goes_that_is_younger_than_wanted(spark, catalog):
    table = catalog.make("t")
    assert not expire(spark, catalog=catalog.properties).tables
    assert len(numbers(table)) == 6


def test_versions_stay_that_the_catalog_shows(spark, catalog):
    table = catalog.make("t", 2)
    catalog.yard.tags.create("then")
    for _ in range(3):
        table.delete("id = 1")
        table.append({"id": [1]})
    catalog.yard.rename("t", "u")
    assert not expire(spark, "u", catalog=catalog.properties, older_than=NOW).tables
    expire(spark, "u", catalog=catalog.properties, older_than=NOW, keep_history=False)
    assert numbers(catalog.yard.table("u")) == [2, 8]
    assert catalog.yard.as_of("then").table("t").count() == 2 * ROWS


@pytest.mark.parametrize("catalog", ["managed", "plain"], indirect=True)
def test_files_that_no_version_refers_to_are_swept(spark, catalog):
    table = catalog.make("t")
    old, young = orphan(table), orphan(table, "young.lance", timedelta(days=6))
    before = catalog.files()
    report = sweep(spark, catalog=catalog.properties, dry_run=True)
    assert "remove 1 files" in str(report)
    assert catalog.files() == before
    sweep(spark, catalog=catalog.properties)
    assert catalog.files() == before - {old}
    sweep(spark, "t", catalog=catalog.properties, older_than=timedelta(days=5))
    assert catalog.files() == before - {old, young}
    table.to_lance().validate()


def test_what_a_back_fill_can_go_on_with_is_not_swept(spark, catalog):
    table = catalog.make("t", 3)

    def fails_late(batch):
        if batch["id"][0].as_py() == 2 * ROWS:
            raise KeyError("late")
        return {"x": batch["id"]}

    asked = {"catalog": catalog.properties, "progress": silent}
    with pytest.raises(KeyError, match="late"):
        backfill(spark, "t", fails_late, **asked)
    before = catalog.files()
    sweep(spark, "t", **asked, older_than=NOW)
    assert {path for path in before if path.suffix in (".lance", ".json")} <= catalog.files()
    for path in before:
        os.utime(path, (0, 0))
    sweep(spark, "t", **asked)
    assert not [path for path in catalog.files() if "backfill" in str(path)]
    assert len([*Path(table.location, "data").iterdir()]) == 3


def test_a_table_that_cannot_be_opened_is_told_and_the_others_are_done(spark, catalog):
    for name in ("good", "bad"):
        orphan(catalog.make(name, 1))
    for manifest in Path(catalog.yard.table("bad").location, "_versions").iterdir():
        manifest.write_bytes(b"torn")
    report = sweep(spark, catalog=catalog.properties)
    assert [each.table for each in report.tables] == ["good"]
    assert [name for name, _ in report.failures] == ["bad"]
    assert "failed: bad" in str(report)


def test_directories_become_rows_of_the_manifest(spark, tmp_path):
    root = str(tmp_path / "yard")
    lanceyard.open(root, manifest_enabled="false").create_table("t", {"id": [0]})
    assert "t: into the manifest" in str(migrate(spark, catalog=root, dry_run=True))
    assert [each.table for each in migrate(spark, catalog=root).tables] == ["t"]
    assert lanceyard.open(root, dir_listing_enabled="false").tables() == ["t"]
