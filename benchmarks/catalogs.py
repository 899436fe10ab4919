"""The catalogs under measurement: one implementation each, all copies of one seed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final
from zlib import crc32

import lance
import pyarrow as pa
from lance.namespace import DirectoryNamespace as ReferenceNamespace
from lance_namespace import (
    CreateNamespaceRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    LanceNamespace,
    ListTablesRequest,
)
from report import Footprint

NAMESPACE: Final = "bench"
STRIDE: Final = 7919  # a prime: consecutive lookups ask for tables far apart


@dataclass(frozen=True)
class Side:
    """An implementation and its own copy of the catalog."""

    implementation: str
    root: Path

    def open(self) -> LanceNamespace:
        properties = {"root": str(self.root), "dir_listing_enabled": "false"}
        if self.implementation == "reference":
            return ReferenceNamespace(**properties)
        from lanceyard import DirectoryNamespace  # not needed by --control

        durability = "fsync" if self.implementation == "lanceyard fsync" else "os"
        return DirectoryNamespace(durability=durability, **properties)

    @cached_property
    def namespace(self) -> LanceNamespace:
        return self.open()

    def settle(self) -> None:
        """Wait until our upkeep is done, lest the other side's next round pay for it."""
        for _ in range(20 if self.implementation != "reference" else 0):
            before = time.process_time()
            time.sleep(0.6)  # longer than upkeep waits before it starts
            if time.process_time() - before < 0.02:
                break


@dataclass(frozen=True)
class Effort:
    """How much work a catalog of one size gets."""

    reads: int
    writes: int
    rounds: int
    declares_per_thread: int
    declares_per_process: int


@dataclass(frozen=True)
class Bench:
    """The catalogs of one size."""

    tables: int
    effort: Effort
    reference: Side
    ours: Side
    durable: Side


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def seed(root: Path, tables: int) -> None:
    """Append the rows in bulk, then let the reference rewrite all, as each of its writes does."""
    namespace = Side("reference", root).open()
    namespace.create_namespace(CreateNamespaceRequest(id=[NAMESPACE]))
    manifest = lance.dataset(root / "__manifest")
    names = [f"{NAMESPACE}${table(index)}" for index in range(tables)]
    columns = {
        "object_id": names,
        "object_type": ["table"] * tables,
        "location": [f"{crc32(name.encode()):08x}_{name}" for name in names],
        "metadata": pa.nulls(tables, pa.string()),
        "base_objects": pa.nulls(tables, manifest.schema.field("base_objects").type),
    }
    lance.write_dataset(pa.table(columns, schema=manifest.schema), manifest, mode="append")
    for name in ("east", "west"):
        namespace.create_namespace(CreateNamespaceRequest(id=[name]))
    if len(lance.dataset(root / "__manifest").get_fragments()) != 1:
        raise RuntimeError("the reference no longer writes its manifest as one fragment")


def prepare(directory: Path, tables: int, effort: Effort, ours: str) -> Bench:
    """The seeded catalog once per side, each side opened and warmed up."""
    seed(directory / "seed", tables)
    durable = "lanceyard fsync" if ours == "lanceyard" else ours
    sides = [
        Side(implementation, directory / str(position))
        for position, implementation in enumerate(("reference", ours, durable))
    ]
    for side in sides:
        shutil.copytree(directory / "seed", side.root)
        warm_up(side.namespace, tables, "warm")
    sides[-1].settle()
    return Bench(tables, effort, *sides)


def warm_up(namespace: LanceNamespace, tables: int, fresh: str) -> None:
    """Lookups, a listing and a write: our index and our committer start when first needed."""
    for index in range(5):
        namespace.describe_table(DescribeTableRequest(id=known(tables, index)))
    namespace.list_tables(ListTablesRequest(id=[NAMESPACE], limit=100))
    namespace.declare_table(DeclareTableRequest(id=[NAMESPACE, fresh]))


def check_same_tables(bench: Bench) -> None:
    """Both sides did the same work, so they must hold the same tables."""
    request = ListTablesRequest(id=[NAMESPACE])
    theirs, ours = (
        side.open().list_tables(request).tables for side in (bench.reference, bench.ours)
    )
    if len(ours) < bench.tables or sorted(theirs) != sorted(ours):
        raise RuntimeError(f"the sides disagree: {len(theirs)} and {len(ours)} tables")


def footprint(implementation: str, declares: int) -> Footprint:
    with scratch() as directory:
        side = Side(implementation, directory)
        side.namespace.create_namespace(CreateNamespaceRequest(id=[NAMESPACE]))
        for index in range(declares):
            side.namespace.declare_table(DeclareTableRequest(id=[NAMESPACE, table(index)]))
        files = [path for path in (directory / "__manifest").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
    return Footprint(implementation, declares, len(files), size)


def table(index: int) -> str:
    return f"table_{index:06d}"


def known(tables: int, index: int) -> list[str]:
    return [NAMESPACE, table(index * STRIDE % tables)]
