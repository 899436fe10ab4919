"""Settings of the connections to a metastore, from properties of a catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from lanceyard.errors import InvalidInputError
from lanceyard.settings import parse_flag, parse_seconds, parse_text

PORT = 9083
POOL_SIZE = 3
CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 60.0
_HOST = "_HOST"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a metastore listens."""

    host: str
    port: int = PORT

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, as far as a metastore believes what it is told."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Whom to trust, and what to show."""

    ca_cert: str | None = None
    """A file of certificates; None trusts those that the system does."""
    cert_file: str | None = None
    key_file: str | None = None
    assert_hostname: bool = True


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom Kerberos is to prove the metastore to be."""

    service: str
    host: str | None = None
    """None is the host that is connected to."""
    realm: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetastoreSettings:
    """Where metastores are that keep the same names, and how to speak to them."""

    uris: tuple[Address, ...] = (Address("localhost"),)
    """Tried in this order, beginning with the one that answered last."""
    pool_size: int = POOL_SIZE
    """How many connections there are at most."""
    connect_timeout: float = CONNECT_TIMEOUT
    """Seconds to wait for a connection, for each address."""
    read_timeout: float = READ_TIMEOUT
    """Seconds to wait for an answer."""
    user: User | None = None
    tls: Tls | None = None
    kerberos: Principal | None = None

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Parse those of `PROPERTIES`. Raises `InvalidInputError`."""
        values: dict[str, Any] = {}
        tls: dict[str, Any] = {}
        for name, text in properties.items():
            key, parse = PROPERTIES[name]
            (tls if name.startswith("tls") else values)[key] = parse(name, text)
        if tls:
            values["tls"] = _tls(**tls)
        return cls(**values)


def parse_uris(name: str, text: str) -> tuple[Address, ...]:
    """Read one address or several, with commas between them."""
    found = tuple(_address(name, part.strip()) for part in str(text).split(",") if part.strip())
    if not found:
        raise InvalidInputError(f"property {name!r} is empty; leave it out for localhost")
    return tuple(dict.fromkeys(found))


def parse_user(name: str, text: str) -> User:
    """Read ``user`` or ``user:group,group``."""
    user, _, groups = str(text).partition(":")
    if not user:
        raise InvalidInputError(f"property {name!r} is 'user:group,group', not {text!r}")
    return User(user, tuple(each for each in groups.split(",") if each))


def parse_size(name: str, text: str) -> int:
    """Read a number, 1 or more."""
    if not str(text).isdecimal() or int(text) < 1:
        raise InvalidInputError(f"property {name!r} is a number, 1 or more, not {text!r}")
    return int(text)


def parse_principal(name: str, text: str) -> Principal:
    """Read ``service``, ``service/host`` or ``service/host@REALM``; ``_HOST`` is any host."""
    rest, _, realm = str(text).partition("@")
    service, _, host = rest.partition("/")
    if not service:
        raise InvalidInputError(f"property {name!r} is like 'hive/{_HOST}@REALM', not {text!r}")
    return Principal(service, None if host in ("", _HOST) else host, realm or None)


PROPERTIES: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "uri": ("uris", parse_uris),
    "ugi": ("user", parse_user),
    "client.pool-size": ("pool_size", parse_size),
    "client.connect-timeout": ("connect_timeout", parse_seconds),
    "client.read-timeout": ("read_timeout", parse_seconds),
    "tls": ("enabled", parse_flag),
    "tls.ssl_ca_cert": ("ca_cert", parse_text),
    "tls.cert_file": ("cert_file", parse_text),
    "tls.key_file": ("key_file", parse_text),
    "tls.assert_hostname": ("assert_hostname", parse_flag),
    "kerberos.principal": ("kerberos", parse_principal),
}
"""By the name of the property: the field it gives, and how it is read."""


def _address(name: str, text: str) -> Address:
    try:
        parts = urlsplit(text if "://" in text else f"thrift://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme != "thrift" or not host or port == 0 or parts.path.strip("/") or parts.query:
        raise InvalidInputError(f"property {name!r} is like 'thrift://host:{PORT}', not {text!r}")
    return Address(host, port or PORT)


def _tls(*, enabled: bool = True, **files: Any) -> Tls | None:
    if not enabled and files:
        raise InvalidInputError(f"tls=false contradicts tls.{next(iter(files))}")
    return Tls(**files) if enabled else None
