"""Settings of credential vending: the table ``[vending]`` of the server's file."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

SHORTEST, LONGEST = 900, 43_200
"""Seconds that AWS lets the credentials of a role live."""


class Kind(Enum):
    """What clients are given to open tables with."""

    STATIC = "static"
    """The storage options of the catalog, with all keys in them."""
    NONE = "none"
    """Those of them that are no secrets."""
    STS = "sts"
    """Credentials for the table alone, of a role that the server assumes (AWS STS)."""
    HOOK = "hook"
    """What a function of your own gives."""


FIELDS = {
    Kind.STATIC: {"share_keys"},
    Kind.NONE: set[str](),
    Kind.STS: {
        "access_key_id",
        "duration",
        "endpoint",
        "region",
        "role_arn",
        "secret_access_key",
        "session_name",
        "timeout",
    },
    Kind.HOOK: {"hook", "timeout"},
}
"""What can be said of each kind."""


def _read_endpoint(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an endpoint is an http or https address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an endpoint has no user, password, query or fragment")
    return address


class VendingSettings(BaseModel):
    """Whether and how credentials are given out."""

    # Whoever puts a secret into the wrong field should not find it in a log.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    kind: Kind | None = None
    """Where nothing is said: ``none`` if there are roles, or else ``static``."""
    share_keys: bool = False
    """Whether readers may have the keys of the catalog, which can write."""
    role_arn: Annotated[str, Field(pattern=r"^arn:[a-z0-9-]+:iam::\S+$", min_length=20)] | None = (
        None
    )
    """The role to assume. It may do whatever clients may do, on all tables."""
    region: str | None = None
    """The region of STS."""
    endpoint: Annotated[str, AfterValidator(_read_endpoint)] | None = None
    """Where STS is, if it is not that of AWS in the region."""
    session_name: Annotated[str, Field(pattern=r"^[\w+=,.@-]{2,64}$")] = "lanceyard"
    """What the logs of the object store will call whoever uses the credentials."""
    duration: Annotated[int, Field(ge=SHORTEST, le=LONGEST)] = 3600
    """Seconds that credentials live."""
    access_key_id: str | None = None
    """Of the server; without one botocore looks for what it usually finds."""
    secret_access_key: SecretStr | None = None
    """Of the server, too."""
    hook: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")] | None = None
    """``package.module:function``."""
    timeout: Annotated[float, Field(gt=0, le=60)] = 10.0
    """Seconds to wait for credentials."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what has no meaning together."""
        mine = FIELDS[self.kind] if self.kind else set()
        for name in sorted(self.model_fields_set - mine - {"kind"}):
            kinds = " or ".join(kind.value for kind, names in FIELDS.items() if name in names)
            raise ValueError(f"{name} belongs to the kind {kinds}")
        if self.kind is Kind.STS and self.role_arn is None:
            raise ValueError("the kind sts needs role_arn")
        if self.kind is Kind.HOOK and self.hook is None:
            raise ValueError("the kind hook needs hook, as package.module:function")
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("access_key_id and secret_access_key come together")
        return self
