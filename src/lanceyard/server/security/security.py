"""Security: who asks, and whether they may."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from lance_namespace import LanceNamespace

from lanceyard import errors
from lanceyard.rest.protocol import Operation
from lanceyard.server.security import lists, needs, objects
from lanceyard.server.security.clients import Clients
from lanceyard.server.security.grants import Grants
from lanceyard.server.security.issuers import TrustedIssuer
from lanceyard.server.security.keys import digest
from lanceyard.server.security.principals import ANYONE, Principal
from lanceyard.server.security.roles import Role
from lanceyard.server.security.settings import SecuritySettings
from lanceyard.server.security.tokens import UNKNOWN, OAuthError, Tokens

KEY, AUTHORIZATION, BEARER = b"x-api-key", b"authorization", b"bearer "
IDENTITY = "identity"
REMOVING = frozenset(
    {"BatchCommitTables", "CreateNamespace", "DeregisterTable", "DropNamespace", "DropTable"}
)
"""Operations that are refused where views are made of what they would remove."""


class _Shown(NamedTuple):
    """What somebody shows to say who they are."""

    secret: bytes
    is_token: bool


class Security:
    """The security of a server, for one process of it.

    It is off where the settings know nobody; then everybody is `ANYONE` and may do everything.
    Where they have no grants, every principal may do everything.
    """

    def __init__(
        self, settings: SecuritySettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Know who the settings know. Processes that share tokens share `with_token_key`."""
        settings = settings.with_token_key()
        self._is_on = settings.is_on
        self._keys = {
            key.sha256: Principal(key.name, frozenset(key.groups)) for key in settings.keys
        }
        self._clients = Clients(settings) if settings.clients else None
        issuers = [TrustedIssuer.of(each, clock) for each in settings.issuers]
        own = [self._clients.issuer] if self._clients else []
        self._tokens = Tokens([*own, *issuers])
        self._grants = Grants(settings.grants)

    @property
    def is_on(self) -> bool:
        """Whether those who ask have to say who they are."""
        return self._is_on

    @property
    def has_roles(self) -> bool:
        """Whether what principals may do depends on grants."""
        return bool(self._grants)

    def is_told_by(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether the headers decide who asks, so that nothing else of a request has to be read."""
        return not self._is_on or _shown_by(headers) is not None

    def known(
        self, headers: Mapping[bytes, bytes], identity: Mapping[str, Any] | None
    ) -> Principal | None:
        """Who asks; None if only `authenticate` can tell. Never blocks.

        A bearer token decides, or else an API key; and headers decide before the `identity` of the
        request. What decides must be good: nothing else is looked at then. Raises
        `UnauthenticatedError`, and `ServiceUnavailableError` if an issuer's keys are not to be had.
        """
        if not self._is_on:
            return ANYONE
        shown = _shown(headers, identity)
        return self._tokens.known(shown.secret) if shown.is_token else self._holder(shown.secret)

    def authenticate(
        self, headers: Mapping[bytes, bytes], identity: Mapping[str, Any] | None
    ) -> Principal:
        """Who asks. May wait for an issuer; apart from that it does what `known` does."""
        if not self._is_on:
            return ANYONE
        shown = _shown(headers, identity)
        return self._tokens.verify(shown.secret) if shown.is_token else self._holder(shown.secret)

    def authorize(
        self, principal: Principal, operation: Operation, said: Mapping[str, Any]
    ) -> None:
        """Raise `PermissionDeniedError` unless a principal may do what a request says.

        Only grants are looked at, so nobody learns what exists from the refusal.
        """
        if self._grants:
            needs.require(self._grants.rights_of(principal), operation, said)

    def may_write(self, principal: Principal, said: Mapping[str, Any]) -> bool:
        """Whether a principal may change the table that a request names."""
        if not self._grants:
            return True
        try:
            (identifier,) = objects.named(said)
        except errors.InvalidInputError:
            return False
        return self._grants.rights_of(principal).has(Role.WRITER, identifier)

    def carry_out(
        self,
        principal: Principal,
        namespace: LanceNamespace,
        operation: Operation,
        said: Mapping[str, Any],
        *body: Any,
    ) -> Any:
        """Carry out an operation that was authorized; lists have what the principal may see."""
        method = getattr(namespace, operation.function)
        if not self._is_on:
            return method(dict(said), *body)
        # Who asks is settled here. The namespace may be another server, which it does not concern.
        said = {name: value for name, value in said.items() if name != IDENTITY}
        if not self._grants:
            return method(said, *body)
        rights = self._grants.rights_of(principal)
        if lists.is_restricted(rights, operation, said):
            return lists.list_visible(rights, operation, said, method)
        if operation.name in REMOVING and not rights.has(Role.READER, objects.ROOT):
            return _without_names(partial(method, said, *body))
        return method(said, *body)

    def issue_token(
        self, form: Mapping[str, str], headers: Mapping[bytes, bytes]
    ) -> dict[str, Any]:
        """The answer of ``/oauth/token``. Raises `OAuthError`."""
        if self._clients is None:
            raise OAuthError("invalid_client", "no clients are known here", UNKNOWN)
        return self._clients.issue(form, headers)

    def _holder(self, key: bytes) -> Principal:
        found = self._keys.get(digest(key))
        if found is None:
            raise errors.UnauthenticatedError("the API key is not known")
        return found


def _shown_by(headers: Mapping[bytes, bytes]) -> _Shown | None:
    header = headers.get(AUTHORIZATION)
    if header is not None and header[: len(BEARER)].lower() == BEARER:
        return _Shown(header[len(BEARER) :].strip(), True)
    key = headers.get(KEY)
    return _Shown(key, False) if key else None


def _shown(headers: Mapping[bytes, bytes], identity: Mapping[str, Any] | None) -> _Shown:
    found = _shown_by(headers)
    if found is not None:
        return found
    if isinstance(identity, Mapping):
        for name, is_token in (("auth_token", True), ("api_key", False)):
            said = identity.get(name)
            if isinstance(said, str) and said:
                return _Shown(said.encode("utf-8", "surrogatepass"), is_token)
    raise errors.UnauthenticatedError("say who you are, by an API key or a bearer token")


def _without_names(remove: Callable[[], Any]) -> Any:
    """Remove something; a refusal does not name the views that its reader might not see."""
    try:
        return remove()
    except errors.InvalidTableStateError as cause:
        raise errors.InvalidTableStateError(
            "this cannot be removed: it is protected, or views are made of it"
        ) from cause
