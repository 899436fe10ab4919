"""Keys: secrets of machines, of which the server knows the digests alone."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "ly_"
"""How our keys begin, so that whoever finds one in a text knows what it is."""
BYTES = 32


def new_key() -> tuple[str, str]:
    """A new API key, or secret of an OAuth client, and the digest that the settings get.

    A key has 256 random bits, which nobody can guess; that is why a plain digest is enough to keep
    it by, and why a password that somebody thought of must not be used in its place.
    """
    key = PREFIX + secrets.token_urlsafe(BYTES)
    return key, digest(key.encode())


def digest(key: bytes) -> str:
    """The SHA-256 of a key, in hexadecimal."""
    return hashlib.sha256(key).hexdigest()
