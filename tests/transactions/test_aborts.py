"""Whatever stock calls came before an abort, nothing of them ever appears."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import lance
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanceyard.errors import TableAlreadyExistsError
from tests.transactions.conftest import numbers, open_yard
from tests.transactions.workers import rows

ABORTED = 666
KEPT = 7


def insert(tx: Any) -> None:
    tx.table("a").insert(rows(ABORTED))


def write_by_handle(tx: Any) -> None:
    lance.write_dataset(rows(ABORTED), tx.table("a"), mode="append")


def write_by_path(tx: Any) -> None:
    lance.write_dataset(rows(ABORTED), tx.table("a").uri, mode="append")


def overwrite(tx: Any) -> None:
    lance.write_dataset(rows(ABORTED), tx.table("a").uri, mode="overwrite")


def delete(tx: Any) -> None:
    tx.table("a").delete("true")


def update(tx: Any) -> None:
    tx.table("a").update({"n": str(ABORTED)})


def merge(tx: Any) -> None:
    merging = tx.table("a").merge_insert("n")
    merging.when_not_matched_insert_all().execute(rows(ABORTED))


def index(tx: Any) -> None:
    tx.table("a").create_scalar_index("n", "BTREE", replace=True)


def compact(tx: Any) -> None:
    tx.table("a").optimize.compact_files()


def restore(tx: Any) -> None:
    handle = tx.table("a")
    handle.checkout_version(handle.version).restore()


def clean_up(tx: Any) -> None:
    tx.table("a").cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)


def tag(tx: Any) -> None:
    handle = tx.table("a")
    handle.tags.create(f"tag{handle.version}", handle.version)


def reopen(tx: Any) -> None:
    lance.dataset(tx.table("a").uri).checkout_latest()


def create(tx: Any) -> None:
    with contextlib.suppress(TableAlreadyExistsError):
        tx.create_table("new", rows(ABORTED))


CALLS: list[Callable[[Any], None]] = [
    insert,
    write_by_handle,
    write_by_path,
    overwrite,
    delete,
    update,
    merge,
    index,
    compact,
    restore,
    clean_up,
    tag,
    reopen,
    create,
]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(CALLS), min_size=1, max_size=6))
def test_no_aborted_row_appears(calls: list[Callable[[Any], None]]) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yard = open_yard(folder)
        yard.create_table("a", rows(1, 2))
        yard.table("a").append(rows(3))
        tx = yard.transaction()
        for call in calls:
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                call(tx)
        tx.abort()
        assert numbers(yard, "a") == [1, 2, 3]
        yard.table("a").append(rows(KEPT))
        assert numbers(yard, "a") == [1, 2, 3, KEPT]
        assert yard.tables() == ["a"]
        assert yard.table("a").to_lance().checkout_version(1).count_rows() == 2
        by_path = lance.dataset(yard.table("a").location)
        assert sorted(by_path.to_table()["n"].to_pylist()) == [1, 2, 3, KEPT]
        yard.create_table("new", rows(KEPT))
        assert numbers(yard, "new") == [KEPT]
        yard.close()
