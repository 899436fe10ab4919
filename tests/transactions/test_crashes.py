"""A crash before and after every storage call of a transaction leaves all of it, or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.catalog.directory import open_catalog
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from lanceyard.storage.base import Store
from lanceyard.storage.failing import Crash, FailingStore, Moment
from lanceyard.storage.local import LocalStore
from tests.transactions.conftest import numbers, open_yard
from tests.transactions.workers import rows

BEFORE = ([1], [10], None)
AFTER = ([1, 2], [11], [5])


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("original") / "yard"
    with open_yard(root) as yard:
        yard.create_namespace("shop")
        yard.create_table("shop.a", rows(1))
        yard.create_table("shop.b", rows(10))
    return root


def open_on(root: Path, store: Store) -> lanceyard.Yard:
    settings = DirectorySettings(root=str(root), durability=Durability.OS)
    return lanceyard.Yard(Namespace(open_catalog(settings, store=store)))


def change_all(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
        tx.table("shop.b").update({"n": "n + 1"})
        tx.create_table("shop.c", rows(5))


def shown(yard: lanceyard.Yard) -> tuple[list[int], list[int], list[int] | None]:
    created = numbers(yard, "shop.c") if "c" in yard.tables("shop") else None
    return numbers(yard, "shop.a"), numbers(yard, "shop.b"), created


def calls(original: Path, folder: Path) -> int:
    root = Path(shutil.copytree(original, folder / "counted", copy_function=os.link))
    counter = FailingStore(LocalStore(str(root)), 0, Moment.BEFORE)
    yard = open_on(root, counter)
    change_all(yard)
    return counter.calls


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("moment", Moment, ids=lambda moment: moment.name.lower())
def test_all_of_it_or_nothing(original: Path, tmp_path: Path, moment: Moment) -> None:
    total = calls(original, tmp_path)
    assert total > 20
    seen = set()
    for at in range(1, total + 1):
        root = Path(shutil.copytree(original, tmp_path / f"yard{at}", copy_function=os.link))
        dying = open_on(root, FailingStore(LocalStore(str(root)), at, moment))
        # A crash in the callback of something else reaches us as its failure.
        with contextlib.suppress(Crash, OSError, errors.LanceNamespaceError):
            change_all(dying)
        dying.close()  # its upkeep dies now, and not in another test
        with open_yard(root) as yard:
            found = shown(yard)
            assert found in (BEFORE, AFTER), (at, found)
            seen.add(str(found))
            yard.table("shop.a").append(rows(7))
            with yard.transaction() as tx:
                tx.table("shop.a").insert(rows(8))
                tx.table("shop.b").insert(rows(8))
            assert numbers(yard, "shop.a") == sorted([*found[0], 7, 8])
        with open_yard(root) as yard:
            assert numbers(yard, "shop.b") == sorted([*found[1], 8])
        shutil.rmtree(root)
    assert len(seen) == 2
