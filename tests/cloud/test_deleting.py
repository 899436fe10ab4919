"""Deleting many files: in batches, with progress, and carried on by `repair` after a crash."""

from __future__ import annotations

import logging
import time
from typing import Any

import obstore
import pytest

import lanceyard
from tests.cloud import bucket
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy

MANY = 2_500


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
    assert proxy.counts()["DELETE MANY"] == 3
    assert "2000 files so far" in caplog.text


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
