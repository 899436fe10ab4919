"""The service: a server on loopback that the Java side of a catalog asks.

It speaks the REST protocol, and answers some more questions that only Spark has. Whoever asks must
know the token that was made for this service.
"""

from __future__ import annotations

import hmac
import json
import logging
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio.to_thread
import uvicorn
from pyspark.sql import SparkSession
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from lanceyard import errors
from lanceyard.namespace import connect
from lanceyard.rest.protocol import STATUSES
from lanceyard.server.application import Application
from lanceyard.server.connections import Connection
from lanceyard.server.security.keys import digest, new_key
from lanceyard.server.settings import Settings
from lanceyard.spark.maintenance import procedures as _maintenance  # noqa: F401 - they register
from lanceyard.spark.sql import columns, metadata, plans, procedures
from lanceyard.spark.sql.tables import Tables

HOST = "127.0.0.1"
PREFIX = "/spark/"
START_SECONDS = 60.0
LOG = logging.getLogger("lanceyard.spark.sql")

Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


class Questions:
    """What only Spark asks, beside the operations of the REST protocol."""

    def __init__(
        self, catalog: Mapping[str, str], token: str, state: str, spark: SparkSession | None
    ) -> None:
        """Answer for a catalog, by its properties; `state` is a folder for what is remembered."""
        namespace: Any = connect(dict(catalog))
        tables = Tables(namespace, catalog)
        self._token = token.encode()
        said = {
            "catalog": dict(catalog),
            "security": {"keys": [{"name": "spark", "sha256": digest(self._token)}]},
            "server": {"state": state},
        }
        settings = Settings.model_validate(said)
        self._operations = Application(namespace, settings)
        self._answers: dict[str, Answer] = {
            "load": tables.load,
            "plan": plans.plan,
            "create": tables.create,
            "stage": tables.stage,
            "settle": tables.settle,
            "unstage": tables.unstage,
            "alter": partial(columns.alter, tables),
            "metadata": partial(metadata.metadata, tables),
            "procedures": lambda _: {
                "procedures": [each.describe() for each in procedures.PROCEDURES.values()]
            },
            "call": partial(procedures.call, tables, spark),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI calls it."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._operations(scope, receive, send)
            return
        reply = await self._reply(Request(scope, receive))
        await reply(scope, receive, send)

    async def _reply(self, request: Request) -> JSONResponse:
        try:
            given = request.headers.get("x-api-key", "").encode()
            if not hmac.compare_digest(given, self._token):
                raise errors.UnauthenticatedError("this service is for its own Spark session only")
            answer = self._answers.get(request.url.path.removeprefix(PREFIX))
            if answer is None:
                raise errors.UnsupportedOperationError(f"no such question: {request.url.path}")
            said = json.loads(await request.body())
            return JSONResponse(await anyio.to_thread.run_sync(answer, said))
        except errors.LanceNamespaceError as refusal:
            code = int(refusal.code)
            return JSONResponse({"error": str(refusal), "code": code}, STATUSES[code])
        except Exception as failure:  # the edge of the process: Spark's user is to see what failed
            LOG.exception("a question of Spark failed")
            text = f"{type(failure).__name__}: {failure}"
            return JSONResponse({"error": text, "code": 18}, 500)


class Service:
    """A running server for one catalog, in a thread of this process."""

    def __init__(
        self,
        catalog: Mapping[str, str],
        *,
        spark: SparkSession | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start it; it ends with this process, by `stop`, or once `is_over`."""
        self.token, _ = new_key()
        self._state = tempfile.TemporaryDirectory(prefix="lanceyard-", ignore_cleanup_errors=True)
        self._listening = socket.create_server((HOST, 0), backlog=256)
        self.address = f"http://{HOST}:{self._listening.getsockname()[1]}"
        config = uvicorn.Config(
            Questions(catalog, self.token, self._state.name, spark),
            http=partial(Connection, patience=30.0),  # type: ignore[arg-type]
            ws="none",
            log_level="error",
            access_log=False,
        )
        self._server = _Server(config, is_over)
        self._thread = threading.Thread(target=self._run, name="lanceyard-sql", daemon=True)
        self._thread.start()
        if not self._server.ready.wait(START_SECONDS):
            raise errors.ServiceUnavailableError("the service of the catalog does not start")

    @property
    def runs(self) -> bool:
        """Whether it answers."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let it end, once it has answered what it was asked."""
        self._server.should_exit = True

    def _run(self) -> None:
        with self._listening, self._state:
            self._server.run([self._listening])


class _Server(uvicorn.Server):
    """A server that looks now and then whether it is still needed."""

    def __init__(self, config: uvicorn.Config, is_over: Callable[[], bool]) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._is_over = is_over

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._is_over()
