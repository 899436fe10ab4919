"""Background: programs that tests start beside themselves, and end."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path

PATIENCE = 60.0
STORES = ("AWS_", "AZURE_", "GOOGLE_")
"""How the variables begin that tell how an object store is reached."""


class Background(ABC):
    """A running program, with its log in its folder."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        """Start it in a folder, and wait until it is ready."""
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, stdout=log, stderr=log, cwd=folder, env=without_stores() | environment
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it does already what it is there for."""

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.is_ready():
                return
            time.sleep(0.05)
        raise RuntimeError(f"it does not start: {self._log.read_text()[-2000:]}")


def without_stores() -> dict[str, str]:
    """The variables of this process, but none that tells of an object store.

    A store takes the keys that its clients are told for a setting of its own.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith(STORES)}


def free_ports(count: int) -> list[int]:
    """Ports of this machine's own address that nobody listens at, for now."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in held]
