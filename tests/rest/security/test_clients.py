"""Clients get tokens for their secrets, as RFC 6749 says."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import jwt
import pytest

from lanceyard import errors
from lanceyard.server.security.keys import new_key
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.security import Security
from lanceyard.server.security.tokens import OAuthError

from .issuer import private_key, private_pem
from .people import security

SECRET, DIGEST = new_key()
GRANT = {"grant_type": "client_credentials"}
FORM = {**GRANT, "client_id": "etl", "client_secret": SECRET}


@pytest.fixture
def guard() -> Security:
    """Security that knows a client."""
    clients = [{"id": "etl", "sha256": DIGEST, "groups": ["robots"]}]
    return security(clients=clients, token_lifetime=60)


def basic(text: str) -> dict[bytes, bytes]:
    """The header of a client that shows its secret there."""
    return {b"authorization": b"Basic " + base64.b64encode(text.encode())}


def show(guard: Security, token: str) -> Principal:
    """Whose token it is, which is known at once."""
    found = guard.known({b"authorization": b"Bearer " + token.encode()}, None)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        (FORM, {}),
        ({**FORM, "scope": "all"}, {}),
        (GRANT, basic(f"etl:{SECRET}")),
        ({**GRANT, "client_id": "etl"}, basic(f"%65tl:{SECRET}")),
    ],
    ids=["form", "scope", "header", "both"],
)
def test_a_token_is_issued_and_accepted(
    guard: Security, form: dict[str, str], headers: dict[bytes, bytes]
) -> None:
    issued = guard.issue_token(form, headers)
    assert {**issued, "access_token": ""} == {
        "access_token": "",
        "token_type": "bearer",
        "expires_in": 60,
    }
    assert show(guard, issued["access_token"]) == Principal("etl", frozenset({"robots"}))


@pytest.mark.parametrize(
    ("form", "headers", "error", "status"),
    [
        ({}, {}, "invalid_request", 400),
        ({**FORM, "grant_type": "password"}, {}, "unsupported_grant_type", 400),
        (GRANT, {}, "invalid_client", 401),
        ({**FORM, "client_id": "other"}, {}, "invalid_client", 401),
        ({**FORM, "client_secret": "wrong"}, {}, "invalid_client", 401),
        ({**FORM, "client_secret": DIGEST}, {}, "invalid_client", 401),
        ({**FORM, "client_secret": ""}, {}, "invalid_client", 401),
        (GRANT, basic("etl:wrong"), "invalid_client", 401),
        (GRANT, basic("etl"), "invalid_client", 401),
        (GRANT, {b"authorization": b"Basic ?"}, "invalid_client", 401),
        (GRANT, {b"authorization": b"Basic " + base64.b64encode(b"\xff")}, "invalid_client", 401),
        (FORM, basic(f"etl:{SECRET}"), "invalid_request", 400),
        ({**GRANT, "client_id": "a"}, basic(f"etl:{SECRET}"), "invalid_request", 400),
    ],
)
def test_a_refusal_has_the_name_and_the_status_of_the_rfc(
    guard: Security, form: dict[str, str], headers: dict[bytes, bytes], error: str, status: int
) -> None:
    with pytest.raises(OAuthError) as failure:
        guard.issue_token(form, headers)
    assert (failure.value.error, failure.value.status) == (error, status)
    assert ("www-authenticate" in failure.value.headers) == (status == 401)
    assert SECRET not in str(failure.value)


def test_a_client_that_is_not_known_is_refused_like_a_wrong_secret(guard: Security) -> None:
    texts = []
    for form in ({**FORM, "client_id": "other"}, {**FORM, "client_secret": "wrong"}):
        with pytest.raises(OAuthError) as failure:
            guard.issue_token(form, {})
        texts.append(str(failure.value))
    assert texts[0] == texts[1]


def test_there_are_no_tokens_where_there_are_no_clients() -> None:
    with pytest.raises(OAuthError) as failure:
        security().issue_token(FORM, {})
    assert failure.value.error == "invalid_client"


def test_a_token_that_somebody_else_signed_is_refused(guard: Security) -> None:
    claims = {"iss": "lanceyard", "aud": "lanceyard", "sub": "etl", "exp": time.time() + 60}
    with pytest.raises(errors.UnauthenticatedError):
        show(guard, jwt.encode(claims, private_key("EdDSA"), "EdDSA"))


def test_a_token_of_a_client_that_was_taken_out_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(private_pem("EdDSA"))
    before = security(clients=[{"id": "etl", "sha256": DIGEST}], token_key=file)
    after = security(clients=[{"id": "other", "sha256": DIGEST}], token_key=file)
    token = before.issue_token(FORM, {})["access_token"]
    assert show(before, token).name == "etl"
    with pytest.raises(errors.UnauthenticatedError, match="not known any more"):
        show(after, token)


def test_a_token_of_another_start_of_the_server_is_refused(guard: Security) -> None:
    other = security(clients=[{"id": "etl", "sha256": DIGEST}])
    with pytest.raises(errors.UnauthenticatedError):
        show(guard, other.issue_token(FORM, {})["access_token"])
