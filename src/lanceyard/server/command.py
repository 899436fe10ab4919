"""What ``lanceyard serve`` does."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp
from uvicorn.supervisors.multiprocess import Multiprocess

from lanceyard import errors
from lanceyard.namespace import connect
from lanceyard.server.application import Application
from lanceyard.server.connections import Connection
from lanceyard.server.metrics import FOLDER
from lanceyard.server.security.settings import is_this_machine
from lanceyard.server.settings import HOST, ServerSettings, Settings

KEEP_ALIVE = 60
START_SECONDS = 60


def serve(place: str | None, server: Mapping[str, Any], catalog: Mapping[str, str]) -> int:
    """Serve a catalog until the process is told to stop, and return the exit code.

    The place is a settings file, over which wins what is given besides; or the root of a catalog or
    the address of another server; or None, where the properties of the catalog say it all.
    """
    try:
        settings = Settings.load(place, server, catalog)
        _check_address(settings)
        application = build(settings)  # what is wrong is better told here than by each worker
        listening = _listen(settings.server)
    except errors.LanceNamespaceError as refusal:
        print(f"lanceyard: {refusal}", file=sys.stderr)
        return 2
    with listening:
        if settings.server.workers == 1:
            config = _config(settings.server, application)
            _Server(config, _address(settings.server, listening)).run([listening])
        else:
            with _shared(settings) as shared:
                config = _config(shared.server, partial(build, shared), factory=True)
                _Workers(config, _address(shared.server, listening), listening).run()
    return 0


def build(settings: Settings) -> ASGIApp:
    """What answers, in each process."""
    namespace = connect(settings.catalog)
    application = Application(namespace, settings)
    if not settings.server.origins:
        return application
    return CORSMiddleware(
        application,
        allow_origins=settings.server.origins,
        allow_methods=["GET", "POST"],
        allow_headers=["*"],
        expose_headers=["etag", "retry-after", "x-request-id"],
    )


def _check_address(settings: Settings) -> None:
    server = settings.server
    if not (settings.security.is_on or server.allow_anyone or is_this_machine(server.host)):
        raise errors.InvalidInputError(
            f"anyone who reaches {server.host} could change this catalog. Listen at {HOST}, say "
            "in a file who may do what, or say --allow-anyone"
        )


def _listen(server: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        return socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as cause:
        place = f"{server.host}:{server.port}"
        raise errors.ServiceUnavailableError(f"cannot listen at {place}: {cause}") from cause


@contextlib.contextmanager
def _shared(settings: Settings) -> Iterator[Settings]:
    """Settings that say where the processes of a server meet."""
    with tempfile.TemporaryDirectory(prefix="lanceyard-") as folder:
        metrics = Path(folder, "metrics")
        metrics.mkdir()
        os.environ[FOLDER] = str(metrics)
        state = settings.server.state or Path(folder)
        server = settings.server.model_copy(update={"state": state})
        security = settings.security.with_token_key()
        yield settings.model_copy(update={"server": server, "security": security})


def _config(server: ServerSettings, application: Any, *, factory: bool = False) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        factory=factory,
        http=partial(Connection, patience=server.patience),  # type: ignore[arg-type]
        ws="none",
        workers=server.workers,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        # A process that starts on a busy machine is not one that hangs.
        timeout_worker_healthcheck=START_SECONDS,
        timeout_graceful_shutdown=server.drain,  # type: ignore[arg-type]
        **_tls(server),
    )


def _tls(server: ServerSettings) -> dict[str, Any]:
    if server.certificate is None:
        return {}
    asked = {} if server.client_authority is None else {"ssl_cert_reqs": ssl.CERT_REQUIRED}
    return {
        "ssl_certfile": server.certificate,
        "ssl_keyfile": server.key,
        "ssl_ca_certs": server.client_authority,
        **asked,
    }


def _address(server: ServerSettings, listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    scheme = "http" if server.certificate is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class _Server(uvicorn.Server):
    """A server that says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, address: str) -> None:
        super().__init__(config)
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self._address, flush=True)


class _Workers(Multiprocess):
    """Several of them, which say it once all do."""

    def __init__(self, config: uvicorn.Config, address: str, listening: socket.socket) -> None:
        super().__init__(config, [listening])
        self._address = address
        self._is_interrupted = False

    def run(self) -> None:
        super().run()
        if self._is_interrupted:  # as a single server tells it
            raise KeyboardInterrupt

    def handle_int(self) -> None:
        self._is_interrupted = True
        super().handle_int()

    def init_processes(self) -> None:
        super().init_processes()
        if all(each.wait_until_ready(START_SECONDS, self.should_exit) for each in self.processes):
            print(self._address, flush=True)

    def terminate_all(self) -> None:
        # While this process listens too, whoever comes is queued, and cut off in the end.
        for each in self.sockets:
            each.close()
        super().terminate_all()
