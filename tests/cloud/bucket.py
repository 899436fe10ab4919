"""The bucket: one SeaweedFS for all tests of a process, and fresh prefixes in it."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from obstore.store import S3Store

from tests.rest.vending.seaweed import BUCKET, KEY, SECRET, SeaweedFS, open_store

SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NUMBERS = itertools.count()


STARTED: list[tuple[int, SeaweedFS, str]] = []
"""What was started, by which process, and where it keeps its files."""


@cache
def seaweed() -> SeaweedFS:
    """The SeaweedFS of this process, which ends with it."""
    folder = tempfile.mkdtemp(prefix="seaweed-", dir=SCRATCH)
    found = SeaweedFS(Path(folder))
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
def objects() -> S3Store:
    """All that lies in the bucket."""
    return open_store(BUCKET, seaweed().storage)


def fresh_root() -> str:
    """The URI of a root where nothing is yet."""
    return f"s3://{BUCKET}/{os.getpid()}-{next(NUMBERS)}/root"


def environment(endpoint: str | None = None) -> Mapping[str, str]:
    """What tells every program how to reach the bucket, or a proxy in front of it."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT": endpoint or seaweed().endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


def storage(endpoint: str | None = None) -> dict[str, str]:
    """The properties of a catalog in the bucket, where the environment does not say them."""
    return {
        "storage.access_key_id": KEY,
        "storage.secret_access_key": SECRET,
        "storage.endpoint": endpoint or seaweed().endpoint,
        "storage.region": "us-east-1",
    }
