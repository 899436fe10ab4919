"""The command ``lanceyard serve``."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from collections.abc import Mapping, Sequence

import uvicorn

from lanceyard import errors
from lanceyard.namespace import connect
from lanceyard.server.application import THREADS, Application

HOST, PORT = "127.0.0.1", 2333
DRAIN = 30
"""Seconds that requests in flight have to end once the server is told to stop."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("catalog", help="the root of a catalog, or the address of another server")
    parser.add_argument("--host", default=HOST, help=f"the address to listen at ({HOST})")
    parser.add_argument("--port", type=int, default=PORT, help=f"0 takes any that is free ({PORT})")
    parser.add_argument("--threads", type=int, default=THREADS, help="operations at a time")
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a property of the catalog, as often as needed",
    )
    parser.add_argument(
        "--allow-anyone",
        action="store_true",
        help="listen at an address that others can reach, though nobody has to say who they are",
    )


def serve(given: argparse.Namespace) -> int:
    """Serve a catalog until the process is told to stop."""
    if not (given.allow_anyone or _is_private(given.host)):
        print(
            f"lanceyard: anyone who reaches {given.host} could change this catalog. Listen at "
            f"{HOST}, or say --allow-anyone.",
            file=sys.stderr,
        )
        return 2
    try:
        namespace = connect(*_catalog(given.catalog, given.property))
    except errors.LanceNamespaceError as refusal:
        print(f"lanceyard: {refusal}", file=sys.stderr)
        return 2
    config = uvicorn.Config(
        Application(namespace, threads=given.threads),
        host=given.host,
        port=given.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN,
    )
    _Server(config).run()
    return 0


class _Server(uvicorn.Server):
    """A server that says where it listens, once it does."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        for listening in self.servers:
            host, port, *_ = listening.sockets[0].getsockname()
            print(f"http://{host}:{port}", flush=True)


def _catalog(place: str, properties: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    split = (each.partition("=") for each in properties)
    more = {name: value for name, _, value in split}
    if place.startswith(("http://", "https://")):
        return "rest", {"uri": place, **more}
    return "dir", {"root": place, **more}


def _is_private(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
