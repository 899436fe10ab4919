"""Compare-and-swap where the server has it, locks where it has not, and how that is found out."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveTable, Lock
from lanceyard.catalog.hive.metastore.settings import MetastoreSettings
from lanceyard.catalog.hive.swaps import ConflictError, Swaps
from lanceyard.catalog.hive.tables import LanceTable
from tests.hive.metastore import JARS, MetastoreServer

from .tables import create

WRITERS, CHANGES = 4, 5
IS_HIVE_3, IS_HIVE_4 = ("3.1" in os.environ.get(JARS, ""), "4.0" in os.environ.get(JARS, ""))
has_locks = pytest.mark.skipif(IS_HIVE_4, reason="its tables for locks are not made by the fixture")


class Forgetful(Metastore):
    """A metastore as those before HIVE-26882 are: it does not look at what is expected."""

    locks = 0

    def alter_table(
        self,
        where: DatabaseName,
        name: str,
        table: HiveTable,
        context: Mapping[str, str] | None = None,
    ) -> None:
        said = {k: v for k, v in (context or {}).items() if not k.startswith("expected")}
        super().alter_table(where, name, table, said)

    def lock(self, where: DatabaseName, name: str) -> Lock:
        self.locks += 1
        return super().lock(where, name)


@pytest.fixture
def forgetful(hive: MetastoreServer) -> Any:
    made = Forgetful(MetastoreSettings.from_properties({"uri": hive.uri, "client.pool-size": "9"}))
    yield made
    made.close()


@pytest.fixture
def table(ns: Any, metastore: Metastore, where: DatabaseName, home: list[str]) -> LanceTable:
    create(ns, [*home, "t"], 1, properties={"count": "0"})
    return LanceTable(metastore.find_table(where, "t"))


def count_up(metastore: Metastore, swaps: Swaps, table: LanceTable) -> None:
    """Add one to a property, again while others are faster."""
    while True:
        seen = LanceTable(metastore.find_table(table.record.where, table.record.name))
        counted = str(int(seen.properties["count"]) + 1)
        try:
            swaps.swap(seen, seen.with_properties({"count": counted}))
        except ConflictError:
            continue
        return


def test_a_server_that_compares_is_known_and_the_sample_stays_as_it_is(
    metastore: Metastore, table: LanceTable
) -> None:
    assert Swaps(metastore).compares(table) is not IS_HIVE_3
    assert metastore.find_table(table.record.where, "t") == table.record


def test_a_server_that_does_not_is_known_and_the_sample_stays_as_it_is(
    forgetful: Forgetful, table: LanceTable
) -> None:
    assert not Swaps(forgetful).compares(table)
    assert forgetful.find_table(table.record.where, "t") == table.record


def test_it_is_asked_once(metastore: Metastore, table: LanceTable) -> None:
    swaps = Swaps(metastore)
    found = swaps.compares(table)
    metastore.drop_table(table.record.where, "t")
    assert swaps.compares(table) is found


def test_a_swap_of_what_has_changed_is_a_conflict(metastore: Metastore, table: LanceTable) -> None:
    swaps = Swaps(metastore)
    swaps.swap(table, table.with_properties({"count": "1"}))
    with pytest.raises(ConflictError):
        swaps.swap(table, table.with_properties({"count": "2"}))
    assert LanceTable(metastore.find_table(table.record.where, "t")).properties == {"count": "1"}


def test_a_swap_of_what_is_gone_is_a_conflict(metastore: Metastore, table: LanceTable) -> None:
    metastore.drop_table(table.record.where, "t")
    with pytest.raises(ConflictError):
        Swaps(metastore).swap(table, table.with_properties({}))


def test_a_table_without_a_mark_is_known_by_its_last_change(
    metastore: Metastore, table: LanceTable
) -> None:
    plain = {k: v for k, v in table.record.parameters.items() if k != "lanceyard_change"}
    metastore.alter_table(table.record.where, "t", replace(table.record, parameters=plain))
    seen = LanceTable(metastore.find_table(table.record.where, "t"))
    swaps = Swaps(metastore)
    swaps.swap(seen, seen.with_properties({"count": "1"}))
    with pytest.raises(ConflictError):
        swaps.swap(seen, seen.with_properties({"count": "2"}))


@pytest.mark.parametrize("compares", [True, False], ids=["swaps", "locks"])
@has_locks
def test_no_change_is_lost(
    metastore: Metastore, forgetful: Forgetful, table: LanceTable, compares: bool
) -> None:
    store = metastore if compares else forgetful
    swaps = Swaps(store)
    with ThreadPoolExecutor(WRITERS) as pool:
        tasks = [
            pool.submit(lambda: [count_up(store, swaps, table) for _ in range(CHANGES)])
            for _ in range(WRITERS)
        ]
        for task in tasks:
            task.result()
    counted = LanceTable(store.find_table(table.record.where, "t")).properties["count"]
    assert counted == str(WRITERS * CHANGES)
    assert bool(forgetful.locks) is not compares


@has_locks
def test_whoever_waits_too_long_for_a_lock_is_told(
    forgetful: Forgetful, table: LanceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lanceyard.catalog.hive.swaps.PATIENCE", 0.2)
    held = threading.Event()
    with Swaps(forgetful).locked(table.record):
        held.set()
        with pytest.raises(errors.ConcurrentModificationError, match="locked by another"):
            Swaps(forgetful).swap(table, table.with_properties({}))
    Swaps(forgetful).swap(table, table.with_properties({}))


def test_a_refusal_of_another_kind_is_told_as_it_is(
    ns: Any, metastore: Metastore, home: list[str], table: LanceTable
) -> None:
    create(ns, [*home, "taken"], 1)
    with pytest.raises(failures.InvalidOperationError, match="exists"):
        Swaps(metastore).swap(table, table.renamed(table.record.where, "taken"))
