"""The application: a namespace behind HTTP, as ASGI has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any
from urllib.parse import parse_qsl

from lance_namespace import LanceNamespace
from lance_namespace.errors import LanceNamespaceError
from starlette.types import Receive, Scope, Send

from lanceyard import errors
from lanceyard.rest.protocol import EXTENSIONS, KEYED, OPERATIONS, Body, Operation
from lanceyard.server import remembered
from lanceyard.server.answers import NO_STORE, Reply, refuse, respond, unless_known
from lanceyard.server.bodies import RequestBody, TooLargeError
from lanceyard.server.dialects import Dialect, find_dialect
from lanceyard.server.exchange import REQUEST_ID, Exchange
from lanceyard.server.fields import gather
from lanceyard.server.legacy import legacy_routes
from lanceyard.server.limits import RateLimits
from lanceyard.server.lookups import Answered, Lookups, Question
from lanceyard.server.pages import Pages
from lanceyard.server.routes import Match, Routes
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.security import Security
from lanceyard.server.settings import Settings
from lanceyard.server.vending.vending import Vending
from lanceyard.server.watch import Watch
from lanceyard.server.work import Work

LOG = logging.getLogger("lanceyard.server")
IDENTITY = "identity"
STRANGER_LIMIT = 64 * 2**10
"""Bytes that are read of whoever says only there who they are."""
LONG_PATH = 2_000
PATHS = 4_096
"""Paths whose routes are remembered."""
REPLAYS = (b"idempotency-key-supported", b"true")


class Application:
    """The operations of a namespace over HTTP."""

    def __init__(self, namespace: LanceNamespace, settings: Settings | None = None) -> None:
        """Serve a namespace."""
        found = settings or Settings(catalog={})
        self._namespace = namespace
        self._settings = found.server
        routes = Routes((*OPERATIONS, *EXTENSIONS))
        for legacy in legacy_routes():
            routes.add(*legacy)
        self._find = lru_cache(PATHS)(routes.find)
        self._security = Security(found.security)
        self._lookups = Lookups(namespace, lists=not self._security.has_roles)
        self._vending = Vending(found.vending, has_roles=self._security.has_roles)
        workers = found.server.workers
        self._rates = RateLimits(found.server.rate / workers, found.server.burst // workers)
        self._work = Work(
            threads=found.server.threads,
            streams=found.server.streams,
            queue=found.server.queue,
            time_limit=found.server.time_limit,
        )
        self._watch = Watch(found.server)
        self._remembered = remembered.RememberedAnswers(found.server.state)
        self._pages = Pages(namespace, self._security, self._watch, self._work)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI calls it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            exchange = Exchange.begin(scope)
            with self._watch.over(exchange):
                reply = await self._answer(exchange, scope, receive)
                exchange.status, exchange.sent = reply.status, len(reply.content)
                await reply.send(send, REPLAYS, (REQUEST_ID, exchange.request_id.encode()))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        sharing = asyncio.create_task(self._watch.share())
        await receive()
        sharing.cancel()
        await asyncio.to_thread(self.close)  # streams still want the loop to tell them the end
        await send({"type": "lifespan.shutdown.complete"})

    def close(self) -> None:
        """Wait for the operations that were begun."""
        self._work.close()

    async def _answer(self, exchange: Exchange, scope: Scope, receive: Receive) -> Reply:
        dialect = None
        try:
            self._check_origin(exchange.headers)
            page = self._pages.find(exchange.path)
            if page is not None:
                return await page(exchange, self._body(exchange, receive, Body.JSON))
            path = scope["raw_path"]
            find = self._find if len(path) <= LONG_PATH else self._find.__wrapped__
            found = find(exchange.method, path)
            if not isinstance(found, Match):
                return _nothing_here(exchange, found)
            dialect = found.dialect() if found.dialect else find_dialect(exchange.headers)
            return await self._operate(exchange, found, dialect, scope, receive)
        except LanceNamespaceError as refusal:
            return _refuse(exchange, dialect, _told(exchange, refusal))
        except asyncio.CancelledError:
            return _refuse(exchange, dialect, _given_up(exchange.operation))
        except Exception:  # the edge of the process: nothing of it may reach the client
            LOG.exception("request %s failed", exchange.request_id)
            failure = errors.InternalError("the server failed; its log tells more")
            return _refuse(exchange, dialect, failure)

    def _check_origin(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse web pages that are not listed: a browser would let any of them ask."""
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self._settings.origins:
            raise errors.PermissionDeniedError("pages of this origin may not ask")

    async def _operate(
        self, exchange: Exchange, found: Match, dialect: Dialect, scope: Scope, receive: Receive
    ) -> Reply:
        operation = exchange.operation = found.operation
        is_told = self._security.is_told_by(exchange.headers)
        principal = await self._authenticate(exchange, None) if is_told else None
        body = self._body(exchange, receive, operation.body)
        content = b"" if operation.body is Body.STREAM else await body.whole()
        exchange.received = body.size
        question = Question(
            principal, type(dialect), scope["raw_path"], scope["query_string"], content
        )
        known = self._lookups.find(question) if is_told else None
        if known is not None:
            self._rates.take(exchange.principal, operation)
            exchange.said = known.said
            return unless_known(known.reply, exchange.headers)
        said = dialect.request(operation, gather(operation, found.fields, _query(scope), content))
        exchange.said = said
        identity = said.pop(IDENTITY, None)
        principal = principal or await self._authenticate(exchange, identity)
        self._admit(principal, operation, said)
        answer = partial(self._carry_out, principal, operation, dialect, said)
        waits = self._vending.may_wait(operation, said)
        state = None if waits else self._lookups.state(operation, said)
        if state is None:
            reply = await self._carry_out_aside(exchange, principal, answer, body)
        else:
            reply = answer()
            if is_told:
                self._lookups.keep(question, Answered(said, state, reply))
        return unless_known(reply, exchange.headers)

    async def _carry_out_aside(
        self,
        exchange: Exchange,
        principal: Principal,
        answer: Callable[..., Reply],
        body: RequestBody,
    ) -> Reply:
        """Answer in a thread, which reads the body if that is a stream."""
        operation = exchange.operation
        assert operation is not None
        if operation.body is Body.STREAM:
            await body.begin()
            answer = partial(answer, body.chunks(asyncio.get_running_loop()))
        try:
            return await self._work.do(operation, self._once(exchange, principal, answer))
        finally:
            exchange.received = body.size

    def _body(self, exchange: Exchange, receive: Receive, kind: Body) -> RequestBody:
        settings = self._settings
        limit = settings.stream_limit if kind is Body.STREAM else settings.json_limit
        if not self._security.is_told_by(exchange.headers):
            limit = min(limit, STRANGER_LIMIT)
        length = exchange.headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > limit:
            raise TooLargeError(f"the body is larger than {limit:,} bytes")
        return RequestBody(receive, limit)

    async def _authenticate(self, exchange: Exchange, identity: Any) -> Principal:
        said = identity if isinstance(identity, Mapping) else None
        known = self._security.known(exchange.headers, said)
        if known is None:
            known = await self._work.aside(
                partial(self._security.authenticate, exchange.headers, said)
            )
        exchange.principal = known.name
        return known

    def _admit(self, principal: Principal, operation: Operation, said: Mapping[str, Any]) -> None:
        self._rates.take(principal.name, operation)
        self._security.authorize(principal, operation, said)
        if self._settings.read_only and not operation.only_reads:
            raise errors.PermissionDeniedError("this server is read-only")

    def _once(
        self, exchange: Exchange, principal: Principal, answer: Callable[[], Reply]
    ) -> Callable[[], Reply]:
        """An answer that is given once for each key that a client sends."""
        operation = exchange.operation
        assert operation is not None
        if operation.name not in KEYED:
            return answer
        key = remembered.read_key(exchange.headers)
        if key is None:
            return answer
        return partial(self._remembered.once, principal.name, key, operation, exchange.said, answer)

    def _carry_out(
        self,
        principal: Principal,
        operation: Operation,
        dialect: Dialect,
        said: Mapping[str, Any],
        *body: Any,
    ) -> Reply:
        answer = self._security.carry_out(principal, self._namespace, operation, said, *body)
        may_write = not self._settings.read_only and self._security.may_write(principal, said)
        furnished = self._vending.furnish(operation, said, answer, may_write=may_write)
        reply = respond(operation, dialect.answer(operation, furnished))
        if getattr(furnished, "storage_options", None):
            reply.headers.append(NO_STORE)
        return reply


