"""Deleting many files: in batches, with progress, and carried on by `repair` after a crash."""

from __future__ import annotations

import logging
import time
from typing import Any

import obstore
import pytest

import lanceyard
from lanceyard.storage.remote import RemoteStore
from tests.cloud import bucket
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy

BATCH = bucket.KIND.batch
MANY = 5 * BATCH // 2


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a page of a listing be what one request deletes."""
    monkeypatch.setattr("lanceyard.storage.remote.PAGE", BATCH)


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
    store = bucket.objects()
    for number in range(MANY):
        obstore.put(store, f"{found.key}/data/{number}.lance", b"")
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


def test_a_deletion_whose_reply_was_lost_is_done(
    catalog: Any, proxy: Proxy, root: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = ObjectPath.of(catalog.describe_table({"id": ["ns", "t"]}).location)
    with proxy.failing(Fault.LOST, lambda request: request.kind == "DELETE MANY") as rule:
        catalog.drop_table({"id": ["ns", "t"]})
    assert rule.met
    assert not place.exists()
    assert not caplog.records


def test_of_files_to_be_deleted_some_may_be_gone(root: str) -> None:
    store = RemoteStore(root, bucket.server().options())
    there = [f"t/{number}" for number in range(5)]
    for path in there:
        store.put_if_absent(path, b"")
    store.delete_all(["t/gone", *there, "t/gone-too"])
    assert not store.has_file("t")
    store.delete_all([])


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
