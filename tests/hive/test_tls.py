"""Connections that are encrypted, and whom they trust."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore.client import Metastore
from tests.certificates import certificate_for_localhost

from .metastore import MetastoreServer
from .proxy import Proxy

Connect = Callable[..., Metastore]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost and its key, in one file."""
    return certificate_for_localhost(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(hive: MetastoreServer, certificate: Path) -> Iterator[Proxy]:
    """A metastore that speaks TLS, and asks for certificates that it does not insist on."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    with Proxy(hive.port, context) as proxy:
        yield proxy


def test_a_metastore_with_the_right_certificate_is_trusted(
    connect: Connect, secure: Proxy, certificate: Path
) -> None:
    trusted = {"tls.ssl_ca_cert": str(certificate)}
    assert "default" in connect(secure.uri, **trusted).database_names()
    shown = {"tls.cert_file": str(certificate), "tls": "true"}
    assert "default" in connect(secure.uri, **trusted, **shown).database_names()


def test_a_metastore_with_another_certificate_is_not(connect: Connect, secure: Proxy) -> None:
    with pytest.raises(errors.ServiceUnavailableError, match=r"(?i)certificate"):
        connect(secure.uri, tls="true").database_names()
    assert not secure.calls


def test_a_metastore_with_another_name_is_trusted_only_if_that_is_wanted(
    connect: Connect, secure: Proxy, certificate: Path
) -> None:
    by_number = secure.uri.replace("localhost", "127.0.0.1")
    trusted = {"tls.ssl_ca_cert": str(certificate)}
    with pytest.raises(errors.ServiceUnavailableError, match=r"(?i)certificate"):
        connect(by_number, **trusted).database_names()
    unnamed = connect(by_number, **trusted, **{"tls.assert_hostname": "false"})
    assert "default" in unnamed.database_names()


def test_who_forgets_tls_is_told_of_it(connect: Connect, secure: Proxy) -> None:
    with pytest.raises(errors.ServiceUnavailableError, match="'tls'"):
        connect(secure.uri).database_names()


def test_who_wants_tls_of_a_metastore_without_it_hears_so_soon(
    connect: Connect, hive: MetastoreServer
) -> None:
    hasty = {"tls": "true", "client.connect-timeout": "1"}
    with pytest.raises(errors.ServiceUnavailableError, match="no Hive Metastore answers"):
        connect(hive.uri, **hasty).database_names()


def test_files_that_are_not_there_are_named(connect: Connect, secure: Proxy) -> None:
    with pytest.raises(errors.InvalidInputError, match=r"nowhere\.pem"):
        connect(secure.uri, **{"tls.ssl_ca_cert": "nowhere.pem"}).database_names()
