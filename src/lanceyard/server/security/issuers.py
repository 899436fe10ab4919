"""Issuers: those whose tokens are accepted, and whom their tokens are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lanceyard.server.security.key_sets import FetchedKeySet, KeySet
from lanceyard.server.security.principals import Principal, read_name
from lanceyard.server.security.settings import Issuer

NAME = "lanceyard"
"""Issuer and audience of our own tokens. No other issuer has this name: it is no address."""


@dataclass(frozen=True)
class TrustedIssuer:
    """One whose tokens are accepted."""

    name: str
    audience: str
    key_set: KeySet
    principal: Callable[[Mapping[str, Any]], Principal]
    """Who the claims of a token are about. Raises `ValueError`."""

    @classmethod
    def of(cls, issuer: Issuer, clock: Callable[[], float]) -> TrustedIssuer:
        """An OpenID provider as the settings have it."""
        return cls(
            issuer.issuer,
            issuer.audience,
            FetchedKeySet(issuer, clock),
            lambda claims: _principal(issuer, claims),
        )


def _principal(issuer: Issuer, claims: Mapping[str, Any]) -> Principal:
    name = claims.get(issuer.name_claim)
    if not isinstance(name, str) or not name:
        raise ValueError(f"it has no claim {issuer.name_claim!r}")
    if issuer.name_claim == "email" and claims.get("email_verified") is False:
        raise ValueError("its email address is not verified")
    groups = claims.get(issuer.groups_claim, [])
    said = groups if isinstance(groups, list) else [groups]
    found = frozenset(issuer.prefix + group for group in said if isinstance(group, str) and group)
    return Principal(read_name(issuer.prefix + name), found)
