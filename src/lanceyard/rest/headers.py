"""Headers: what may be sent as one, and what requests say by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lanceyard.errors import InvalidInputError

AUTHORIZATION = "authorization"
API_KEY = "x-api-key"
CONTEXT = "header."
"""How entries of a request's context begin that are headers."""
FRAMING = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""What says where a message ends, and whose connection it is: nobody's to choose."""
OURS = FRAMING | {"content-type", "host"}
"""What a request cannot say either."""
NEUTRAL = ("content-type", "idempotency-key")
"""What may be told to anybody."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_SECRET = re.compile("auth|cookie|credential|key|password|secret|token", re.IGNORECASE)
_SHORTEST_SECRET = 8


class Secret(str):
    """A text that is not shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def check_header(where: str, name: str, value: Any, forbidden: frozenset[str] = FRAMING) -> None:
    """Refuse what cannot be a header, or must not be one. The value is not told."""
    if not _NAME.fullmatch(name) or name.lower() in forbidden:
        raise InvalidInputError(f"{where}: {name!r} cannot be sent as a header")
    if not isinstance(value, str) or not _VALUE.fullmatch(value):
        raise InvalidInputError(f"{where}: the value of {name!r} cannot be sent in a header")


def take_headers(fields: dict[str, Any]) -> dict[str, str]:
    """Take out of a request what travels in headers: its identity, and part of its context.

    Where both say the same, the context decides: a header is stronger than an identity.
    """
    return {**_from_identity(fields), **_from_context(fields)}


def for_strangers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that may go to a host which nobody configured."""
    return {name: headers[name] for name in NEUTRAL if name in headers}


def conceal(text: str, headers: Mapping[str, str]) -> str:
    """A text for people, in which no secret of these headers is left."""
    secrets = [
        secret
        for name, value in headers.items()
        if _SECRET.search(name)
        for secret in (value, value.partition(" ")[2])  # the second after a scheme, like Bearer
        if len(secret) >= _SHORTEST_SECRET
    ]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _from_identity(fields: dict[str, Any]) -> dict[str, str]:
    identity = _map("identity", fields.pop("identity", None))
    headers = {}
    if identity.get("auth_token") is not None:
        headers[AUTHORIZATION] = f"Bearer {identity['auth_token']}"
    if identity.get("api_key") is not None:
        headers[API_KEY] = identity["api_key"]
    for name, value in headers.items():
        check_header("identity", name, value)
    return headers


def _from_context(fields: dict[str, Any]) -> dict[str, str]:
    context = _map("context", fields.pop("context", None))
    headers = {}
    for entry in [entry for entry in context if str(entry).startswith(CONTEXT)]:
        name, value = entry.removeprefix(CONTEXT), context.pop(entry)
        check_header("context", name, value, OURS)
        headers[name.lower()] = value
    if context:
        fields["context"] = context
    return headers


def _map(name: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} is a map, not {type(value).__name__}")
    return dict(value)
