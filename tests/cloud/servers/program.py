"""A program that serves HTTP at a port of this machine."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import time
from pathlib import Path

from tests.rest.vending.seaweed import free_ports

PATIENCE = 60.0


class Program:
    """A program of the path, started with some words; ``{port}`` in them is its port."""

    def __init__(self, folder: Path, name: str, *words: str) -> None:
        """Start it in a folder, and wait until it answers."""
        found = installed(name)
        [self.port] = free_ports(1)
        self.address = f"http://127.0.0.1:{self.port}"
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [found, *(word.format(port=self.port) for word in words)],
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self.ask("GET", "/")
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"it does not start: {self._log.read_text()[-2000:]}")

    def ask(self, method: str, target: str) -> int:
        """Send a request without a body; the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, headers={"content-length": "0"})
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def installed(name: str) -> str:
    """Where a program of the path is."""
    found = shutil.which(name)
    assert found, f"{name} is not installed: see `make interop`"
    return found
