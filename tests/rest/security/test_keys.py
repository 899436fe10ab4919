"""API keys: whoever has one is who it says."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.server.security.keys import new_key
from lanceyard.server.security.principals import ANYONE, Principal
from lanceyard.server.security.security import Security

from .people import security

KEY, DIGEST = new_key()
OTHER, OTHER_DIGEST = new_key()
CI = Principal("ci", frozenset({"robots"}))


@pytest.fixture
def guard() -> Security:
    """Security that knows two keys."""
    keys = [
        {"name": "ci", "sha256": DIGEST, "groups": ["robots"]},
        {"name": "other", "sha256": OTHER_DIGEST},
    ]
    return security(keys=keys)


def test_a_new_key_is_long_and_random_and_says_what_it_is() -> None:
    key, digest = new_key()
    assert key.startswith("ly_")
    assert len(key) == 3 + 43
    assert len(digest) == 64
    assert key != new_key()[0]


def test_a_key_is_taken_from_the_header_or_the_identity(guard: Security) -> None:
    assert guard.known({b"x-api-key": KEY.encode()}, None) == CI
    assert guard.known({}, {"api_key": KEY}) == CI
    assert guard.authenticate({}, {"api_key": KEY}) == CI


def test_the_header_decides_before_the_identity(guard: Security) -> None:
    header = {b"x-api-key": OTHER.encode()}
    assert guard.known(header, {"api_key": KEY}) == Principal("other")
    with pytest.raises(errors.UnauthenticatedError):
        guard.known({b"x-api-key": b"wrong"}, {"api_key": KEY})


def test_a_bearer_token_decides_before_a_key(guard: Security) -> None:
    header = {b"x-api-key": KEY.encode(), b"authorization": b"Bearer wrong"}
    with pytest.raises(errors.UnauthenticatedError, match="token"):
        guard.known(header, None)


@pytest.mark.parametrize(
    ("headers", "identity"),
    [
        ({}, None),
        ({}, {}),
        ({}, {"api_key": None}),
        ({}, {"api_key": 1}),
        ({}, {"api_key": "\ud800"}),
        ({}, {"auth_token": "\ud800"}),
        ({b"x-api-key": b""}, None),
        ({b"x-api-key": b"\xff"}, None),
        ({b"x-api-key": KEY.encode() + b" "}, None),
        ({b"x-api-key": DIGEST.encode()}, None),
        ({b"authorization": b"Basic " + KEY.encode()}, None),
        ({b"authorization": b"Bearer " + KEY.encode()}, None),
        ({b"authorization": b"Bearer"}, None),
    ],
)
def test_without_a_good_key_nobody_is_known(
    guard: Security, headers: dict[bytes, bytes], identity: dict[str, object] | None
) -> None:
    with pytest.raises(errors.UnauthenticatedError) as failure:
        guard.authenticate(headers, identity)
    assert KEY not in str(failure.value)


def test_everybody_is_anyone_where_security_is_off() -> None:
    off = security()
    assert not off.is_on
    assert off.known({b"x-api-key": b"any"}, None) == ANYONE == off.authenticate({}, None)
