"""Azurite: Azure's blobs, emulated by those who make them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from obstore.store import AzureStore

from tests.cloud.servers.program import Program
from tests.cloud.servers.server import BUCKET, Server

# Those of every Azurite, which its documentation tells.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ENDS = "2100-01-01T00:00:00Z"
VERSION = "2021-08-06"


class AzuriteServer(Server):
    """A running Azurite, which keeps everything in memory."""

    scheme = "az"
    e_tags_are_hashes = False
    batch = 256
    who = "account_name"
    secret = "account_key"
    no_bucket = "ContainerNotFound"

    def __init__(self, folder: Path) -> None:
        """Start it, and make the container."""
        program = self._running = Program(
            folder,
            "azurite-blob",
            *("--silent", "--inMemoryPersistence", "--disableTelemetry"),
            *("--blobHost", "127.0.0.1", "--blobPort", "{port}"),
        )
        self.address = program.address
        target = f"/{ACCOUNT}/{BUCKET}?restype=container&{shared_access()}"
        assert program.ask("PUT", target) == 201

    def options(self, address: str | None = None) -> dict[str, str]:
        return {"account_name": ACCOUNT, "account_key": KEY, "endpoint": self._endpoint(address)}

    def environment(self, address: str | None = None) -> Mapping[str, str]:
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": self._endpoint(address),
            "AZURE_ALLOW_HTTP": "true",
        }

    def objects(self) -> AzureStore:
        return AzureStore(
            BUCKET,
            account_name=ACCOUNT,
            account_key=KEY,
            endpoint=self._endpoint(),
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def _endpoint(self, address: str | None = None) -> str:
        return f"{address or self.address}/{ACCOUNT}"


def shared_access(permissions: str = "rwdlacup") -> str:
    """A shared access signature of the account, for all that it holds."""
    terms = {"sp": permissions, "ss": "b", "srt": "sco", "st": "", "se": ENDS}
    told = [ACCOUNT, *terms.values(), "", "", VERSION, "", ""]
    signed = hmac.digest(base64.b64decode(KEY), "\n".join(told).encode(), hashlib.sha256)
    return urlencode({**terms, "sv": VERSION, "sig": base64.b64encode(signed).decode()})
