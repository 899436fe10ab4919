"""Migration: what V1 and the bare layout find by listing is taken into the manifest."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.catalog.directory import open_catalog
from lanceyard.catalog.maintenance import Migrated, Progress
from lanceyard.errors import UnsupportedOperationError
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings
from lanceyard.storage.failing import Crash, FailingStore, Moment
from lanceyard.storage.local import LocalStore
from tests.crash.wreck import Shipyard, open_namespace, show
from tests.fixtures.catalogs import VERSIONS, unpack
from tests.repair.churn import churn
from tests.repair.damage import age, dataset
from tests.repair.test_findings import files

V1 = {"manifest_enabled": "false"}
V2 = {"dir_listing_enabled": "false"}
BARE = {**V1, "bare_directories": "true"}


@pytest.fixture
def root(yard: Shipyard) -> Iterator[Path]:
    """A V1 catalog with tables, a declared one and a deregistered one."""
    with yard.copy("v1") as copied:
        yield copied


def test_afterwards_the_manifest_alone_shows_everything(root: Path) -> None:
    before = show(root, "v1")
    report = lanceyard.open(root, **V1).migrate()
    assert show(root, "v2") == before
    assert show(root, "compat") == before
    assert show(root, "v1") == before
    assert [table.object_id for table in report.migrated] == ["declared", "keep", "t"]
    assert report.present == 0
    assert report.skipped == ()


def test_all_tables_come_in_one_commit(root: Path) -> None:
    for number in range(100):
        dataset(root / f"t{number:03}.lance", number)
    with lanceyard.open(root) as yard:
        assert len(yard.migrate().migrated) == 103
    adding = [
        version["version"]
        for version in lance.dataset(str(root / "__manifest")).versions()
        if lance.dataset(str(root / "__manifest"), version=version["version"]).count_rows() == 103
    ]
    [first, *_] = adding
    assert lance.dataset(str(root / "__manifest"), version=first - 1).count_rows() == 0


def test_a_dry_run_plans_and_changes_nothing(root: Path) -> None:
    there = files(root)
    report = lanceyard.open(root, **V1).migrate(dry_run=True)
    assert report.dry_run
    assert Migrated("keep", "keep.lance") in report.migrated
    assert str(report).startswith("3 tables would be migrated")
    assert files(root) == there


def test_a_second_migration_has_nothing_to_do(root: Path) -> None:
    lanceyard.open(root, **V1).migrate()
    report = lanceyard.open(root, **V1).migrate()
    assert report.migrated == ()
    assert report.present == 3
    assert str(report) == "0 tables migrated, 3 were in the manifest already"


def test_tables_of_the_bare_layout_stay_where_they_are(tmp_path: Path) -> None:
    with lanceyard.open(tmp_path, **BARE) as yard:
        yard.create_table("fruits", {"n": [1, 2]}, properties={"k": "v"})
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "readme.txt").write_text("not a table")
        assert [table.object_id for table in yard.migrate().migrated] == ["fruits"]
    with lanceyard.open(tmp_path, **V2) as yard:
        assert yard.tables() == ["fruits"]
        described = yard.namespace.describe_table({"id": ["fruits"]})
        assert described.location == str(tmp_path / "fruits")
        assert described.properties == {"k": "v"}
        assert yard.table("fruits").read()["n"].to_pylist() == [1, 2]


def test_properties_come_along_and_can_be_altered_afterwards(root: Path) -> None:
    lanceyard.open(root, **V1).migrate()
    instance = open_namespace(root, "v2")
    assert instance.describe_table({"id": ["keep"]}).properties == {"k": "v"}
    altered = instance.alter_table({"id": ["keep"], "set": {"k": "w"}})
    assert altered.properties == {"k": "w"}


def test_a_name_that_the_manifest_has_already_is_skipped_and_told(tmp_path: Path) -> None:
    with lanceyard.open(tmp_path, **V2) as yard:
        yard.create_namespace("shop")
        yard.create_table("fruits", {"n": [1]})
    dataset(tmp_path / "shop.lance", 9)
    dataset(tmp_path / "fruits.lance", 9)
    dataset(tmp_path / "a$b.lance", 9)
    report = lanceyard.open(tmp_path).migrate()
    assert report.migrated == ()
    reasons = {skipped.location: skipped.reason for skipped in report.skipped}
    assert reasons == {
        "a$b.lance": "no table can have this name",
        "fruits.lance": "the manifest has a table of this name",
        "shop.lance": "the manifest has a namespace of this name",
    }
    with lanceyard.open(tmp_path, **V2) as yard:
        assert yard.table("fruits").read()["n"].to_pylist() == [1]


def test_a_table_that_cannot_be_opened_is_skipped_and_told(root: Path) -> None:
    for version in [*(root / "keep.lance" / "_versions").glob("*.manifest")]:
        version.unlink()
        version.write_bytes(b"no manifest")
    report = lanceyard.open(root, **V1).migrate()
    [skipped] = report.skipped
    assert skipped.location == "keep.lance"
    assert skipped.reason.startswith("it cannot be opened: ")
    assert [table.object_id for table in report.migrated] == ["declared", "t"]


def test_progress_is_told(root: Path) -> None:
    seen: list[Progress] = []
    lanceyard.open(root, **V1).migrate(progress=seen.append)
    assert seen == [Progress("tables", 3, 3)]


def test_a_catalog_in_memory_has_nothing_to_migrate() -> None:
    with pytest.raises(UnsupportedOperationError, match="nothing to migrate"):
        lanceyard.open({"impl": "memory"}).migrate()


def failing(root: Path, at: int, moment: Moment) -> tuple[Namespace, FailingStore]:
    store = FailingStore(LocalStore(str(root)), at, moment)
    settings = DirectorySettings(root=str(root), manifest_enabled=False)
    return Namespace(open_catalog(settings, store=store)), store


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.deep)])
def test_a_migration_that_is_cut_short_can_be_run_again(yard: Shipyard, step: int) -> None:
    with yard.copy("v1") as root:
        before = show(root, "v1")
        instance, store = failing(root, 0, Moment.BEFORE)
        instance.migrate()
        calls = store.calls
    for at in range(1, calls + 1, step):
        for moment in Moment:
            with yard.copy("v1") as root:
                instance, _ = failing(root, at, moment)
                try:
                    instance.migrate()
                except Crash:
                    assert show(root, "compat") == before
                lanceyard.open(root, **V1).migrate()
                assert show(root, "v2") == before, (at, moment)


def test_it_may_run_beside_programs_that_know_only_directories(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    writers = [context.Process(target=churn, args=(str(tmp_path), i, 15)) for i in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        lanceyard.open(tmp_path).migrate()
    assert [writer.exitcode for writer in writers] == [0] * 4
    with lanceyard.open(tmp_path) as yard:
        yard.migrate()
    with lanceyard.open(tmp_path, **V2) as yard:
        found = {name: yard.table(name).read()["n"].to_pylist() for name in yard.tables()}
    assert found == {f"t{number}": [number] for number in range(4)}


@pytest.mark.parametrize("version", VERSIONS)
def test_catalogs_of_old_writers_are_migrated_and_nothing_is_found_in_them(
    version: str, tmp_path: Path
) -> None:
    expected = unpack(version, tmp_path)
    with lanceyard.open(tmp_path) as yard:
        yard.migrate()
    with lanceyard.open(tmp_path, **V2) as yard:
        found = yard.namespace.list_all_tables({}).tables
        assert found == sorted([*expected["tables"], *expected["declared"]])
        for name, rows in expected["tables"].items():
            assert yard.table(name.split("$")).read()["n"].to_pylist() == rows
    with lanceyard.open(tmp_path, **BARE) as yard:
        assert [table.object_id for table in yard.migrate().migrated] == [*expected["bare"]]
    age(tmp_path, 30 * 24 * 3600)
    with lanceyard.open(tmp_path, **V2) as yard:
        report = yard.repair(dry_run=True)
    assert [str(finding) for finding in report.findings] == []
    assert report.unchecked == ()


def test_a_table_that_is_dropped_while_it_is_migrated_leaves_no_row(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanceyard.catalog.directory.manifest import Manifest

    commit = Manifest.commit

    def drop_first(self: Manifest, change: Any) -> Any:
        shutil.rmtree(root / "keep.lance", ignore_errors=True)
        return commit(self, change)

    monkeypatch.setattr(Manifest, "commit", drop_first)
    report = lanceyard.open(root, **V1).migrate()
    assert [table.object_id for table in report.migrated] == ["declared", "t"]
    assert lanceyard.open(root, **V2).tables() == ["declared", "t"]


def test_a_table_of_any_schema_is_migrated(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": ["a"], "y": [[1.0]]}), str(tmp_path / "any.lance"))
    lanceyard.open(tmp_path).migrate()
    assert lanceyard.open(tmp_path, **V2).table("any").read().num_rows == 1
