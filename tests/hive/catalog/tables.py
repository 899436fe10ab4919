"""What the tests of this folder say about tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance

from lanceyard import HiveNamespace
from lanceyard.errors import ConcurrentModificationError
from tests.conformance.kit import numbers, stream


def create(ns: Any, table: list[str], *values: int, **fields: Any) -> Path:
    """Create a table of numbers, and tell where it lies."""
    return Path(ns.create_table({"id": table, **fields}, stream(numbers(*values))).location)


def location(ns: Any, table: list[str]) -> Path:
    """Where a table lies."""
    return Path(ns.describe_table({"id": table}).location)


def rows(ns: Any, table: list[str]) -> list[int]:
    """The numbers in a table."""
    dataset = lance.dataset(namespace_client=ns, table_id=table)
    found: list[int] = sorted(dataset.to_table()["n"].to_pylist())
    return found


def append(ns: Any, table: list[str], *values: int) -> None:
    """Append numbers as pylance does, again while others are faster."""
    while True:
        try:
            lance.write_dataset(
                numbers(*values), namespace_client=ns, table_id=table, mode="append"
            )
        except (ConcurrentModificationError, OSError) as conflict:
            if not any(
                word in str(conflict).lower() for word in ("conflict", "version", "concurr")
            ):
                raise
        else:
            return


def append_each(properties: dict[str, str], table: list[str], values: list[int]) -> None:
    """What a process does: one commit for each value."""
    ns = HiveNamespace(**properties)
    for value in values:
        append(ns, table, value)
    ns.close()


def names(ns: Any, home: list[str]) -> list[str]:
    """The tables of a namespace."""
    found: list[str] = ns.list_tables({"id": home}).tables
    return found
