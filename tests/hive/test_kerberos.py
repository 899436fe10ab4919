"""Kerberos: a real KDC, and a real metastore that asks for its tickets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase

from . import kdc
from .metastore import MetastoreServer

Connect = Callable[..., Metastore]
pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not kdc.is_installed(), reason="MIT's KDC is not installed"),
]
BY_HOST = {"kerberos.principal": "hive/_HOST"}


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kdc.Kdc]:
    """A KDC."""
    with kdc.running(tmp_path_factory.mktemp("kdc")) as running:
        yield running


@pytest.fixture(scope="module", params=["authentication", "integrity", "privacy"])
def secured(
    request: pytest.FixtureRequest, realm: kdc.Kdc, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a metastore, with each of the layers of protection that it may insist on."""
    settings = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": request.param,
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.keytab.file": str(realm.keytab),
        "hive.metastore.kerberos.principal": kdc.SERVER,
    }
    options = [f"-Djava.security.krb5.conf={realm.config}"]
    server = MetastoreServer(tmp_path_factory.mktemp("hive"), settings, options)
    server.start()
    yield server.uri.replace("127.0.0.1", "localhost")
    server.kill()


@pytest.fixture(autouse=True)
def with_ticket(realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be the user of the realm."""
    monkeypatch.setenv("KRB5_CONFIG", str(realm.config))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.ticket}")


@pytest.mark.parametrize("principal", ["hive", "hive/_HOST", kdc.SERVER])
def test_who_has_a_ticket_is_let_in(connect: Connect, secured: str, principal: str) -> None:
    store = connect(secured, **{"kerberos.principal": principal})
    assert "default" in store.database_names()


def test_long_messages_pass(connect: Connect, secured: str, tmp_path: Path) -> None:
    store = connect(secured, **BY_HOST)
    parameters = {f"key{n}": "v" * 2000 for n in range(100)}
    made = HiveDatabase(DatabaseName("long"), f"file:{tmp_path}", parameters=parameters)
    store.create_database(made)
    assert store.find_database(made.where).parameters == parameters
    store.drop_database(made.where)


def test_who_has_no_ticket_is_told_how_to_get_one(
    connect: Connect, secured: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
    with pytest.raises(errors.UnauthenticatedError, match="kinit"):
        connect(secured, **BY_HOST).database_names()


def test_a_server_that_nobody_knows_is_not_spoken_to(connect: Connect, secured: str) -> None:
    with pytest.raises(errors.UnauthenticatedError, match="Kerberos"):
        connect(secured, **{"kerberos.principal": "mallory"}).database_names()


def test_who_forgets_kerberos_is_told_of_it(connect: Connect, secured: str) -> None:
    with pytest.raises(errors.ServiceUnavailableError, match=r"kerberos\.principal"):
        connect(secured, **{"client.read-timeout": "5"}).database_names()
