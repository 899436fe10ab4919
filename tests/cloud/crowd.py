"""A crowd: so many objects in a bucket that deleting them takes time."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor

import obstore

from tests.cloud import bucket
from tests.cloud.paths import ObjectPath

WRITERS = 8


def fill(table: ObjectPath, count: int) -> None:
    """Put so many files into the directory of a table."""
    store = bucket.objects()

    def put(number: int) -> None:
        obstore.put(store, f"{table.key}/data/{number:06}.lance", b"")

    with ThreadPoolExecutor(WRITERS) as writers:
        deque(writers.map(put, range(count)), maxlen=0)
