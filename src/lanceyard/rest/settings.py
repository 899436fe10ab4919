"""Settings of the client, from the properties that all clients of the protocol take."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from lanceyard.errors import InvalidInputError
from lanceyard.identifier import DELIMITER
from lanceyard.rest.headers import API_KEY, AUTHORIZATION, Secret, check_header
from lanceyard.settings import parse_flag, parse_seconds, parse_text

PREFIXES = ("headers.", "header.")
TLS = {
    "tls.cert_file": "cert_file",
    "tls.key_file": "key_file",
    "tls.ssl_ca_cert": "ca_certs",
}
OAUTH2 = "oauth2."
TIMEOUT = 30.0
RETRIES = 3

# Properties of pylance's client which have no meaning here: a configuration written for it still
# opens. Certificates are read anew for every connection; the client for asyncio reads them once.
REFERENCE_PROPERTIES = frozenset({"ops_metrics_enabled", "tls.reload_interval_seconds"})
REFERENCE_PREFIXES = ("dynamic_context_provider.",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """How to get tokens: the client credentials grant of OAuth 2."""

    client_id: str
    """Who asks for a token. Tokens are renewed before they end."""
    client_secret: Secret
    """What the client proves that by."""
    token_uri: str
    """Where tokens are given; ``<uri>/oauth/token`` unless said."""
    scope: str | None = None
    """What the tokens are to be for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """Where a server is, and how to speak to it."""

    uri: str
    """The address of the server, with the path that its routes begin with, if they do."""
    delimiter: str = DELIMITER
    """What joins the names of an identifier; not ``.``, which paths have a meaning for."""
    headers: Mapping[str, Secret] = field(default_factory=dict)
    """Sent with every request, the names in lower case."""
    tls: Mapping[str, Any] = field(default_factory=dict)
    """Files for https, and whether the name of the server is checked (``true``)."""
    timeout: float = TIMEOUT
    """Seconds to wait for a connection."""
    read_timeout: float | None = None
    """Seconds to wait for the next bytes of an answer; None waits for ever."""
    deadline: float | None = None
    """Seconds that a call may take, with all that is tried again; None is any time."""
    retries: int = RETRIES
    """How often a call is tried again, where that is safe."""
    cache: int = 0
    """How many answers are remembered, and asked for again only if they changed."""
    api_key: Secret | None = None
    """Sent as ``x-api-key``."""
    token: Secret | None = None
    """A bearer token."""
    token_file: str | None = None
    """Where a bearer token is read, again when the file changes."""
    oauth2: ClientCredentials | None = None
    """How to get tokens."""

    def __post_init__(self) -> None:
        """Refuse to say twice who asks."""
        said = {
            "token": self.token,
            "token_file": self.token_file,
            "oauth2.*": self.oauth2,
            f"headers.{AUTHORIZATION}": self.headers.get(AUTHORIZATION),
        }
        _at_most_one(said)
        _at_most_one({"api_key": self.api_key, f"headers.{API_KEY}": self.headers.get(API_KEY)})

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Parse properties. Raises `InvalidInputError`."""
        values: dict[str, Any] = {}
        headers: dict[str, Secret] = {}
        tls: dict[str, Any] = {}
        oauth2: dict[str, Any] = {}
        for name, text in properties.items():
            prefix = next((each for each in PREFIXES if name.startswith(each)), None)
            if prefix is not None:
                _put_header(headers, name, name.removeprefix(prefix), text)
            elif name == "tls.assert_hostname":
                tls["assert_hostname"] = None if parse_flag(name, text) else False
            elif name in TLS:
                tls[TLS[name]] = parse_text(name, text)
            elif name.startswith(OAUTH2) and name in PARSERS:
                oauth2[name.removeprefix(OAUTH2)] = PARSERS[name](name, text)
            elif name in PARSERS:
                values[name] = PARSERS[name](name, text)
            elif name in REFERENCE_PROPERTIES or name.startswith(REFERENCE_PREFIXES):
                warnings.warn(f"property {name!r} has no effect in Lanceyard", stacklevel=3)
            else:
                valid = ", ".join(sorted([*PARSERS, "headers.*", "tls.*"]))
                raise InvalidInputError(f"unknown property {name!r}: valid are {valid}")
        if "uri" not in values:
            raise InvalidInputError("property 'uri' says where the server is, and is missing")
        grant = _grant(values["uri"], oauth2) if oauth2 else None
        return cls(**values, headers=headers, tls=tls, oauth2=grant)


def parse_address(name: str, text: str) -> str:
    """Read an http or https address without a password in it, which others would see."""
    if "@" in str(text):
        raise InvalidInputError(f"property {name!r} names a user: use api_key, token or oauth2")
    try:
        parts = urlsplit(str(text))
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.fragment:
        raise InvalidInputError(f"property {name!r} is an http or https address, not {text!r}")
    return str(text).rstrip("/")


def parse_uri(name: str, text: str) -> str:
    """Read the address of a server, to which routes are appended."""
    address = parse_address(name, text)
    if urlsplit(address).query:
        raise InvalidInputError(f"property {name!r} is an address without a query, not {text!r}")
    return address


def parse_delimiter(name: str, text: str) -> str:
    """Read what joins names in paths."""
    if not text or set(text) <= {"."} or "/" in text:
        raise InvalidInputError(
            f"property {name!r}: a path cannot carry {text!r} between names, '$' is usual"
        )
    return text


def parse_count(name: str, text: str) -> int:
    """Read a number, 0 or more."""
    if not str(text).isdecimal():
        raise InvalidInputError(f"property {name!r} is a number, not {text!r}")
    return int(text)


def parse_limit(name: str, text: str) -> float:
    """Read a number of seconds, which may be a fraction of one."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise InvalidInputError(f"property {name!r} is a number of seconds, not {text!r}")
    return seconds


def parse_secret(name: str, text: str) -> Secret:
    """Read what is not shown."""
    return Secret(parse_text(name, text))


def parse_credential(name: str, text: str) -> Secret:
    """Read what is shown to the server alone, in a header."""
    secret = parse_secret(name, text)
    check_header(f"property {name!r}", name, secret)
    return secret


PARSERS: dict[str, Callable[[str, str], object]] = {
    "uri": parse_uri,
    "delimiter": parse_delimiter,
    "timeout": parse_seconds,
    "read_timeout": parse_limit,
    "deadline": parse_limit,
    "retries": parse_count,
    "cache": parse_count,
    "api_key": parse_credential,
    "token": parse_credential,
    "token_file": parse_text,
    "oauth2.client_id": parse_text,
    "oauth2.client_secret": parse_secret,
    "oauth2.token_uri": parse_address,
    "oauth2.scope": parse_text,
}


def _put_header(headers: dict[str, Secret], prop: str, name: str, text: str) -> None:
    check_header(f"property {prop!r}", name, str(text))
    headers[name.lower()] = Secret(text)


def _grant(uri: str, given: Mapping[str, Any]) -> ClientCredentials:
    for name in ("client_id", "client_secret"):
        if name not in given:
            raise InvalidInputError(f"property '{OAUTH2}{name}' is missing: tokens need it")
    return ClientCredentials(**{"token_uri": f"{uri}/oauth/token", **given})


def _at_most_one(said: Mapping[str, object]) -> None:
    names = [name for name, value in said.items() if value is not None]
    if len(names) > 1:
        raise InvalidInputError(f"properties {' and '.join(names)} say the same: give one of them")
