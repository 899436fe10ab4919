"""Settings of the server: a TOML file, or the defaults for a catalog."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lanceyard.errors import InvalidInputError
from lanceyard.server.security.settings import SecuritySettings
from lanceyard.server.vending.settings import VendingSettings

HOST, PORT = "127.0.0.1", 2333
SUFFIX = ".toml"


class ServerSettings(BaseModel):
    """How a catalog is served. The table ``[server]`` of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = HOST
    """Where to listen."""
    port: int = Field(default=PORT, ge=0, le=65535)
    """Port 0 takes any that is free."""
    workers: int = Field(default=1, ge=1)
    """Processes that answer."""
    threads: int = Field(default=32, ge=1)
    """Operations that a process carries out at a time."""
    streams: int = Field(default=16, ge=1)
    """Arrow streams that a process writes at a time, beside those."""
    queue: int = Field(default=1_000, ge=0)
    """Operations that may wait for a thread; more are answered with 503."""
    json_limit: int = Field(default=16 * 2**20, ge=1)
    """Bytes that a JSON body may have; more are answered with 413."""
    stream_limit: int = Field(default=16 * 2**30, ge=1)
    """Bytes that an Arrow stream may have; more are answered with 413."""
    patience: float = Field(default=30.0, gt=0)
    """Seconds to wait for the next bytes of a request; then it is answered with 408."""
    time_limit: float = Field(default=300.0, gt=0)
    """Seconds that a read may take; then it is answered with 503. A write is waited for, because
    nobody could tell what became of it."""
    drain: float = Field(default=30.0, ge=0)
    """Seconds that requests in flight have to end after SIGTERM."""
    rate: float = Field(default=0.0, ge=0)
    """Requests a second that a principal may make; 0 is any. Commits are never limited."""
    burst: int = Field(default=100, ge=1)
    """Requests that it may make at once."""
    read_only: bool = False
    """Refuse whatever changes something, with code 15."""
    allow_anyone: bool = False
    """Whether to listen where others can reach it though nobody has to say who they are."""
    origins: tuple[str, ...] = ()
    """Web pages, by their origins, that may ask (CORS)."""
    certificate: Path | None = None
    """The certificate of the server (PEM), for TLS."""
    key: Path | None = None
    """The private key of that certificate."""
    client_authority: Path | None = None
    """Whose certificates clients have to show."""
    access_log: str | None = None
    """A file, or ``-`` for the standard error stream."""
    audit_log: str | None = None
    """The same, for who changed what, and who was refused."""
    audit_reads: bool = False
    """Whether the audit log has reads, too."""
    state: Path | None = None
    """A folder for what has to outlive a restart: answers by ``idempotency-key``."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate and its key come together")
        if self.client_authority is not None and self.certificate is None:
            raise ValueError("clients show certificates only where the server has one")
        return self


class Settings(BaseModel):
    """All that a file says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    catalog: dict[str, str]
    """The properties of the catalog, as `lanceyard.connect` takes them, with ``impl``."""
    server: ServerSettings = ServerSettings()
    """How it is served."""
    security: SecuritySettings = SecuritySettings()
    """Who may do what."""
    vending: VendingSettings = VendingSettings()
    """What clients are given to open tables with."""

    @classmethod
    def load(cls, place: str | None, server: Mapping[str, Any], catalog: Mapping[str, str]) -> Self:
        """Read a file, or take a catalog by its root or address; then put what was given besides.

        Without a place the properties of the catalog say it all. Raises `InvalidInputError`.
        """
        if place is not None and place.endswith(SUFFIX):
            found = _read(Path(place))
        else:
            found = {"catalog": {} if place is None else _catalog(place)}
        found["server"] = {**found.get("server", {}), **server}
        found["catalog"] = {**found.get("catalog", {}), **catalog}
        try:
            return cls.model_validate(found)
        except ValidationError as cause:
            first = cause.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidInputError(f"{place or 'settings'}: {where}: {first['msg']}") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except (OSError, ValueError) as cause:
        raise InvalidInputError(f"{file} cannot be read: {cause}") from cause


def _catalog(place: str) -> dict[str, str]:
    if place.startswith(("http://", "https://")):
        return {"impl": "rest", "uri": place}
    return {"impl": "dir", "root": place}
