"""The server as a command: where it listens, what it refuses to serve, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.cli.exits import Exit
from tests.cli.permissions import read_only, without_the_rights_of_root
from tests.cli.running import Shell

ANY_PORT = ("--port", "0")


@contextmanager
def serving(*words: str, limits: Callable[[], None] | None = None) -> Iterator[str]:
    """Serve while the block runs, and tell where; nothing else is told, and it ends well."""
    command = [sys.executable, "-m", "lanceyard", "serve", *words, *ANY_PORT]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdout=pipe,
        stderr=pipe,
        text=True,
        preexec_fn=limits,  # noqa: PLW1509 - it makes system calls only
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            ended = process.communicate(timeout=60)
        assert (process.returncode, *ended) == (Exit.INTERRUPTED, "", "lanceyard: interrupted\n")


def test_the_address_is_printed_once_it_answers(shell: Shell, market: str) -> None:
    shell.ok("config", "set", "local", "impl=dir", f"dir.path={market}")
    with serving("-c", "local") as address:
        assert len(shell.ok("ls", "-R", address).rows) == 11


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("./nowhere", "there is no catalog at ./nowhere; next: lanceyard create ./nowhere"),
        ("nowhere.toml", "there is no settings file nowhere.toml"),
    ],
)
def test_what_is_not_there_is_not_served(shell: Shell, place: str, told: str) -> None:
    done = shell("serve", place, *ANY_PORT)
    assert (done.code, done.out) == (Exit.MISSING, "")
    assert told in done.error


def test_a_read_only_folder_is_served_to_readers(shell: Shell, market: str, home: Path) -> None:
    with read_only(home), serving(market, limits=without_the_rights_of_root) as address:
        assert shell.ok("head", address, "shop.customers", "-n", "1").row["name"] == "Ada"
        with pytest.raises(errors.PermissionDeniedError):
            lanceyard.open(address).create_namespace("attic")
