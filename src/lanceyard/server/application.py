"""The application: a namespace behind HTTP, as ASGI has it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

from lance_namespace import LanceNamespace
from lance_namespace.errors import LanceNamespaceError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanceyard import errors
from lanceyard.rest.protocol import EXTENSIONS, OPERATIONS, Body, Operation
from lanceyard.server.answers import refuse, respond
from lanceyard.server.bodies import RequestBody, TooLargeError
from lanceyard.server.dialects import find_dialect
from lanceyard.server.fields import gather
from lanceyard.server.routes import Match, Routes

LOG = logging.getLogger("lanceyard.server")
THREADS = 32
JSON_LIMIT = 16 * 2**20
STREAM_LIMIT = 16 * 2**30
REQUEST_ID = b"x-request-id"


class Application:
    """The operations of a namespace over HTTP.

    Operations run in a bounded pool of threads, since they block; Arrow streams are read by those
    threads as they come.
    """

    def __init__(self, namespace: LanceNamespace, *, threads: int = THREADS) -> None:
        """Serve a namespace."""
        self._namespace = namespace
        self._routes = Routes((*OPERATIONS, *EXTENSIONS))
        self._pool = ThreadPoolExecutor(threads, "lanceyard-server")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection, as ASGI calls it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            response = await self._answer(scope, receive)
            await response(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._pool.shutdown()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        headers = dict(scope["headers"])
        request_id = headers.get(REQUEST_ID, b"").decode("latin-1") or uuid.uuid4().hex
        try:
            response = await self._carry_out(scope, receive, headers, request_id)
        except TooLargeError as refusal:
            response = refuse(refusal, request_id, status=413)
        except LanceNamespaceError as refusal:
            response = refuse(refusal, request_id)
        except Exception:  # the edge of the process: nothing of it may reach the client
            LOG.exception("request %s failed", request_id)
            failure = errors.InternalError("the server failed; its log tells more")
            response = refuse(failure, request_id)
        response.headers["x-request-id"] = request_id
        return response

    async def _carry_out(
        self, scope: Scope, receive: Receive, headers: Mapping[bytes, bytes], request_id: str
    ) -> Response:
        found = self._routes.find(scope["method"], scope["raw_path"])
        if not isinstance(found, Match):
            return _nothing_here(scope["method"], found, request_id)
        operation = found.operation
        streams = operation.body is Body.STREAM
        body = RequestBody(receive, STREAM_LIMIT if streams else JSON_LIMIT)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        said = gather(operation, found.fields, query, None if streams else await body.whole())
        dialect = find_dialect(headers)
        said = dialect.request(operation, said)
        loop = asyncio.get_running_loop()
        more = [body.chunks(loop)] if streams else []
        answer = await loop.run_in_executor(self._pool, self._do, operation, said, *more)
        return respond(operation, dialect.answer(operation, answer))

    def _do(self, operation: Operation, said: dict[str, Any], *body: Any) -> Any:
        return getattr(self._namespace, operation.function)(said, *body)


def _nothing_here(method: str, allowed: frozenset[str], request_id: str) -> Response:
    if not allowed:
        return refuse(errors.UnsupportedOperationError("no such route"), request_id, status=404)
    error = errors.UnsupportedOperationError(f"{method} is not for this route")
    response = refuse(error, request_id, status=405)
    response.headers["allow"] = ", ".join(sorted(allowed))
    return response
