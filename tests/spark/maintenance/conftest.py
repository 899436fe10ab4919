"""Catalogs that are in need of maintenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.yard import Table, Yard

ROWS = 200
"""In a fragment."""
LENGTH = 8
"""Of a vector."""


def rows(start: int, count: int = ROWS) -> pa.Table:
    """Rows of many kinds, which are the same whenever they are made."""
    numbers = np.arange(start, start + count)
    vectors = np.random.default_rng(start).random(count * LENGTH, dtype=np.float32)
    return pa.table(
        {
            "id": numbers,
            "k": (numbers % 100).astype("int32"),
            "s": [f"word{number % 97} text" for number in numbers],
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors), LENGTH),
        }
    )


@dataclass(frozen=True)
class Catalog:
    """A catalog, and how it is named."""

    yard: Yard
    properties: dict[str, str]

    def make(self, name: str, fragments: int = 6) -> Table:
        """A table of small fragments."""
        made = self.yard.create_table(name, rows(0))
        for number in range(1, fragments):
            made.append(rows(number * ROWS))
        return made

    def files(self) -> set[Path]:
        """All files of tables, without those of the catalog itself."""
        root = Path(self.properties["root"])
        found = (path for path in root.rglob("*") if path.is_file())
        return {path for path in found if "__manifest" not in path.parts}


@pytest.fixture(params=["managed"])
def catalog(request: Any, tmp_path: Path) -> Iterator[Catalog]:
    """A catalog that keeps versions, unless a test asks for a plain one."""
    properties = {"root": str(tmp_path / "yard"), "dir_listing_enabled": "false"}
    if request.param == "managed":
        properties["table_version_management"] = "true"
    with lanceyard.open({"impl": "dir", **properties}) as yard:
        yield Catalog(yard, properties)


@contextmanager
def meanwhile(do: Callable[[int], object]) -> Iterator[list[int]]:
    """Do something again and again in a thread while the block runs; its turns."""
    over, turns, failures = Event(), list[int](), list[BaseException]()

    def run() -> None:
        while not over.wait(0.01):
            try:
                do(len(turns))
            except BaseException as failure:
                failures.append(failure)
                return
            turns.append(len(turns))

    thread = Thread(target=run)
    thread.start()
    try:
        yield turns
    finally:
        over.set()
        thread.join()
    assert not failures, failures
