"""SeaweedFS, which comes from PyPI and is there in every run of the tests."""

from __future__ import annotations

from pathlib import Path

from tests.cloud.servers.s3 import S3Server
from tests.rest.vending.seaweed import GuardedStore


class SeaweedServer(S3Server):
    """A running SeaweedFS."""

    def __init__(self, folder: Path) -> None:
        """Start it; its files are in a folder."""
        store = self._running = GuardedStore(folder)
        self.address = store.endpoint
