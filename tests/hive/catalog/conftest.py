"""Catalogs on the shared metastore, each test with a database of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanceyard import HiveNamespace
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName
from lanceyard.catalog.hive.metastore.settings import MetastoreSettings
from lanceyard.catalog.hive.places import MAIN_CATALOG
from tests.hive.metastore import MetastoreServer

Open = Callable[..., Any]


@pytest.fixture
def metastore(hive: MetastoreServer) -> Iterator[Metastore]:
    """The metastore, past our catalog: what other programs do to it."""
    made = Metastore(MetastoreSettings.from_properties({"uri": hive.uri}))
    yield made
    made.close()


@pytest.fixture
def open_hive(hive: MetastoreServer, tmp_path: Path) -> Iterator[Open]:
    """Opens a catalog; all of a test keep their data at the same place."""
    opened: list[HiveNamespace] = []

    def open_one(**properties: str) -> HiveNamespace:
        given = {"uri": hive.uri, "root": str(tmp_path / "root"), **properties}
        opened.append(HiveNamespace(**given))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture
def ns(open_hive: Open) -> Any:
    """A catalog whose tables are managed by storage."""
    return open_hive()


@pytest.fixture
def managed(open_hive: Open) -> Any:
    """A catalog whose new tables the metastore manages."""
    return open_hive(managed_by="impl")


@pytest.fixture
def where(metastore: Metastore) -> Iterator[DatabaseName]:
    """The name of a database that does not exist yet, and is gone after the test."""
    catalog = MAIN_CATALOG if metastore.has_catalogs() else None
    name = DatabaseName(f"d{uuid.uuid4().hex[:10]}", catalog)
    yield name
    for left in metastore.database_names(catalog):
        if left.startswith(name.name):
            metastore.drop_database(DatabaseName(left, catalog), cascade=True)


@pytest.fixture
def home(ns: Any, where: DatabaseName) -> list[str]:
    """A new database, as a namespace."""
    identifier = [*([where.catalog] if where.catalog else []), where.name]
    ns.create_namespace({"id": identifier})
    return identifier
