"""rclone, which serves a folder as S3 and takes no notice of conditions."""

from __future__ import annotations

from pathlib import Path

from tests.cloud.servers.program import Program
from tests.cloud.servers.s3 import S3Server
from tests.cloud.servers.server import BUCKET
from tests.rest.vending.seaweed import KEY, SECRET


class RcloneServer(S3Server):
    """A running `rclone serve s3`."""

    keeps_conditions = False
    answers_ranges = False

    def __init__(self, folder: Path) -> None:
        """Start it; folders below `data` are its buckets."""
        (folder / "data" / BUCKET).mkdir(parents=True)
        program = self._running = Program(
            folder,
            "rclone",
            *("serve", "s3", "data", "--addr", "127.0.0.1:{port}"),
            *("--auth-key", f"{KEY},{SECRET}", "--config", "", "--vfs-cache-mode", "off"),
        )
        self.address = program.address
