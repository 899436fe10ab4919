"""The metastore that the tests of this folder share, and clients of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase, HiveTable
from lanceyard.catalog.hive.metastore.settings import MetastoreSettings

from .metastore import MetastoreServer, shared_metastore

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def hive() -> MetastoreServer:
    """A metastore that all tests of a process share; it takes seconds to start."""
    return shared_metastore()


@pytest.fixture
def connect() -> Iterator[Callable[..., Metastore]]:
    """How to get clients of the metastore at an address."""
    opened = []

    def connected(uri: str, **properties: str) -> Metastore:
        settings = MetastoreSettings.from_properties({"uri": uri, **properties})
        opened.append(Metastore(settings))
        return opened[-1]

    yield connected
    for each in opened:
        each.close()


@pytest.fixture
def store(hive: MetastoreServer, connect: Callable[..., Metastore]) -> Metastore:
    """A client."""
    return connect(hive.uri)


@pytest.fixture
def where(store: Metastore, tmp_path: Path) -> DatabaseName:
    """A database of its own for each test."""
    made = DatabaseName(f"d{next(NUMBERS)}", "hive" if store.has_catalogs() else None)
    store.create_database(HiveDatabase(made, location=f"file:{tmp_path}"))
    return made


@pytest.fixture
def table(where: DatabaseName, tmp_path: Path) -> HiveTable:
    """What a Lance table looks like; it is not created yet."""
    parameters = {"EXTERNAL": "TRUE", "table_type": "lance", "version": "1"}
    return HiveTable(where, "t", f"file:{tmp_path}/t", parameters)
