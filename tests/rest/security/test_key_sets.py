"""Keys of issuers: fetched when needed, kept for a while, and never asked for too often."""

from __future__ import annotations

import ipaddress
import logging
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as pem

from lanceyard import errors
from lanceyard.server.security import discovery
from lanceyard.server.security.key_sets import FRESH, GOOD, PAUSE
from lanceyard.server.security.security import Security
from lanceyard.server.security.settings import SecuritySettings

from .issuer import AUDIENCE, CONFIGURATION, TestIssuer, private_key, private_pem, public_jwk

ONCE = [CONFIGURATION, "/keys"]


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def trusting(issuer: TestIssuer, clock: Clock, **more: Any) -> Security:
    """Security that trusts an issuer."""
    table = {"issuers": [{"issuer": issuer.address, "audience": AUDIENCE, **more}]}
    return Security(SecuritySettings.model_validate(table), clock=clock)


@pytest.fixture
def guard(issuer: TestIssuer, clock: Clock) -> Security:
    return trusting(issuer, clock)


def show(guard: Security, token: str) -> str:
    """Whose token it is."""
    return guard.authenticate({b"authorization": b"Bearer " + token.encode()}, None).name


def known(guard: Security, token: str) -> str | None:
    """Whose token it is, as far as that is known already."""
    found = guard.known({b"authorization": b"Bearer " + token.encode()}, None)
    return found and found.name


def test_keys_are_fetched_once_for_many_tokens(guard: Security, issuer: TestIssuer) -> None:
    assert known(guard, issuer.token()) is None
    assert not issuer.fetches
    assert show(guard, issuer.token(sub="bob")) == "bob"
    assert known(guard, issuer.token()) == "alice"
    assert issuer.fetches == ONCE


