"""Whom our clients trust, and what they show."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanceyard import errors
from tests.certificates import certificate_for_localhost

from .scripted import Scripted, answer

Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost and its key, in one file."""
    return certificate_for_localhost(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(certificate: Path) -> Iterator[Scripted]:
    """A server that speaks TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with Scripted(answer({"tables": ["t"]})).with_tls(context) as server:
        yield server


def test_a_server_with_the_right_certificate_is_trusted(
    connect: Connect, secure: Scripted, certificate: Path
) -> None:
    client = connect(secure, deadline="20", **{"tls.ssl_ca_cert": str(certificate)})
    assert client.list_all_tables({}).tables == ["t"]


def test_a_server_with_another_certificate_is_not(
    connect: Connect, secure: Scripted, certificate: Path
) -> None:
    with pytest.raises(errors.ServiceUnavailableError, match=r"(?i)certificate"):
        connect(secure, retries="0").drop_table({"id": ["t"]})
    by_number = secure.address.replace("localhost", "127.0.0.1")
    trusted = {"tls.ssl_ca_cert": str(certificate), "uri": by_number, "retries": "0"}
    with pytest.raises(errors.ServiceUnavailableError, match=r"(?i)certificate"):
        connect(secure, **trusted).drop_table({"id": ["t"]})
    assert not secure.requests
    connect(secure, **trusted, **{"tls.assert_hostname": "false"}).list_all_tables({})


def test_a_client_with_a_certificate_is_not_sent_to_another_host(
    connect: Connect, secure: Scripted, certificate: Path
) -> None:
    secure._acts = [answer(status=307, location="http://127.0.0.1:9/")]
    files = dict.fromkeys(("tls.ssl_ca_cert", "tls.cert_file"), str(certificate))
    with pytest.raises(errors.ServiceUnavailableError, match="certificate is not for"):
        connect(secure, **files).list_all_tables({})
