"""Renaming a root table in a bucket moves its files, also while somebody appends."""

from __future__ import annotations

import threading
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceyard import errors
from lanceyard.catalog.directory import seals
from lanceyard.storage.remote import RemoteStore
from tests.cloud import bucket
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.conformance.kit import numbers, stream


def options() -> dict[str, str]:
    """How plain pylance reaches the bucket."""
    return {**bucket.server().options(), "allow_http": "true"}


@pytest.fixture
def catalog(open_catalog: Open) -> Any:
    made = open_catalog("compat", drop_retention="0")
    made.create_table({"id": ["t"]}, stream(numbers(0)))
    return made


def rows(catalog: Any, name: str) -> list[int]:
    described = catalog.describe_table({"id": [name]})
    found = lance.dataset(described.location, storage_options=options()).to_table()
    return sorted(found["n"].to_pylist())


class Writer(threading.Thread):
    """Appends to a table by a handle of its own until it is refused; remembers what it was told."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self._dataset = lance.dataset(location, storage_options=options())
        self.acknowledged: list[int] = [0]
        self.began = threading.Event()

    def run(self) -> None:
        for number in range(1, 10_000):
            row = pa.table({"n": pa.array([number], pa.int64())})
            try:
                self._dataset = lance.write_dataset(row, self._dataset, mode="append")
            except (OSError, ValueError):
                return
            self.acknowledged.append(number)
            self.began.set()


@pytest.mark.parametrize("_again", range(3))
def test_no_row_that_was_acknowledged_is_lost(catalog: Any, _again: int) -> None:
    writer = Writer(catalog.describe_table({"id": ["t"]}).location)
    writer.start()
    assert writer.began.wait(30)
    catalog.rename_table({"id": ["t"], "new_table_name": "u"})
    writer.join(60)
    assert not writer.is_alive()
    assert rows(catalog, "u") == writer.acknowledged


def test_where_a_table_was_only_a_tombstone_and_the_seal_stay(catalog: Any, root: str) -> None:
    catalog.rename_table({"id": ["t"], "new_table_name": "u"})
    left = sorted(path.name for path in (ObjectPath.of(root) / "t.lance").rglob("*"))
    assert left[0] == ".lance-deregistered"
    assert len(left) == 2
    assert catalog.list_tables({"id": []}).tables == ["u"]


def test_a_sealed_table_can_be_read_and_not_written_until_the_seal_is_lifted(
    catalog: Any, root: str
) -> None:
    store = RemoteStore(root, options())
    location = catalog.describe_table({"id": ["t"]}).location
    assert seals.seal(store, "t.lance")
    assert seals.seal(store, "t.lance")
    assert rows(catalog, "t") == [0]
    with pytest.raises(OSError, match="cannot be written"):
        lance.write_dataset(numbers(1), location, mode="append", storage_options=options())
    seals.lift(store, "t.lance")
    lance.write_dataset(numbers(1), location, mode="append", storage_options=options())
    assert rows(catalog, "t") == [0, 1]


def test_a_rename_that_is_refused_leaves_the_table_writable(
    catalog: Any, open_catalog: Open
) -> None:
    catalog.create_table({"id": ["u"]}, stream(numbers(1)))
    with pytest.raises(errors.TableAlreadyExistsError):
        catalog.rename_table({"id": ["t"], "new_table_name": "u"})
    open_catalog("compat").insert_into_table({"id": ["t"]}, stream(numbers(5)))
    assert rows(catalog, "t") == [0, 5]
