"""s3rver, which emulates S3 in Node and takes no notice of conditions."""

from __future__ import annotations

from pathlib import Path

from tests.cloud.servers.program import Program
from tests.cloud.servers.s3 import S3Server
from tests.cloud.servers.server import BUCKET


class S3rverServer(S3Server):
    """A running `s3rver`, with its files in a folder."""

    keeps_conditions = False
    lists_directories = False
    key = secret_key = "S3RVER"

    def __init__(self, folder: Path) -> None:
        """Start it, and have it make the bucket."""
        program = self._running = Program(
            folder,
            "s3rver",
            *("--directory", "data", "--address", "127.0.0.1", "--port", "{port}"),
            *("--silent", "--configure-bucket", BUCKET),
        )
        self.address = program.address
