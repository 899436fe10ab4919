"""Verification keys: what issuers publish, and which signatures each can check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
EDWARDS = frozenset({"EdDSA"})
ALGORITHMS = RSA | EDWARDS | {*CURVES.values()}
"""Those that tokens may be signed with."""
LEAST_BITS = 2048
MOST_KEYS = 64


class VerificationKey(NamedTuple):
    """A public key, and the algorithms that it may be used with: none of them is symmetric."""

    kid: str | None
    algorithms: frozenset[str]
    key: PublicKey

    def fits(self, kid: str | None, algorithm: str) -> bool:
        """Whether a token with such a header could be signed by it."""
        return algorithm in self.algorithms and kid in (None, self.kid)


def read_keys(document: Any) -> tuple[VerificationKey, ...]:
    """The keys of a JWKS document that check signatures; others are passed over.

    Raises `ValueError` if there is none.
    """
    said = document.get("keys") if isinstance(document, Mapping) else None
    given = said[:MOST_KEYS] if isinstance(said, list) else []
    found = tuple(key for key in map(_read_key, given) if key is not None)
    if not found:
        raise ValueError("it has no key that could check a signature")
    return found


def _read_key(jwk: Any) -> VerificationKey | None:
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(jwk).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    algorithms = algorithms_of(key)
    if "alg" in jwk:
        algorithms &= {jwk["alg"]}
    kid = jwk.get("kid")
    if not algorithms or not isinstance(kid, str | None):
        return None
    return VerificationKey(kid, algorithms, key)


def algorithms_of(key: Any) -> frozenset[str]:
    """The algorithms that suit a public key; none for what is no public key, or a weak one."""
    if isinstance(key, RSAPublicKey) and key.key_size >= LEAST_BITS:
        return RSA
    if isinstance(key, EllipticCurvePublicKey) and key.curve.name in CURVES:
        return frozenset({CURVES[key.curve.name]})
    return EDWARDS if isinstance(key, Ed25519PublicKey) else frozenset()
