"""Connections that threads and processes share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveTable

from .metastore import MetastoreServer
from .proxy import Proxy

Connect = Callable[..., Metastore]


@pytest.fixture
def proxy(hive: MetastoreServer) -> Iterator[Proxy]:
    """What counts connections."""
    with Proxy(hive.port) as running:
        yield running


def test_threads_share_as_many_connections_as_are_allowed(
    connect: Connect, proxy: Proxy, table: HiveTable
) -> None:
    store = connect(proxy.uri, **{"client.pool-size": "3"})

    def mixed(worker: int) -> int:
        mine = replace(table, name=f"t{worker}")
        for n in range(10):
            store.create_table(mine)
            found = store.find_table(table.where, mine.name)
            assert found.name == mine.name
            newer = replace(found, parameters={**found.parameters, "n": str(n)})
            store.alter_table(table.where, mine.name, newer)
            assert mine.name in store.table_names(table.where)
            store.drop_table(table.where, mine.name)
        return worker

    with ThreadPoolExecutor(16) as threads:
        assert sorted(threads.map(mixed, range(16))) == list(range(16))
    assert store.table_names(table.where) == []
    assert proxy.accepted <= 3


def test_connections_are_kept(connect: Connect, proxy: Proxy) -> None:
    store = connect(proxy.uri)
    for _ in range(5):
        store.database_names()
    store.close()
    store.database_names()
    assert proxy.accepted == 2


def test_an_error_of_the_server_does_not_cost_a_connection(
    connect: Connect, proxy: Proxy, where: DatabaseName
) -> None:
    store = connect(proxy.uri)
    for _ in range(3):
        with pytest.raises(errors.InternalError):
            store.find_table(where, "missing")
    assert proxy.accepted == 1


def test_who_waits_for_a_connection_too_long_is_told(connect: Connect, proxy: Proxy) -> None:
    store = connect(proxy.uri, **{"client.pool-size": "1", "client.read-timeout": "1"})
    with store._pool._connection(), pytest.raises(errors.ServiceUnavailableError, match="busy"):
        store.database_names()
    assert store.database_names()


def test_a_forked_process_has_connections_of_its_own(connect: Connect, proxy: Proxy) -> None:
    store = connect(proxy.uri)
    names = store.database_names()
    child = os.fork()
    if child == 0:
        os._exit(0 if store.database_names() == names else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.database_names() == names
    assert proxy.accepted == 2


def test_the_metastore_hears_who_asks_first_of_all(connect: Connect, proxy: Proxy) -> None:
    connect(proxy.uri, ugi="ann:readers,writers").database_names()
    assert proxy.calls == ["set_ugi", "get_databases"]
