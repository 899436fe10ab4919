"""Background: programs that tests start beside themselves, and end."""

from __future__ import annotations

import os
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path

PATIENCE = 60.0


class Background(ABC):
    """A running program, with its log in its folder."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        """Start it in a folder, and wait until it is ready."""
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, stdout=log, stderr=log, cwd=folder, env={**os.environ, **environment}
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
