"""Settings of security: the table ``[security]`` of a configuration."""

from __future__ import annotations

import ipaddress
import re
from itertools import permutations
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FilePath,
    PrivateAttr,
    model_validator,
)

from lanceyard import errors
from lanceyard.identifier import DELIMITER, Identifier
from lanceyard.server.security.principals import EVERYONE, GROUP, read_name
from lanceyard.server.security.roles import Role, read_role

DIGEST = re.compile("[0-9a-f]{64}")
LIFETIME = 3600
LONGEST_LIFETIME = 30 * 24 * 3600


def is_trustworthy(address: str) -> bool:
    """Whether what is read from an address can be believed: https, or this machine itself."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))
    )


def is_this_machine(host: str | None) -> bool:
    """Whether an address is one that only this machine itself can reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _read_digest(text: str) -> str:
    if not DIGEST.fullmatch(text):
        raise ValueError("a digest is the SHA-256 of a key, as 64 small hexadecimal digits")
    return text


def _read_issuer(address: str) -> str:
    if not is_trustworthy(address) or "?" in address or "#" in address:
        raise ValueError("an issuer is an https address, or an http address of this machine")
    return address


def _read_prefix(text: str) -> str:
    return read_name(text) if text else text


def _read_receiver(to: str) -> str:
    if to != EVERYONE:
        read_name(to.removeprefix(GROUP))
    return to


def _read_object(said: Any) -> Identifier:
    try:
        if isinstance(said, str):
            return Identifier.parse(said.split(DELIMITER) if said else ())
        return Identifier.parse(said)
    except errors.InvalidInputError as cause:
        raise ValueError(str(cause)) from cause


Name = Annotated[str, AfterValidator(read_name)]
Digest = Annotated[str, AfterValidator(_read_digest)]


class _Settings(BaseModel):
    # Whoever pastes a key where its digest belongs should not find it in a log.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Machine(_Settings):
    sha256: Digest = Field(repr=False)
    """The digest of the key or secret."""
    groups: tuple[Name, ...] = ()
    """The groups that the principal is in."""


class ApiKey(_Machine):
    """A key that is sent as ``x-api-key``; `keys.new_key` makes one and its digest."""

    name: Name
    """The name of the principal who has it."""


class OAuthClient(_Machine):
    """A client of ``/oauth/token``; `keys.new_key` makes a secret and its digest."""

    id: Name
    """Also the name of the principal."""


class Issuer(_Settings):
    """An OpenID provider whose tokens are accepted."""

    issuer: Annotated[str, AfterValidator(_read_issuer)]
    """Its address, exactly as its tokens and its configuration write it."""
    audience: Annotated[str, Field(min_length=1)]
    """What its tokens must be for."""
    prefix: Annotated[str, AfterValidator(_read_prefix)] = ""
    """What the names of its principals and groups begin with here."""
    name_claim: str = "sub"
    """What names the principal. It should be one that users cannot choose."""
    groups_claim: str = "groups"
    """What names the groups of the principal."""
    ca_file: FilePath | None = None
    """Certificates to check its own by, instead of those of the system."""


class Grant(_Settings):
    """A role that somebody has on an object and on all that is in it."""

    to: Annotated[str, AfterValidator(_read_receiver)]
    """The name of a principal, ``group:`` and a group, or ``*`` for every principal."""
    role: Annotated[Role, BeforeValidator(read_role)]
    """``reader``, ``writer`` or ``owner``."""
    on: Annotated[tuple[str, ...], AfterValidator(Identifier), BeforeValidator(_read_object)] = ()
    """A namespace or a table, as a list or joined by ``$``; the root if it is empty."""


class SecuritySettings(_Settings):
    """Who is known, and what they may do. Security is off where nobody is known.

    Without grants, whoever is known may do everything.

    **Names.** A grant is to a name, so a name must mean one principal. Those of keys and clients
    are unique. Those of an issuer are what it says after its `prefix`, which keeps them apart: it
    needs one as soon as there is a key, a client or another issuer; no prefix begins with another,
    and no name of a key or a client begins with one. The same holds for groups.
    """

    keys: tuple[ApiKey, ...] = ()
    """API keys that are accepted."""
    issuers: tuple[Issuer, ...] = ()
    """OpenID providers whose tokens are accepted."""
    clients: tuple[OAuthClient, ...] = ()
    """Clients that get their tokens here."""
    token_key: FilePath | None = None
    """An Ed25519 key (PEM) that signs the tokens of clients; without one, each start makes one."""
    token_lifetime: Annotated[int, Field(ge=1, le=LONGEST_LIFETIME)] = LIFETIME
    """For how many seconds a token of a client is good."""
    grants: tuple[Grant, ...] = ()
    """Who has which role on what; without any, whoever is known may do everything."""
    _signing_key: bytes | None = PrivateAttr(None)

    @property
    def is_on(self) -> bool:
        """Whether those who ask have to say who they are."""
        return bool(self.keys or self.issuers or self.clients)

    @property
    def signing_key(self) -> bytes | None:
        """The key that signs the tokens of clients, once `with_token_key` has put it there."""
        return self._signing_key

    def with_token_key(self) -> Self:
        """These settings with the key that signs tokens, which all processes must share.

        So this is called once, before the settings are handed to them. Raises `InvalidInputError`.
        """
        if not self.clients or self._signing_key is not None:
            return self
        found = self.model_copy()
        found._signing_key = self._read_token_key()  # noqa: SLF001 - its own
        return found

    def _read_token_key(self) -> bytes:
        if self.token_key is None:
            key = Ed25519PrivateKey.generate()
            return key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
        try:
            content = self.token_key.read_bytes()
            if isinstance(pem.load_pem_private_key(content, None), Ed25519PrivateKey):
                return content
        except (OSError, ValueError, TypeError):
            pass  # what it says could quote the file
        raise errors.InvalidInputError(f"{self.token_key} holds no Ed25519 key in PEM form")

    @model_validator(mode="after")
    def _tell_apart(self) -> Self:
        """Refuse settings in which a name could mean two principals, or grants protect nothing."""
        names = [key.name for key in self.keys] + [client.id for client in self.clients]
        _refuse_doubles("name", names)
        _refuse_doubles("sha256", [each.sha256 for each in self._machines()])
        _refuse_doubles("issuer", [each.issuer for each in self.issuers])
        if self.issuers and len(self.issuers) + len(names) > 1:
            groups = [group for each in self._machines() for group in each.groups]
            self._refuse_unclear_prefixes([*names, *groups])
        if self.grants and not self.is_on:
            raise ValueError("grants need keys, issuers or clients: there is nobody to grant to")
        return self

    def _machines(self) -> tuple[_Machine, ...]:
        return (*self.keys, *self.clients)

    def _refuse_unclear_prefixes(self, names: list[str]) -> None:
        prefixes = [issuer.prefix for issuer in self.issuers]
        if not all(prefixes):
            raise ValueError("an issuer needs a prefix where others name principals too")
        if any(one.startswith(other) for one, other in permutations(prefixes, 2)):
            raise ValueError("the prefix of an issuer begins with that of another")
        for name in names:
            if name.startswith(tuple(prefixes)):
                raise ValueError(f"the name {name!r} begins with the prefix of an issuer")


def _refuse_doubles(what: str, values: list[str]) -> None:
    if len({*values}) < len(values):
        raise ValueError(f"two of them have the same {what}")
