"""A server for tests: one process-wide, with any number of namespaces below paths of their own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import unquote

import uvicorn
from lance_namespace import LanceNamespace
from starlette.types import Receive, Scope, Send

from lanceyard.server.application import Application
from lanceyard.server.connections import Connection
from lanceyard.server.settings import Settings

KEPT = 50


class Mounts:
    """Applications below the first part of the path."""

    def __init__(self) -> None:
        self.applications: dict[bytes, Application] = {}
        self._numbers = itertools.count()

    def add(self, namespace: LanceNamespace, settings: Mapping[str, Any]) -> str:
        """Serve a namespace, and tell the path below which."""
        name = f"n{next(self._numbers)}"
        server = {"threads": 4, "streams": 2, **settings.get("server", {})}
        found = Settings.model_validate({"catalog": {}, **settings, "server": server})
        self.applications[name.encode()] = Application(namespace, found)
        if len(self.applications) > KEPT:  # each has threads, and no test serves so many
            self.applications.pop(next(iter(self.applications))).close()
        return name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        _, name, rest = scope["raw_path"].split(b"/", 2)
        path = {"raw_path": b"/" + rest, "path": unquote((b"/" + rest).decode("latin-1"))}
        await self.applications[name]({**scope, **path}, receive, send)


class TestServer:
    """A running server."""

    __test__ = False

    def __init__(self, patience: float = 30.0) -> None:
        self._mounts = Mounts()
        config = uvicorn.Config(
            self._mounts,
            port=0,
            http=partial(Connection, patience=patience),
            ws="none",
            log_level="error",
            access_log=False,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            threading.Event().wait(0.01)
        (listening,) = self._server.servers
        self.address = "http://{}:{}".format(*listening.sockets[0].getsockname())

    def serve(self, namespace: LanceNamespace, **settings: Mapping[str, Any]) -> str:
        """Serve a namespace as the tables of a settings file say, and tell its address."""
        return f"{self.address}/{self._mounts.add(namespace, settings)}"


@cache
def server() -> TestServer:
    """The server of this process."""
    return TestServer()
