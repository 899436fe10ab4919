"""moto, which emulates S3 in Python and checks no signatures."""

from __future__ import annotations

from pathlib import Path

from tests.cloud.servers.program import Program
from tests.cloud.servers.s3 import S3Server
from tests.cloud.servers.server import BUCKET


class MotoServer(S3Server):
    """A running `moto_server`."""

    checks_signatures = False

    def __init__(self, folder: Path) -> None:
        """Start it, and make the bucket."""
        program = self._running = Program(folder, "moto_server", "-H", "127.0.0.1", "-p", "{port}")
        self.address = program.address
        assert program.ask("PUT", f"/{BUCKET}") == 200
