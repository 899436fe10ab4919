"""Settings of the client, from the properties that all clients of the protocol take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from lanceyard.errors import InvalidInputError
from lanceyard.identifier import DELIMITER
from lanceyard.settings import parse_flag, parse_seconds, parse_text

PREFIXES = ("headers.", "header.")
TLS = {
    "tls.cert_file": "cert_file",
    "tls.key_file": "key_file",
    "tls.ssl_ca_cert": "ca_certs",
}
TIMEOUT = 30.0
RETRIES = 3


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Where a server is, and how to speak to it."""

    uri: str
    """The address of the server, with the path that its routes begin with, if they do."""
    delimiter: str = DELIMITER
    """What joins the names of an identifier; not ``.``, which paths have a meaning for."""
    headers: Mapping[str, str] = field(default_factory=dict)
    tls: Mapping[str, Any] = field(default_factory=dict)
    """What the pool of connections takes."""
    timeout: float = TIMEOUT
    """Seconds to wait for a connection."""
    retries: int = RETRIES

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Parse properties. Raises `InvalidInputError`."""
        values: dict[str, Any] = {}
        headers: dict[str, str] = {}
        tls: dict[str, Any] = {}
        for name, text in properties.items():
            prefix = next((each for each in PREFIXES if name.startswith(each)), None)
            if prefix is not None:
                headers[name.removeprefix(prefix)] = text
            elif name == "tls.assert_hostname":
                tls["assert_hostname"] = None if parse_flag(name, text) else False
            elif name in TLS:
                tls[TLS[name]] = parse_text(name, text)
            elif name == "uri":
                values["uri"] = _uri(text)
            elif name == "delimiter":
                values["delimiter"] = _delimiter(text)
            elif name == "timeout":
                values["timeout"] = parse_seconds(name, text)
            elif name == "retries":
                values["retries"] = _count(name, text)
            else:
                valid = "uri, delimiter, headers.*, tls.*, timeout, retries"
                raise InvalidInputError(f"unknown property {name!r}: valid are {valid}")
        if "uri" not in values:
            raise InvalidInputError("property 'uri' says where the server is, and is missing")
        return cls(**values, headers=headers, tls=tls)


def _uri(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InvalidInputError(f"property 'uri' is an http or https address, not {text!r}")
    return text.rstrip("/")


def _delimiter(text: str) -> str:
    if not text or set(text) <= {"."} or "/" in text:
        raise InvalidInputError(f"a path cannot carry the delimiter {text!r}: '$' is usual")
    return text


def _count(name: str, text: str) -> int:
    if not str(text).isdecimal():
        raise InvalidInputError(f"property {name!r} is a number, not {text!r}")
    return int(text)
