"""SeaweedFS in a process of its own: an object store with a Lance server of another make."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from lanceyard import errors
from lanceyard.rest.client import RestNamespace

PROGRAM = Path(sys.executable).with_name("weed")
BUCKET = "vectors"
PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "s3.port.lance",
)
OPTIONS = {
    "ip": "127.0.0.1",
    "ip.bind": "127.0.0.1",
    "tableBucket": f"{BUCKET}:LANCE",
    "s3.port.iceberg": "0",
    "s3.localSocket": "",
    "filer.localSocket": "",
    "metricsPort": "0",
    "master.telemetry": "false",
    "admin.ui": "false",
    "webdav": "false",
}
PATIENCE = 30.0


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of its Lance server, below which the namespace `BUCKET` is."""
    ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    options = {"dir": str(folder), **OPTIONS, **ports}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, "-logtostderr=true", "mini", *(f"-{k}={v}" for k, v in options.items())],
            stdout=log,
            stderr=log,
            cwd=folder,
        )
    try:
        address = f"http://127.0.0.1:{ports['s3.port.lance']}"
        wait_for(address)
        yield address
    finally:
        process.kill()
        process.wait()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at, for now."""
    with contextlib.ExitStack() as stack:
        made = (socket.create_server(("127.0.0.1", 0)) for _ in range(count))
        return [stack.enter_context(each).getsockname()[1] for each in made]


def wait_for(address: str) -> None:
    """Wait until it answers, and has its bucket."""
    client = RestNamespace(uri=address, retries="0", deadline="5")
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        with contextlib.suppress(errors.LanceNamespaceError):
            if BUCKET in client.list_namespaces({}).namespaces:
                client.close()
                return
        time.sleep(0.05)
    raise TimeoutError(f"SeaweedFS did not start in {PATIENCE:g} s")
