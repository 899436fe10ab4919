"""A process that appends through a server."""

from __future__ import annotations

import lance
import lance.namespace
import pyarrow as pa

APPENDS = 10


def append(address: str, number: int) -> None:
    """Append some rows to the table `t`, one commit each, with the client of pylance."""
    client = lance.namespace.RestNamespace(uri=address)
    for step in range(APPENDS):
        rows = pa.table({"n": pa.array([number * 1_000 + step], pa.int64())})
        lance.write_dataset(rows, mode="append", namespace_client=client, table_id=["t"])
