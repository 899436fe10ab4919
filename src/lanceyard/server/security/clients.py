"""Clients: machines that get tokens for their secrets at ``/oauth/token`` (RFC 6749, 4.4)."""

from __future__ import annotations

import base64
import binascii
import hmac
import time
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from lanceyard.server.security.issuers import NAME, TrustedIssuer
from lanceyard.server.security.key_sets import KeySet
from lanceyard.server.security.keys import digest
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.settings import SecuritySettings
from lanceyard.server.security.tokens import UNKNOWN, OAuthError
from lanceyard.server.security.verification import EDWARDS, VerificationKey

ALGORITHM = "EdDSA"
BASIC = b"basic "


class Clients:
    """The clients of the settings, and the tokens that they get."""

    def __init__(self, settings: SecuritySettings) -> None:
        """Know the clients of settings that went through `with_token_key`."""
        self._digests = {client.id: client.sha256 for client in settings.clients}
        self._principals = {
            client.id: Principal(client.id, frozenset(client.groups)) for client in settings.clients
        }
        self._lifetime = settings.token_lifetime
        assert settings.signing_key is not None
        key = load_pem_private_key(settings.signing_key, None)
        assert isinstance(key, Ed25519PrivateKey)
        self._key = key

    @property
    def issuer(self) -> TrustedIssuer:
        """What accepts the tokens again, of clients that are still known."""
        key = VerificationKey(None, EDWARDS, self._key.public_key())
        return TrustedIssuer(NAME, NAME, KeySet((key,)), self._find)

    def _find(self, claims: Mapping[str, Any]) -> Principal:
        found = self._principals.get(str(claims.get("sub")))
        if found is None:
            raise ValueError("its client is not known any more")
        return found

    def issue(self, form: Mapping[str, str], headers: Mapping[bytes, bytes]) -> dict[str, Any]:
        """The answer to a request for a token. Raises `OAuthError`."""
        kind = form.get("grant_type")
        if not kind:
            raise OAuthError("invalid_request", "grant_type is missing")
        if kind != "client_credentials":
            raise OAuthError("unsupported_grant_type", "only client_credentials is granted")
        name, secret = _credentials(form, headers)
        given = digest(secret.encode("utf-8", "surrogatepass"))
        if not hmac.compare_digest(given, self._digests.get(name, "")):
            raise OAuthError("invalid_client", "the client or its secret is not known", UNKNOWN)
        return {
            "access_token": self._sign(name),
            "token_type": "bearer",
            "expires_in": self._lifetime,
        }

    def _sign(self, name: str) -> str:
        now = int(time.time())
        claims = {
            "iss": NAME,
            "aud": NAME,
            "sub": name,
            "iat": now,
            "exp": now + self._lifetime,
            "jti": uuid.uuid4().hex,
        }
        return jwt.encode(claims, self._key, ALGORITHM)


def _credentials(form: Mapping[str, str], headers: Mapping[bytes, bytes]) -> tuple[str, str]:
    """The id and the secret of a client, from the header or the form, but not from both."""
    header = headers.get(b"authorization", b"")
    name, secret = form.get("client_id"), form.get("client_secret")
    if header[: len(BASIC)].lower() != BASIC:
        if not name or not secret:
            raise OAuthError("invalid_client", "client_id and client_secret are missing", UNKNOWN)
        return name, secret
    found = _read_basic(header[len(BASIC) :])
    if secret is not None or name not in (None, found[0]):
        raise OAuthError("invalid_request", "the client says twice who it is")
    return found


def _read_basic(encoded: bytes) -> tuple[str, str]:
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as cause:
        raise OAuthError("invalid_client", "the header authorization is broken", UNKNOWN) from cause
    name, _, secret = text.partition(":")
    return unquote_plus(name), unquote_plus(secret)
