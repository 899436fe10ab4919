"""Deleting many files: in batches, with progress, and carried on by `repair` after a crash."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from typing import Any

import pytest

import lanceyard
from lanceyard.catalog.directory.repair.trash import Trash
from lanceyard.catalog.maintenance import Finding, Kind
from lanceyard.cli.exits import Exit
from lanceyard.storage import options
from lanceyard.storage.remote import RemoteStore
from tests.cli.terminal import Terminal
from tests.cloud import bucket
from tests.cloud.conftest import Open
from tests.cloud.crowd import batches, fill
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy

BATCH = bucket.KIND.batch
MANY = 5 * BATCH // 2
MEASURE = """
import logging, resource, sys, lanceyard
logging.basicConfig(level=logging.INFO)
root, *tables = sys.argv[1:]
with lanceyard.open(root, dir_listing_enabled="false") as yard:
    for table in tables:
        yard.drop(table)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""Drops tables, and tells in kilobytes how much memory it has needed after each."""


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a page of a listing be what one request deletes, and progress be told as often."""
    monkeypatch.setattr("lanceyard.storage.remote.PAGE", BATCH)
    monkeypatch.setattr("lanceyard.storage.headway.STEP", BATCH)


@pytest.fixture
def catalog(open_catalog: Open) -> Any:
    made = open_catalog()
    made.create_namespace({"id": ["ns"]})
    made.declare_table({"id": ["ns", "t"]})
    return made


@pytest.fixture
def table(catalog: Any) -> ObjectPath:
    """The directory of a table with many files."""
    found = ObjectPath.of(catalog.describe_table({"id": ["ns", "t"]}).location)
    fill(found, MANY)
    return found


def test_files_are_deleted_in_batches_with_progress(
    catalog: Any, table: ObjectPath, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lanceyard.storage")
    proxy.forget()
    catalog.drop_table({"id": ["ns", "t"]})
    assert not table.exists()
    counts = proxy.counts()
    assert counts["DELETE MANY"] == 3
    assert f"{2 * BATCH} files so far" in caplog.text


@pytest.mark.deep
def test_fifty_thousand_files_take_fifty_batches_and_little_memory(
    catalog: Any, table: ObjectPath, root: str, proxy: Proxy
) -> None:
    """The first table has as many files as one needs to see what memory any deletion takes."""
    catalog.declare_table({"id": ["ns", "many"]})
    many = ObjectPath.of(catalog.describe_table({"id": ["ns", "many"]}).location)
    fill(many, 50_000)
    catalog.close()
    proxy.forget()
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, root, "ns.t", "ns.many"],
        env={**os.environ, **bucket.environment(proxy.endpoint)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not many.exists()
    needed = (50_000 + MANY) // BATCH
    assert needed <= len(batches(proxy.requests)) <= needed + 2
    assert proxy.counts()["LIST"] < needed + 30
    assert done.stderr.count("files so far") >= 50
    few, all_of_them = map(int, done.stdout.split())
    assert all_of_them - few < 16_000


@pytest.mark.needs(scheme="s3")
def test_whoever_drops_a_table_at_a_terminal_sees_how_far_it_is(
    catalog: Any, table: ObjectPath, root: str
) -> None:
    bucket.announce()
    with Terminal("drop", root, "ns.t", "--purge", "--yes") as terminal:
        assert terminal.end() == Exit.DONE
    assert "deleting files" in terminal.seen
    assert "2000/?" in terminal.seen
    assert not table.exists()


def test_a_deletion_whose_reply_was_lost_is_done(
    catalog: Any, proxy: Proxy, root: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = ObjectPath.of(catalog.describe_table({"id": ["ns", "t"]}).location)
    with proxy.failing(Fault.LOST, lambda request: request.kind == "DELETE MANY") as rule:
        catalog.drop_table({"id": ["ns", "t"]})
    assert rule.met
    assert not place.exists()
    assert not caplog.records


def test_a_batch_may_take_longer_than_a_small_request(
    root: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(options.PATIENCE, "timeout", "500ms")
    store = RemoteStore(root, bucket.server().options(proxy.endpoint))
    store.put_if_absent("t/a", b"")
    with proxy.failing(Fault.SLOW, lambda request: request.kind == "DELETE MANY") as rule:
        store.delete_tree("t")
    assert rule.met
    assert not store.has_file("t")
    slow = proxy.failing(Fault.SLOW, lambda request: request.kind == "LIST", times=10)
    with slow, pytest.raises(OSError, match="tim"):
        store.has_file("t")


def test_of_files_to_be_deleted_some_may_be_gone(root: str) -> None:
    store = RemoteStore(root, bucket.server().options())
    there = [f"t/{number}" for number in range(5)]
    for path in there:
        store.put_if_absent(path, b"")
    store.delete_all(["t/gone", *there, "t/gone-too"])
    assert not store.has_file("t")
    store.delete_all([])


def test_what_repair_takes_away_is_copied_by_the_store_and_deleted_at_once(
    root: str, proxy: Proxy
) -> None:
    store = RemoteStore(root, bucket.server().options(proxy.endpoint))
    there = [f"t/{number}" for number in range(20)]
    for path in there:
        store.put_if_absent(path, b"")
    finding = Finding(Kind.STRAY_FILES, "t", "", None, None)
    proxy.forget()
    Trash(store, time.time).take_files(finding, ["t/gone", *there])
    counts = proxy.counts()
    assert counts.pop("PUT") == 1  # what was found
    assert counts == {"COPY": 21, "DELETE MANY": 1}
    assert not store.has_file("t")
    assert len(list(store.files("_lanceyard/trash"))) == 21


def test_a_deletion_that_was_cut_short_is_finished_by_repair(
    catalog: Any, table: ObjectPath, proxy: Proxy, root: str
) -> None:
    def is_second_batch(request: Any) -> bool:
        return request.kind == "DELETE MANY" and proxy.counts()["DELETE MANY"] > before

    before = proxy.counts()["DELETE MANY"] + 1
    with proxy.failing(Fault.BUSY, is_second_batch, times=1000):
        catalog.drop_table({"id": ["ns", "t"]})
    assert catalog.list_tables({"id": ["ns"]}).tables == []
    left = len(list(table.rglob("*")))
    assert 0 < left < MANY
    catalog.close()
    with lanceyard.open(root, window="1", **bucket.storage()) as yard:
        time.sleep(1.5)
        yard.repair(dry_run=False)
    assert not table.exists()
