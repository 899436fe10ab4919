"""Transactions over many tables in a bucket: workspaces are copies that the store makes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard import errors
from tests.cloud import bucket
from tests.cloud.paths import ObjectPath

MANAGED = {"table_version_management": "true", "dir_listing_enabled": "false"}


def open_yard(root: str, **properties: str) -> lanceyard.Yard:
    return lanceyard.open(root, **MANAGED, **bucket.storage(), **properties)


@pytest.fixture
def yard(root: str) -> Iterator[lanceyard.Yard]:
    """A catalog with two tables that hold one number each."""
    with open_yard(root) as made:
        made.create_namespace("shop")
        made.create_table("shop.a", {"n": [1]})
        made.create_table("shop.b", {"n": [10]})
        yield made


def numbers(yard: lanceyard.Yard, name: str) -> list[int]:
    return sorted(yard.table(name).read()["n"].to_pylist())


def rows(*values: int) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


def test_everything_lands_at_once(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
        tx.table("shop.b").update({"n": "n + 1"})
        tx.create_table("shop.c", {"n": [5]})
        assert numbers(yard, "shop.a") == [1]
        assert yard.tables("shop") == ["a", "b"]
    assert [numbers(yard, f"shop.{name}") for name in "abc"] == [[1, 2], [11], [5]]


def test_of_an_aborted_one_nothing_is_there(yard: lanceyard.Yard, root: str) -> None:
    tx = yard.transaction()
    tx.table("shop.a").insert(rows(2))
    tx.create_table("shop.c", {"n": [5]})
    tx.abort()
    assert numbers(yard, "shop.a") == [1]
    assert yard.tables("shop") == ["a", "b"]
    assert not (ObjectPath.of(root) / f"_lanceyard/transactions/{tx.id}/tables").exists()


def test_of_two_that_change_the_same_table_one_is_refused(yard: lanceyard.Yard) -> None:
    first, second = yard.transaction(), yard.transaction()
    for number, each in enumerate((first, second), 2):
        each.table("shop.a").insert(rows(number))
        each.table("shop.b").insert(rows(number))
    first.commit()
    with pytest.raises(errors.ConcurrentModificationError):
        second.commit()
    assert (numbers(yard, "shop.a"), numbers(yard, "shop.b")) == ([1, 2], [2, 10])


def test_a_writer_beside_it_goes_on_from_what_it_wrote(yard: lanceyard.Yard, root: str) -> None:
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
    with open_yard(root) as other:
        other.table("shop.a").append({"n": [3]})
    assert numbers(yard, "shop.a") == [1, 2, 3]
    location = yard.table("shop.a").location
    options = dict(yard.namespace.describe_table({"id": ["shop", "a"]}).storage_options)
    assert lance.dataset(location, storage_options=options).count_rows() == 3


def test_one_in_which_somebody_lives_is_not_swept(yard: lanceyard.Yard, root: str) -> None:
    with open_yard(root, window="2") as patient:
        running = patient.transaction()
        running.table("shop.a").insert(rows(2))
        time.sleep(3)
        patient.repair(dry_run=False)
        assert running.status == "Running"
        running.commit()
        assert numbers(patient, "shop.a") == [1, 2]
