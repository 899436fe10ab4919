"""Pages: what is served beside the operations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from urllib.parse import parse_qsl

from lance_namespace import LanceNamespace
from lance_namespace.errors import LanceNamespaceError

from lanceyard import errors
from lanceyard.server import openapi
from lanceyard.server.answers import NO_STORE, Reply, refuse, to_json
from lanceyard.server.bodies import RequestBody
from lanceyard.server.exchange import Exchange
from lanceyard.server.security.security import Security
from lanceyard.server.security.tokens import OAuthError
from lanceyard.server.watch import Watch
from lanceyard.server.work import Work

Page = Callable[[Exchange, RequestBody], Awaitable[Reply]]
READY_SECONDS = 5.0
FORM_LIMIT = 16 * 2**10


class Pages:
    """Health, metrics, the description of the protocol, and tokens."""

    def __init__(
        self, namespace: LanceNamespace, security: Security, watch: Watch, work: Work
    ) -> None:
        """Speak for an application."""
        self._namespace = namespace
        self._security = security
        self._watch = watch
        self._work = work
        self._pages: dict[str, tuple[str, Page]] = {
            "/healthz": ("GET", self._health),
            "/readyz": ("GET", self._readiness),
            "/metrics": ("GET", self._metrics),
            "/openapi.json": ("GET", self._description),
            "/oauth/token": ("POST", self._token),
        }

    def find(self, path: str) -> Page | None:
        """The page at a path."""
        found = self._pages.get(path)
        if found is None:
            return None
        method, page = found

        async def asked(exchange: Exchange, body: RequestBody) -> Reply:
            if exchange.method == method or (method, exchange.method) == ("GET", "HEAD"):
                return await page(exchange, body)
            error = errors.UnsupportedOperationError(f"{exchange.method} is not for this page")
            reply = refuse(error, exchange.request_id, status=405)
            reply.headers.append((b"allow", method.encode()))
            return reply

        return asked

    async def _health(self, exchange: Exchange, body: RequestBody) -> Reply:
        """The process answers."""
        return Reply(200, to_json({"status": "ok"}))

    async def _readiness(self, exchange: Exchange, body: RequestBody) -> Reply:
        """The catalog answers, too."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._work.aside(self._look)
        except TimeoutError:
            problem = errors.ServiceUnavailableError("the catalog does not answer")
            return refuse(problem, exchange.request_id)
        except LanceNamespaceError as cause:
            problem = errors.ServiceUnavailableError(f"the catalog fails with code {cause.code:d}")
            return refuse(problem, exchange.request_id)
        return Reply(200, to_json({"status": "ready"}))

    def _look(self) -> None:
        self._namespace.list_namespaces({"id": [], "limit": 1})  # type: ignore[arg-type]

    async def _metrics(self, exchange: Exchange, body: RequestBody) -> Reply:
        content, media = self._watch.metrics.render()
        return Reply(200, content, media)

    async def _description(self, exchange: Exchange, body: RequestBody) -> Reply:
        return Reply(200, self._described)

    @cached_property
    def _described(self) -> bytes:
        return to_json(openapi.describe(secured=self._security.is_on))

    async def _token(self, exchange: Exchange, body: RequestBody) -> Reply:
        """A token for a client that shows its secret (RFC 6749)."""
        body.limit = FORM_LIMIT
        fields = parse_qsl((await body.whole()).decode("latin-1"), keep_blank_values=True)
        form = dict(fields)
        try:
            if len(form) < len(fields):
                raise OAuthError("invalid_request", "a field is given twice")
            issued = self._security.issue_token(form, exchange.headers)
        except OAuthError as refusal:
            exchange.code = int(errors.ErrorCode.UNAUTHENTICATED)
            said = {"error": refusal.error, "error_description": str(refusal)}
            told = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
            return Reply(refusal.status, to_json(said), headers=[NO_STORE, *told])
        return Reply(200, to_json(issued), headers=[NO_STORE])
