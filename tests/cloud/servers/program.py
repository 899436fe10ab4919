"""A program that serves HTTP at a port of this machine."""

from __future__ import annotations

import http.client
import shutil
from pathlib import Path

from tests.background import PATIENCE, Background, free_ports


class Program(Background):
    """A program of the path, started with some words; ``{port}`` in them is its port."""

    def __init__(self, folder: Path, name: str, *words: str) -> None:
        """Start it in a folder, and wait until it answers."""
        found = installed(name)
        [self.port] = free_ports(1)
        self.address = f"http://127.0.0.1:{self.port}"
        super().__init__(folder, found, *(word.format(port=self.port) for word in words))

    def is_ready(self) -> bool:
        try:
            self.ask("GET", "/")
        except OSError:
            return False
        return True

    def ask(self, method: str, target: str) -> int:
        """Send a request without a body; the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, headers={"content-length": "0"})
            return connection.getresponse().status
        finally:
            connection.close()


def installed(name: str) -> str:
    """Where a program of the path is."""
    found = shutil.which(name)
    assert found, f"{name} is not installed: see `make interop`"
    return found
