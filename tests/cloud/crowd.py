"""A crowd: so many objects in a bucket that deleting them takes time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import obstore

from tests.cloud import bucket
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Request

WRITERS = 8
SMALL = 1_000
"""Bytes of a request that deletes a few files, as the upkeep of a manifest does beside it."""


def fill(table: ObjectPath, count: int) -> None:
    """Put so many files into the directory of a table."""
    store = bucket.objects()

    def put(number: int) -> None:
        obstore.put(store, f"{table.key}/data/{number:06}.lance", b"")

    with ThreadPoolExecutor(WRITERS) as writers:
        deque(writers.map(put, range(count)), maxlen=0)


def batches(requests: Iterable[Request]) -> list[Request]:
    """The requests that delete files of a crowd."""
    return [each for each in requests if each.kind == "DELETE MANY" and each.sent > SMALL]