def _told(exchange: Exchange, error: LanceNamespaceError) -> LanceNamespaceError:
    """An error as clients are told it: what failed inside is for the log."""
    if type(error) is not errors.InternalError:
        return error
    LOG.error("request %s failed: %s", exchange.request_id, error, exc_info=error)
    return errors.InternalError("the server failed; its log tells more")


def _given_up(operation: Operation | None) -> LanceNamespaceError:
    """What is told of a request that the server stops without."""
    if operation is None or operation.only_reads:
        return errors.ServiceUnavailableError("the server is stopping")
    return errors.UnknownOutcomeError(
        f"the server is stopping: {operation.name} may or may not have been carried out"
    )


def _refuse(exchange: Exchange, dialect: Dialect | None, error: LanceNamespaceError) -> Reply:
    exchange.code = int(error.code)
    status = 413 if isinstance(error, TooLargeError) else None
    if dialect is None or exchange.operation is None:
        return refuse(error, exchange.request_id, status=status)
    return dialect.refuse(exchange.operation, error, exchange.request_id, status=status)


def _query(scope: Scope) -> list[tuple[str, str]]:
    text = scope["query_string"]
    return parse_qsl(text.decode("latin-1"), keep_blank_values=True) if text else []


def _nothing_here(exchange: Exchange, allowed: frozenset[str]) -> Reply:
    exchange.code = 0
    if not allowed:
        error = errors.UnsupportedOperationError("no such route")
        return refuse(error, exchange.request_id, status=404)
    error = errors.UnsupportedOperationError(f"{exchange.method} is not for this route")
    reply = refuse(error, exchange.request_id, status=405)
    reply.headers.append((b"allow", ", ".join(sorted(allowed)).encode()))
    return reply
