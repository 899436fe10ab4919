"""Bearer tokens: accepted if a trusted issuer signed them for us, for now."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization as pem

from lanceyard import errors
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.security import Security

from .issuer import AUDIENCE, TestIssuer, kid, private_key, public_jwk
from .people import security

DAY = 24 * 3600
KINDS = ["RS256", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA"]


def trusting(issuer: TestIssuer, **more: Any) -> Security:
    """Security that trusts an issuer."""
    return security(issuers=[{"issuer": issuer.address, "audience": AUDIENCE, **more}])


def show(guard: Security, token: str) -> Principal:
    """Whose token it is."""
    return guard.authenticate({b"authorization": b"Bearer " + token.encode()}, None)


def refusal(guard: Security, token: str) -> str:
    """Why a token is not accepted, which never tells what it was."""
    with pytest.raises(errors.UnauthenticatedError) as failure:
        show(guard, token)
    assert token not in str(failure.value)
    return str(failure.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_is_accepted_by_each_asymmetric_algorithm(issuer: TestIssuer, kind: str) -> None:
    issuer.keys = [public_jwk(each) for each in KINDS]
    assert show(trusting(issuer), issuer.token(kind)) == Principal("alice")


def test_a_token_comes_in_the_header_or_the_identity(issuer: TestIssuer) -> None:
    guard, token = trusting(issuer), issuer.token()
    assert guard.authenticate({b"authorization": b"bearer " + token.encode()}, None).name == "alice"
    assert guard.authenticate({}, {"auth_token": token}).name == "alice"


def test_claims_name_the_principal_and_its_groups_after_the_prefix(issuer: TestIssuer) -> None:
    guard = trusting(issuer, prefix="corp:", name_claim="email", groups_claim="roles")
    token = issuer.token(email="a@x.org", roles=["dev", 7, "", "ops"])
    assert show(guard, token) == Principal("corp:a@x.org", frozenset({"corp:dev", "corp:ops"}))
    assert show(guard, issuer.token(email="b@x.org", roles="dev")).groups == {"corp:dev"}
    refusal(guard, issuer.token(email="a@x.org", email_verified=False))


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": ["another", "third"]},
        {"aud": None},
        {"exp": time.time() - 60},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": time.time() + DAY},
        {"iat": time.time() + DAY},
        {"sub": None},
        {"sub": ""},
        {"sub": "group:admins"},
        {"sub": "*"},
        {"sub": "anyone"},
        {"sub": "a\nb"},
        {"sub": "a" * 1_000},
        {"iss": None},
        {"iss": "https://other.example"},
        {"iss": "lanceyard"},
    ],
)
def test_a_token_with_wrong_claims_is_refused(issuer: TestIssuer, claims: dict[str, Any]) -> None:
    refusal(trusting(issuer), issuer.token(**claims))


def test_the_issuer_is_compared_letter_by_letter(issuer: TestIssuer) -> None:
    refusal(trusting(issuer), issuer.token(iss=issuer.address + "/"))
    refusal(trusting(issuer), issuer.token(iss=issuer.address.upper()))


def test_clocks_may_differ_a_little(issuer: TestIssuer) -> None:
    guard, now = trusting(issuer), time.time()
    assert show(guard, issuer.token(exp=now - 10, nbf=now + 10)).name == "alice"


def unsigned(issuer: TestIssuer) -> str:
    """A token with the algorithm none."""
    claims = {"iss": issuer.address, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 600}
    return jwt.encode(claims, None, "none", {"kid": kid("EdDSA")})


def signed_with_the_public_key(issuer: TestIssuer, kind: str) -> str:
    """A token whose HMAC has the published key as its secret, made by hand as attackers do."""

    def encoded(said: Any) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=")

    secret = private_key(kind).public_key()
    form = (pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    claims = {"iss": issuer.address, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 600}
    signed = encoded({"alg": "HS256", "kid": kid(kind)}) + b"." + encoded(claims)
    mac = hmac.new(secret.public_bytes(*form), signed, hashlib.sha256).digest()
    return (signed + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


def test_symmetric_and_missing_signatures_are_refused_without_asking_anybody(
    issuer: TestIssuer,
) -> None:
    issuer.keys = [public_jwk("RS256"), public_jwk("EdDSA")]
    guard = trusting(issuer)
    for token in (unsigned(issuer), signed_with_the_public_key(issuer, "RS256")):
        assert "signed" in refusal(guard, token)
    assert not issuer.fetches


def test_a_signature_by_another_key_with_the_same_id_is_refused(issuer: TestIssuer) -> None:
    claims = {"iss": issuer.address, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 600}
    forged = jwt.encode(claims, private_key("EdDSA", 9), "EdDSA", {"kid": kid("EdDSA")})
    assert "ignature" in refusal(trusting(issuer), forged)


def test_the_algorithm_must_be_that_of_the_key(issuer: TestIssuer) -> None:
    issuer.keys = [{**public_jwk("RS256"), "alg": "RS256"}]
    claims = {"iss": issuer.address, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 600}
    other = jwt.encode(claims, private_key("RS256"), "PS256", {"kid": kid("RS256")})
    guard = trusting(issuer)
    assert show(guard, issuer.token("RS256")).name == "alice"
    refusal(guard, other)


@pytest.mark.parametrize(
    "jwk",
    [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "EdDSA-0"},
        {**public_jwk("EdDSA"), "use": "enc"},
        {**public_jwk("EdDSA"), "alg": "ES256"},
        {**public_jwk("EdDSA"), "alg": ["EdDSA"]},
        {**public_jwk("EdDSA"), "kid": 7},
        {"kty": "OKP", "crv": "Ed25519", "x": "broken", "kid": "EdDSA-0"},
        {},
        "text",
    ],
)
def test_keys_that_cannot_check_signatures_are_passed_over(issuer: TestIssuer, jwk: Any) -> None:
    issuer.keys = [jwk, public_jwk("ES256")]
    guard = trusting(issuer)
    assert show(guard, issuer.token("ES256")).name == "alice"
    refusal(guard, issuer.token("EdDSA"))


def test_a_token_without_a_key_id_is_tried_with_the_keys_that_fit(issuer: TestIssuer) -> None:
    issuer.keys = [public_jwk("EdDSA", 1), public_jwk("EdDSA")]
    claims = {"iss": issuer.address, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 600}
    guard = trusting(issuer)
    assert show(guard, jwt.encode(claims, private_key("EdDSA"), "EdDSA")).name == "alice"
    refusal(guard, jwt.encode(claims, private_key("EdDSA", 9), "EdDSA"))


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "a.b.c",
        "ly_key",
        "x" * 20_000,
        base64.urlsafe_b64encode(b"[" * 9_000).rstrip(b"=").decode() + ".e30.",
        "eyJhbGciOiJFZERTQSJ9."
        + base64.urlsafe_b64encode(b"[" * 9_000).rstrip(b"=").decode()
        + ".",
        "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOlsxXX0.",
        "W10.W10.",
    ],
    ids=["empty", "dot", "letters", "key", "long", "deep", "deeper", "list", "lists"],
)
def test_what_is_no_token_is_refused(issuer: TestIssuer, token: str) -> None:
    guard = trusting(issuer)
    with pytest.raises(errors.UnauthenticatedError):
        show(guard, token)
    assert not issuer.fetches


def test_a_token_that_is_too_long_is_refused(issuer: TestIssuer) -> None:
    assert "long" in refusal(trusting(issuer), issuer.token(more="x" * 20_000))


def test_a_remembered_token_is_good_until_it_expires(issuer: TestIssuer) -> None:
    guard = trusting(issuer)
    token = issuer.token(exp=time.time() - 29)
    shown = {b"authorization": b"Bearer " + token.encode()}
    assert guard.known(shown, None) is None
    assert guard.authenticate(shown, None).name == "alice"
    assert guard.known(shown, None) == Principal("alice")
    time.sleep(1.1)
    with pytest.raises(errors.UnauthenticatedError, match="expired"):
        guard.known(shown, None)
