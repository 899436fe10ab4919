"""The bucket: one object store for all tests of a process, and fresh prefixes in it.

It is SeaweedFS; `CLOUD_STORE` names another one of `SERVERS`.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cloud.servers.azurite import AzuriteServer
from tests.cloud.servers.ceph import CephServer
from tests.cloud.servers.moto import MotoServer
from tests.cloud.servers.rclone import RcloneServer
from tests.cloud.servers.s3rver import S3rverServer
from tests.cloud.servers.seaweedfs import SeaweedServer
from tests.cloud.servers.server import Server

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NUMBERS = itertools.count()
SERVERS: dict[
    str,
    type[SeaweedServer | AzuriteServer | CephServer | MotoServer | RcloneServer | S3rverServer],
] = {
    "seaweedfs": SeaweedServer,
    "azurite": AzuriteServer,
    "ceph": CephServer,
    "moto": MotoServer,
    "rclone": RcloneServer,
    "s3rver": S3rverServer,
}
KIND = SERVERS[os.environ.get("CLOUD_STORE", "seaweedfs")]
"""The object store of this run, and what it can do."""

STARTED: list[tuple[int, Server, str]] = []
"""What was started, by which process, and where it keeps its files."""


@cache
def server() -> Server:
    """The object store of this process, which ends with it."""
    folder = tempfile.mkdtemp(prefix="bucket-", dir=SCRATCH)
    found = KIND(Path(folder))
    STARTED.append((os.getpid(), found, folder))
    atexit.register(stop)
    return found


def stop() -> None:
    """End what this process has started, and not in a fork of it."""
    while STARTED and STARTED[-1][0] == os.getpid():
        _, found, folder = STARTED.pop()
        found.stop()
        shutil.rmtree(folder, ignore_errors=True)


@cache
def objects() -> ObjectStore:
    """All that lies in the bucket."""
    return server().objects()


def fresh_root() -> str:
    """The URI of a root where nothing is yet."""
    return f"{KIND.uri()}{os.getpid()}-{next(NUMBERS)}/root"


def environment(address: str | None = None) -> Mapping[str, str]:
    """What tells every program how to reach the bucket, or a proxy in front of it."""
    return server().environment(address)


@cache
def announce() -> None:
    """Let the environment of this process tell how to reach the bucket, from now on.

    Not test by test: native code of another thread may be reading it, and would crash.
    """
    os.environ.update(environment())


def storage(address: str | None = None) -> dict[str, str]:
    """The properties of a catalog in the bucket, where the environment does not say them."""
    return {f"storage.{name}": value for name, value in server().options(address).items()}
