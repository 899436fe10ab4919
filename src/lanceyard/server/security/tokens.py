"""Tokens: what bearers show, and how it is checked."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import jwt

from lanceyard import errors
from lanceyard.server.security.issuers import NAME, TrustedIssuer
from lanceyard.server.security.key_sets import Keys
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.verification import ALGORITHMS, VerificationKey

LONGEST = 16 * 1024
LEEWAY = 30
"""Seconds by which clocks may differ."""
UNKNOWN = 401
REQUIRED = ["exp", "iss", "aud"]
REMEMBERED = 4_096
"""Tokens that were checked and need not be again: that takes longer than most requests."""


class OAuthError(Exception):
    """A request for a token that is refused, in the words of RFC 6749, 5.2."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        """Refuse with one of the errors that the RFC knows."""
        super().__init__(description)
        self.error = error
        self.status = status

    @property
    def headers(self) -> dict[str, str]:
        """What the answer carries beside its body."""
        return {"www-authenticate": f'Basic realm="{NAME}"'} if self.status == UNKNOWN else {}


class _Header(NamedTuple):
    """What a token says of itself, before anything of it is believed."""

    issuer: TrustedIssuer
    kid: str | None
    algorithm: str

    def fitting(self, keys: Keys) -> list[VerificationKey]:
        return [key for key in keys if key.fits(self.kid, self.algorithm)]


class _Checked(NamedTuple):
    """A token that was found good. It is so until it expires, or its issuer has other keys."""

    principal: Principal
    expires: int
    issuer: TrustedIssuer
    keys: Keys

    def holds(self) -> bool:
        keys = self.issuer.key_set.keys
        return keys is self.keys and time.time() < self.expires + LEEWAY


class Tokens:
    """The tokens of all trusted issuers."""

    def __init__(self, issuers: Iterable[TrustedIssuer]) -> None:
        """Trust issuers."""
        self._issuers = {issuer.name: issuer for issuer in issuers}
        self._checked: OrderedDict[bytes, _Checked] = OrderedDict()
        self._lock = Lock()

    def known(self, token: bytes) -> Principal | None:
        """Whose token it is; None if keys have to be fetched to know. Never blocks.

        Raises `UnauthenticatedError`, and `ServiceUnavailableError` if keys cannot be fetched now.
        """
        return self._check(token, may_fetch=False)

    def verify(self, token: bytes) -> Principal:
        """Whose token it is. Raises as `known` does."""
        found = self._check(token, may_fetch=True)
        assert found is not None
        return found

    def _check(self, token: bytes, *, may_fetch: bool) -> Principal | None:
        if len(token) > LONGEST:
            raise errors.UnauthenticatedError("the token is too long")
        mark = hashlib.sha256(token).digest()
        checked = self._recall(mark)
        if checked is not None and not checked.issuer.key_set.is_old:
            return checked.principal
        header = self._read_header(token)
        key_set = header.issuer.key_set
        if key_set.is_old:
            if not may_fetch:
                return None
            key_set.refresh()
        keys = key_set.keys
        if not header.fitting(keys) and key_set.may_change:
            if not may_fetch:
                return None
            key_set.refresh()
            keys = key_set.keys
        return self._remember(mark, _verified(token, header, keys))

    def _read_header(self, token: bytes) -> _Header:
        try:
            said = jwt.decode_complete(token, options={"verify_signature": False})
        except jwt.PyJWTError as cause:
            raise errors.UnauthenticatedError("the token is no JWT") from cause
        name, algorithm = said["payload"].get("iss"), said["header"].get("alg")
        issuer = self._issuers.get(name) if isinstance(name, str) else None
        if issuer is None:
            raise errors.UnauthenticatedError("the issuer of the token is not trusted")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise errors.UnauthenticatedError("the token is not signed as it has to be")
        return _Header(issuer, said["header"].get("kid"), algorithm)

    def _recall(self, mark: bytes) -> _Checked | None:
        with self._lock:
            found = self._checked.get(mark)
            if found is None:
                return None
            if found.holds():
                self._checked.move_to_end(mark)
                return found
            del self._checked[mark]
            return None

    def _remember(self, mark: bytes, checked: _Checked) -> Principal:
        with self._lock:
            self._checked[mark] = checked
            if len(self._checked) > REMEMBERED:
                self._checked.popitem(last=False)
        return checked.principal


def _verified(token: bytes, header: _Header, keys: Keys) -> _Checked:
    if not keys:
        raise errors.ServiceUnavailableError("the issuer's keys cannot be had at the moment")
    claims = _claims(token, header.issuer, header.fitting(keys))
    try:
        principal = header.issuer.principal(claims)
    except ValueError as cause:
        raise errors.UnauthenticatedError(f"the token is not accepted: {cause}") from cause
    return _Checked(principal, int(claims["exp"]), header.issuer, keys)


def _claims(token: bytes, issuer: TrustedIssuer, keys: Sequence[VerificationKey]) -> dict[str, Any]:
    """What a token says, if one of the keys has signed it and it is meant for us and now.

    The algorithms are those of the key, whatever the token asks for.
    """
    failure: Exception = jwt.InvalidKeyError("it is signed with a key that its issuer has not")
    for each in keys:
        try:
            return jwt.decode(
                token,
                each.key,
                algorithms=sorted(each.algorithms),
                issuer=issuer.name,
                audience=issuer.audience,
                leeway=LEEWAY,
                options={"require": REQUIRED},
            )
        except jwt.PyJWTError as cause:
            failure = cause
    raise errors.UnauthenticatedError(f"the token is not accepted: {failure}") from failure