def test_a_new_key_is_found_when_it_is_first_used(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    assert show(guard, issuer.token()) == "alice"
    issuer.keys.append(public_jwk("EdDSA", 1))
    clock.now += PAUSE
    assert known(guard, issuer.token(number=1)) is None
    assert show(guard, issuer.token(number=1)) == "alice"
    assert issuer.fetches == ONCE * 2


def test_a_key_that_was_taken_back_is_no_longer_good_after_an_hour(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    token = issuer.token()
    assert show(guard, token) == "alice"
    issuer.keys = [public_jwk("EdDSA", 1)]
    clock.now += FRESH - 1
    assert known(guard, token) == "alice"
    clock.now += 1
    assert known(guard, token) is None
    with pytest.raises(errors.UnauthenticatedError):
        show(guard, token)


def test_a_remembered_token_is_checked_again_when_its_issuer_has_other_keys(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    token = issuer.token()
    assert show(guard, token) == "alice"
    issuer.keys = [public_jwk("EdDSA", 1)]
    clock.now += PAUSE
    assert show(guard, issuer.token(number=1)) == "alice"
    with pytest.raises(errors.UnauthenticatedError):
        known(guard, token)


def test_made_up_key_ids_do_not_burden_the_issuer(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    for number in range(1, 6):
        with pytest.raises(errors.UnauthenticatedError):
            show(guard, issuer.token(number=number))
        with pytest.raises(errors.UnauthenticatedError):
            known(guard, issuer.token(number=number))
    assert issuer.fetches == ONCE
    clock.now += PAUSE
    for number in range(1, 6):
        with pytest.raises(errors.UnauthenticatedError):
            show(guard, issuer.token(number=number))
    assert issuer.fetches == ONCE * 2
    assert show(guard, issuer.token()) == "alice"


def test_threads_that_need_keys_at_once_wait_for_one_fetch(
    guard: Security, issuer: TestIssuer
) -> None:
    issuer.delay = 0.1
    tokens = [issuer.token(sub=f"p{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda each: show(guard, each), tokens)) == [
            f"p{number}" for number in range(8)
        ]
    assert issuer.fetches == ONCE


def test_nobody_waits_for_keys_that_are_only_old(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    assert show(guard, issuer.token()) == "alice"
    clock.now += FRESH
    issuer.delay = 0.3
    first = threading.Thread(target=show, args=[guard, issuer.token()])
    first.start()
    while len(issuer.fetches) == len(ONCE):
        first.join(0.01)
    assert known(guard, issuer.token(sub="bob")) == "bob"
    first.join()


def test_keys_stay_good_for_a_day_while_the_issuer_is_down(
    guard: Security, issuer: TestIssuer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert show(guard, issuer.token()) == "alice"
    issuer.status = 503
    clock.now += FRESH
    with caplog.at_level(logging.WARNING):
        assert show(guard, issuer.token(sub="bob")) == "bob"
    assert "status 503" in caplog.text
    assert known(guard, issuer.token(sub="carol")) == "carol"
    clock.now += GOOD - FRESH
    with pytest.raises(errors.ServiceUnavailableError):
        show(guard, issuer.token())


def test_an_issuer_that_was_never_there_is_told_and_asked_again_later(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    issuer.status = 500
    for _ in range(3):
        with pytest.raises(errors.ServiceUnavailableError):
            show(guard, issuer.token())
    assert issuer.fetches == [CONFIGURATION]
    issuer.status = 200
    clock.now += PAUSE
    assert show(guard, issuer.token()) == "alice"


def test_an_issuer_that_cannot_be_reached_is_told(clock: Clock) -> None:
    gone = TestIssuer()
    gone.close()
    with pytest.raises(errors.ServiceUnavailableError) as failure:
        show(trusting(gone, clock), gone.token())
    assert gone.address not in str(failure.value)


@pytest.mark.parametrize(
    "configuration",
    [
        {"issuer": "https://other.example"},
        {"issuer": None},
        {"jwks_uri": "http://other.example/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://["},
        {"jwks_uri": None},
        {"padding": "x" * 600_000},
    ],
)
def test_a_configuration_that_cannot_be_trusted_brings_no_keys(
    guard: Security, issuer: TestIssuer, configuration: dict[str, Any]
) -> None:
    issuer.configuration = configuration
    with pytest.raises(errors.ServiceUnavailableError):
        show(guard, issuer.token())
    assert issuer.fetches == [CONFIGURATION]


def test_keys_are_not_fetched_without_tls_from_another_machine(
    guard: Security, issuer: TestIssuer
) -> None:
    issuer.configuration = {"jwks_uri": f"{issuer.address}/keys".replace("127.0.0.1", "0.0.0.0")}
    with pytest.raises(errors.ServiceUnavailableError):
        show(guard, issuer.token())
    assert issuer.fetches == [CONFIGURATION]


def test_an_issuer_that_only_drips_is_given_up(
    guard: Security, issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PATIENCE", 0.1)
    issuer.configuration = {"padding": "x" * 100_000}
    issuer.pause = 0.05
    with pytest.raises(errors.ServiceUnavailableError):
        show(guard, issuer.token())
    issuer.pause = 0.0


@pytest.mark.parametrize("status", [204, 301, 404])
def test_only_a_plain_answer_counts(guard: Security, issuer: TestIssuer, status: int) -> None:
    issuer.status = status
    with pytest.raises(errors.ServiceUnavailableError):
        show(guard, issuer.token())
    assert issuer.fetches == [CONFIGURATION]


def test_an_issuer_without_keys_keeps_those_it_had(
    guard: Security, issuer: TestIssuer, clock: Clock
) -> None:
    assert show(guard, issuer.token()) == "alice"
    issuer.keys = []
    clock.now += FRESH
    assert show(guard, issuer.token(sub="bob")) == "bob"


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate of this machine that nobody but its file vouches for."""
    key, now = private_key("ES256"), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "issuer")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(1))
    builder = builder.add_extension(x509.BasicConstraints(True, None), critical=True)
    signed = builder.add_extension(here, critical=False).sign(key, hashes.SHA256())
    (folder / "key.pem").write_bytes(private_pem("ES256"))
    (folder / "cert.pem").write_bytes(signed.public_bytes(pem.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


def test_an_issuer_is_believed_by_its_certificate(tmp_path: Path, clock: Clock) -> None:
    file, context = certificate(tmp_path)
    issuer = TestIssuer(context)
    with pytest.raises(errors.ServiceUnavailableError):
        show(trusting(issuer, clock), issuer.token())
    assert show(trusting(issuer, clock, ca_file=file), issuer.token()) == "alice"
    issuer.close()
