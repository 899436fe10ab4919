"""Serving: `serve` and `key`."""

from __future__ import annotations

import os
from typing import Any

import click

from lanceyard.cli import addresses
from lanceyard.cli.command import read_pairs, telling_command
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError
from lanceyard.cli.output import Output

SETTINGS_FILE = ".toml"
PORT = 2333


@click.command("serve")
@click.argument("catalog", required=False)
@click.option("-c", "--catalog", "profile", metavar="NAME", help="A profile instead of a path.")
@click.option("--host", help="The address to listen at.  [default: 127.0.0.1]")
@click.option("--port", type=int, help=f"0 takes any that is free.  [default: {PORT}]")
@click.option("--workers", type=int, help="Processes that answer.  [default: 1]")
@click.option("--threads", type=int, help="Operations at a time in each.  [default: 32]")
@click.option("--access-log", metavar="FILE", help="- is the standard error stream.")
@click.option("--audit-log", metavar="FILE", help="Who did what to which object.")
@click.option("--read-only", is_flag=True, default=None, help="Change nothing.")
@click.option(
    "-p",
    "--property",
    "given",
    metavar="NAME=VALUE",
    multiple=True,
    help="A property of the catalog, as often as needed.",
)
@click.option(
    "--allow-anyone",
    is_flag=True,
    default=None,
    help="Listen where others can reach it, though nobody has to say who they are.",
)
def serve_command(
    catalog: str | None, profile: str | None, given: tuple[str, ...], **server: Any
) -> int:
    """Serve a catalog over HTTP, by the Lance REST protocol.

    CATALOG is a path, a URI, the address of another server, or a settings file (.toml). The address
    is printed once the server is ready; Ctrl-C ends it. The exit code is 2 if it cannot start.
    """
    properties = read_pairs(given)
    file = catalog if catalog is not None and catalog.endswith(SETTINGS_FILE) else None
    if file is None:
        address = addresses.read(profile, [] if catalog is None else [catalog], properties)
        if address is None:
            raise click.UsageError("Missing CATALOG: a path, a URI, or --catalog NAME.")
        address.require()
        properties = address.properties
    elif not os.path.exists(file):
        raise RefusalError(f"there is no settings file {file}", Exit.MISSING)
    from lanceyard.server.command import serve

    asked = {name: value for name, value in server.items() if value is not None}
    return serve(file, asked, properties)


@telling_command("key")
def key_command(output: Output) -> None:
    """Make an API key, and the digest a server knows it by."""
    from lanceyard.server.security.keys import new_key

    key, digest = new_key()
    output.record({"key": key, "sha256": digest})
