"""Switching a catalog to managed versions, while others have its tables open."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path

import lance
import lance.namespace
import pyarrow as pa
import pytest
from lance_namespace import DeclareTableRequest, ListTablesRequest

import lanceyard
from lanceyard import errors

AT_ONCE = timedelta(0)


def rows(*found: int) -> pa.Table:
    return pa.table({"n": pa.array(found, pa.int64())})


def numbers(yard: lanceyard.Yard, name: str) -> list[int]:
    return sorted(yard.table(name).read()["n"].to_pylist())


def listed(yard: lanceyard.Yard, *names: str) -> list[int]:
    found = yard.namespace.list_table_versions({"id": list(names)}).versions
    return [version.version for version in found]


@pytest.fixture(params=[{}, {"dir_listing_enabled": "false"}], ids=["compat", "v2"])
def yard(request: pytest.FixtureRequest, tmp_path: Path) -> lanceyard.Yard:
    yard = lanceyard.open(tmp_path / "yard", durability="os", **request.param)
    yard.create_namespace("ns")
    yard.create_table("ns.a", rows(1))
    yard.table("ns.a").append(rows(2))
    yard.create_table("root", rows(7))
    yard.namespace.declare_table({"id": ["ns", "declared"]})
    return yard


def test_the_versions_that_are_there_become_rows(yard: lanceyard.Yard) -> None:
    assert yard.namespace.describe_table({"id": ["ns", "a"]}).managed_versioning is None
    assert yard.manage_versions(wait=AT_ONCE) == 3
    assert yard.namespace.describe_table({"id": ["ns", "a"]}).managed_versioning is True
    assert listed(yard, "ns", "a") == [2, 1]
    assert listed(yard, "root") == [1]
    assert listed(yard, "ns", "declared") == []
    yard.table("ns.a").append(rows(3))
    yard.table("ns.declared").append(rows(5))
    assert numbers(yard, "ns.a") == [1, 2, 3]
    assert numbers(yard, "ns.declared") == [5]
    with yard.transaction() as tx:
        tx.table("root").insert(rows(8))
    assert numbers(yard, "root") == [7, 8]


def test_doing_it_again_changes_nothing(yard: lanceyard.Yard) -> None:
    yard.manage_versions(wait=AT_ONCE)
    yard.table("ns.a").append(rows(3))
    assert yard.manage_versions(wait=AT_ONCE) == 3
    assert listed(yard, "ns", "a") == [3, 2, 1]


def test_tables_known_by_their_directories_alone_come_along(tmp_path: Path) -> None:
    lance.write_dataset(rows(1), tmp_path / "loose.lance")
    yard = lanceyard.open(tmp_path, durability="os")
    assert yard.tables() == ["loose"]
    yard.manage_versions(wait=AT_ONCE)
    assert yard.tables() == ["loose"]
    yard.table("loose").append(rows(2))
    assert numbers(yard, "loose") == [1, 2]
    assert lance.dataset(tmp_path / "loose.lance").count_rows() == 2


def test_the_reference_can_read_and_no_longer_write(yard: lanceyard.Yard) -> None:
    yard.manage_versions(wait=AT_ONCE)
    root = Path(yard.table("ns.a").location).parent
    reference = lance.namespace.DirectoryNamespace(root=str(root), dir_listing_enabled="false")
    assert sorted(reference.list_tables(ListTablesRequest(id=["ns"])).tables) == ["a", "declared"]
    with pytest.raises(Exception, match="feature flags"):
        reference.declare_table(DeclareTableRequest(id=["ns", "theirs"]))


def test_a_handle_from_before_loses_nothing_while_there_is_time(yard: lanceyard.Yard) -> None:
    before = lance.dataset(yard.table("ns.a").location)
    switch = threading.Thread(target=lambda: yard.manage_versions(wait=timedelta(seconds=1.5)))
    switch.start()
    while not yard.namespace.describe_table({"id": ["ns", "a"]}).managed_versioning:
        time.sleep(0.01)
    before.insert(rows(3))
    yard.table("ns.a").append(rows(4))
    before.insert(rows(5))
    switch.join()
    assert numbers(yard, "ns.a") == [1, 2, 3, 4, 5]
    assert listed(yard, "ns", "a") == [5, 4, 3, 2, 1]


def test_a_handle_from_before_writes_past_the_catalog_afterwards(
    yard: lanceyard.Yard, caplog: pytest.LogCaptureFixture
) -> None:
    before = lance.dataset(yard.table("ns.a").location)
    yard.manage_versions(wait=AT_ONCE)
    before.insert(rows(666))
    assert numbers(yard, "ns.a") == [1, 2]
    yard.table("ns.a").append(rows(3))
    assert numbers(yard, "ns.a") == [1, 2, 3]
    assert "past the catalog" in caplog.text
    before = lance.dataset(yard.table("ns.a").location)
    assert sorted(before.to_table()["n"].to_pylist()) == [1, 2, 3]


def test_writers_go_on_during_the_switch(yard: lanceyard.Yard) -> None:
    failures: list[BaseException] = []
    stop = threading.Event()
    added: list[int] = []

    def write() -> None:
        other = lanceyard.open(Path(yard.table("ns.a").location).parent, durability="os")
        number = 100
        while not stop.is_set():
            try:
                other.table("ns.a").append(rows(number))
            except BaseException as failure:
                failures.append(failure)
                return
            added.append(number)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.3)
    yard.manage_versions(wait=timedelta(seconds=4))  # longer than an append takes, at any load
    time.sleep(0.3)
    stop.set()
    writer.join()
    assert not failures
    assert numbers(yard, "ns.a") == [1, 2, *added]


def test_a_catalog_of_directories_is_told_to_migrate(tmp_path: Path) -> None:
    with pytest.raises(errors.UnsupportedOperationError, match="migrate"):
        lanceyard.open(tmp_path, manifest_enabled="false").manage_versions(wait=AT_ONCE)
