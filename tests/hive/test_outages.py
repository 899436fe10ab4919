"""Metastores that are away, come back, are silent, or whose answers get lost."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore import connection
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.failures import AlreadyExistsError, LostReplyError
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase, HiveTable

from .metastore import MetastoreServer
from .proxy import Proxy

Connect = Callable[..., Metastore]


@pytest.fixture
def proxy(hive: MetastoreServer) -> Iterator[Proxy]:
    """What stands between us and the metastore."""
    with Proxy(hive.port) as running:
        yield running


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    """A metastore that may be killed."""
    server = MetastoreServer(tmp_path_factory.mktemp("hive"))
    server.start()
    yield server
    server.kill()


@contextlib.contextmanager
def deaf() -> Iterator[str]:
    """The address of something that accepts connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"thrift://127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def vacant() -> Iterator[str]:
    """An address at which nobody listens, nor will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"thrift://127.0.0.1:{bound.getsockname()[1]}"


def test_nobody_there_is_said_at_once_with_all_addresses(connect: Connect) -> None:
    with vacant() as first, vacant() as second:
        with pytest.raises(errors.ServiceUnavailableError, match="see that it runs") as caught:
            connect(f"{first},{second}").database_names()
        with pytest.raises(errors.ServiceUnavailableError):
            connect(first).create_database(HiveDatabase(DatabaseName("d")))
    assert first in str(caught.value)
    assert second in str(caught.value)
    assert caught.value.code == errors.ErrorCode.SERVICE_UNAVAILABLE


def test_a_name_that_nobody_knows_is_said(connect: Connect) -> None:
    with pytest.raises(errors.ServiceUnavailableError, match=r"nobody\.invalid"):
        connect("thrift://nobody.invalid:9083").database_names()


def test_the_next_address_is_taken_and_kept(connect: Connect, proxy: Proxy) -> None:
    with vacant() as first:
        store = connect(f"{first},{proxy.uri}", **{"client.pool-size": "1"})
        for _ in range(3):
            assert "default" in store.database_names()
        store.close()
        assert "default" in store.database_names()
    assert proxy.accepted == 2


def test_a_silent_metastore_is_given_up_in_time(connect: Connect) -> None:
    with deaf() as address:
        begun = time.monotonic()
        with pytest.raises(errors.ServiceUnavailableError, match="timed out"):
            connect(address, **{"client.read-timeout": "1"}).database_names()
        assert time.monotonic() - begun < 5


def test_a_read_goes_from_a_silent_metastore_to_another(
    connect: Connect, hive: MetastoreServer
) -> None:
    with deaf() as address:
        store = connect(f"{address},{hive.uri}", **{"client.read-timeout": "1"})
        assert "default" in store.database_names()


def test_a_change_does_not_but_the_next_call_asks_the_other(
    connect: Connect, proxy: Proxy, hive: MetastoreServer
) -> None:
    proxy.is_silent = True
    store = connect(f"{proxy.uri},{hive.uri}", **{"client.read-timeout": "1"})
    with pytest.raises(LostReplyError, match="timed out"):
        store.create_database(HiveDatabase(DatabaseName("unheard")))
    assert "unheard" not in store.database_names()
    assert proxy.accepted == 1


def test_a_read_whose_answer_was_lost_is_repeated(
    connect: Connect, proxy: Proxy, table: HiveTable
) -> None:
    store = connect(proxy.uri)
    store.create_table(table)
    proxy.lose_reply("get_table_req")
    assert store.find_table(table.where, "t").name == "t"


def test_a_change_whose_answer_was_lost_is_made_once_and_reported(
    connect: Connect, proxy: Proxy, table: HiveTable
) -> None:
    store = connect(proxy.uri)
    store.create_table(replace(table, name="other"))
    proxy.lose_reply(proxy.calls[-1])
    with pytest.raises(LostReplyError, match="look before you try again") as caught:
        store.create_table(table)
    assert isinstance(caught.value, errors.UnknownOutcomeError)
    assert store.find_table(table.where, "t").name == "t"
    with pytest.raises(AlreadyExistsError):
        store.create_table(table)


def test_connections_that_the_server_closed_are_not_used_for_changes(
    connect: Connect, proxy: Proxy, table: HiveTable
) -> None:
    store = connect(proxy.uri)
    for n in range(5):
        store.create_table(replace(table, name=f"t{n}"))
        proxy.cut()
    assert len(store.table_names(table.where)) == 5


def test_a_connection_that_breaks_casts_doubt_on_the_others_to_that_address(
    connect: Connect, proxy: Proxy
) -> None:
    store = connect(proxy.uri, **{"client.pool-size": "4", "client.read-timeout": "1"})
    with contextlib.ExitStack() as held:
        for _ in range(4):
            held.enter_context(store._pool._connection())
    proxy.is_silent = True
    with pytest.raises(errors.ServiceUnavailableError):
        store.database_names()
    proxy.is_silent = False
    assert "default" in store.database_names()
    assert proxy.accepted == 5


def test_a_connection_that_rested_for_long_is_not_used_again(
    connect: Connect, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = connect(proxy.uri)
    store.database_names()
    monkeypatch.setattr(connection, "LONGEST_REST", 0.0)
    store.database_names()
    assert proxy.accepted == 2


def test_a_metastore_that_was_away_is_used_again(
    connect: Connect, fragile: MetastoreServer, tmp_path: Path
) -> None:
    store = connect(fragile.uri)
    where = DatabaseName("d", "hive" if store.has_catalogs() else None)
    store.create_database(HiveDatabase(where, f"file:{tmp_path}"))
    made = HiveTable(where, "t", f"file:{tmp_path}/t", {"EXTERNAL": "TRUE"})
    store.create_table(made)
    fragile.kill()
    for _ in range(2):
        begun = time.monotonic()
        with pytest.raises(errors.ServiceUnavailableError, match=fragile.uri):
            store.table_names(where)
        with pytest.raises(errors.ServiceUnavailableError, match=fragile.uri):
            store.drop_table(where, "t")
        assert time.monotonic() - begun < 5
    fragile.start()
    assert store.table_names(where) == ["t"]
    store.drop_database(where, cascade=True)


def test_what_is_no_metastore_is_said_to_be_none(connect: Connect) -> None:
    with (
        babbling() as address,
        pytest.raises(errors.ServiceUnavailableError, match="no Hive Metastore answers"),
    ):
        connect(address, **{"client.read-timeout": "2"}).database_names()


@contextlib.contextmanager
def babbling() -> Iterator[str]:
    """The address of a server that speaks another protocol."""
    listener = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=talk)
    thread.start()
    yield f"thrift://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()
