"""Managed tables: stock handles on a catalog that keeps versions, and proof that it settles."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pyarrow as pa
from lance_namespace import LanceNamespace
from lance_namespace.errors import LanceNamespaceError

import lanceyard
from lanceyard.catalog.directory import open_catalog
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from lanceyard.storage.base import Store
from lanceyard.storage.failing import FailingStore, Moment
from lanceyard.storage.local import LocalStore

MODES: dict[str, dict[str, str]] = {"v2": {"dir_listing_enabled": "false"}, "compat": {}}


def properties(root: str | Path, mode: str = "v2") -> dict[str, str]:
    """What a client gives to open a catalog that keeps versions."""
    managed = {"table_version_management": "true", "durability": "os"}
    return {"root": str(root), **managed, **MODES[mode]}


def open_managed(root: str | Path, mode: str = "v2") -> Any:
    """An instance that has not looked at storage yet; requests are plain dicts."""
    return lanceyard.DirectoryNamespace(**properties(root, mode))


def open_upon(store: Store, root: str | Path) -> Any:
    """An instance whose storage is in the hands of a test."""
    settings = DirectorySettings(
        root=str(root),
        dir_listing_enabled=False,
        durability=Durability.OS,
        table_version_management=True,
    )
    return Namespace(open_catalog(settings, store=store))


def numbers(*rows: int) -> pa.Table:
    return pa.table({"n": pa.array(rows, pa.int64())})


def create(ns: LanceNamespace, table: str, *rows: int) -> Any:
    return lance.write_dataset(numbers(*rows), namespace_client=ns, table_id=[table], mode="create")


def append(ns: LanceNamespace, table: str, *rows: int) -> Any:
    return lance.write_dataset(numbers(*rows), namespace_client=ns, table_id=[table], mode="append")


def handle(ns: LanceNamespace, table: str, version: int | str | None = None) -> Any:
    return lance.dataset(namespace_client=ns, table_id=[table], version=version)


def rows(ns: LanceNamespace, table: str, version: int | str | None = None) -> list[int]:
    """What a handle that is opened now reads, in order."""
    return content(handle(ns, table, version))


def content(dataset: lance.LanceDataset) -> list[int]:
    return sorted(dataset.to_table(columns=["n"])["n"].to_pylist())


def location(ns: Any, table: str) -> str:
    found: str = ns.describe_table({"id": [table]}).location
    return found


def versions(ns: Any, table: str, **more: Any) -> list[int]:
    """The versions that a catalog lists, latest first."""
    listed = ns.list_table_versions({"id": [table], **more}).versions
    return [version.version for version in listed]


def write_past(ns: Any, table: str, *rows: int) -> None:
    """Append to the directory of a table, as one who does not know of the catalog."""
    lance.write_dataset(numbers(*rows), location(ns, table), mode="append")


def foreign(ns: Any, table: str) -> list[str]:
    """The manifests that were moved aside."""
    folder = Path(location(ns, table), "_versions")
    return sorted(path.name for path in folder.glob("*.manifest-foreign-*"))


class VersionRow(NamedTuple):
    """A version as its row in the manifest has it, read without any catalog."""

    table: str
    number: int
    said: dict[str, Any]


def version_rows(root: str | Path) -> list[VersionRow]:
    found = lance.dataset(f"{root}/__manifest").to_table(
        columns=["object_id", "metadata"], filter="object_type = 'table_version'"
    )
    result = []
    for row in found.to_pylist():
        table, _, number = row["object_id"].rpartition("$")
        result.append(VersionRow(table, int(number), json.loads(row["metadata"])))
    return sorted(result, key=lambda row: row[:2])


def numbers_of(root: str | Path, table: str) -> list[int]:
    """The versions of a table that are rows, oldest first."""
    return [row.number for row in version_rows(root) if row.table == table]


def check_settled(root: str | Path, *, removed: bool = False) -> None:
    """Every row speaks of a published manifest, and none of those is staged any more.

    With `removed`, others may have removed manifests.
    """
    for row in version_rows(root):
        assert row.said["manifest_path"].endswith(".manifest"), row
        assert removed or Path(root, row.said["manifest_path"]).is_file(), row
        staged = row.said.get("staging_path")
        assert staged is None or not Path(root, staged).exists(), row


def staged_files(root: str | Path) -> list[str]:
    """Manifests under the names that their writers gave them before they asked for a version."""
    found = Path(root).glob("*/_versions/*.manifest-*")
    return sorted(path.name for path in found if "-foreign-" not in path.name)


class Stage(LanceNamespace):
    """A namespace whose handles stage versions, and leave it to a test to create them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._staged: list[dict[str, Any]] = []

    def namespace_id(self) -> str:
        return f"stage of {self._inner.namespace_id()}"

    def describe_table(self, request: Any) -> Any:
        return self._inner.describe_table(request)

    def list_table_versions(self, request: Any) -> Any:
        return self._inner.list_table_versions(request)

    def describe_table_version(self, request: Any) -> Any:
        return self._inner.describe_table_version(request)

    def create_table_version(self, request: Any) -> Any:
        asked = dict(request)
        self._staged.append(asked)
        said = ("version", "manifest_path", "manifest_size", "e_tag")
        return {"version": {key: asked.get(key) for key in said}}

    def take(self) -> list[dict[str, Any]]:
        """The requests that were held back since, in their order."""
        taken, self._staged = self._staged, []
        return taken


class Unpublished(FailingStore):
    """A store that fails to publish as long as it is told to."""

    def __init__(self, root: Path) -> None:
        super().__init__(LocalStore(str(root)), 0, Moment.BEFORE)
        self.fails = True

    def copy_if_absent(self, source: str, target: str) -> bool:
        if self.fails:
            raise OSError(f"{target} cannot be written")
        return super().copy_if_absent(source, target)


class Staged(NamedTuple):
    """Handles of several tables on one stage."""

    stage: Stage
    handles: Sequence[Any]

    def insert(self, *rows: int) -> list[dict[str, Any]]:
        """Stage the same rows in every table, and return the requests for it."""
        for each in self.handles:
            each.insert(numbers(*rows))
        return self.stage.take()


def on_stage(ns: Any, tables: Sequence[str]) -> Staged:
    stage = Stage(ns)
    return Staged(stage, [handle(stage, table) for table in tables])


# What processes do in races; each opens the catalog by itself.


def append_many(root: str, mode: str, table: str, values: Sequence[int]) -> list[str]:
    """Append rows one by one, and return what went wrong."""
    ns = open_managed(root, mode)
    failures = []
    for value in values:
        try:
            append(ns, table, value)
        except OSError as failure:
            failures.append(str(failure))
    ns.close()
    return failures


def land_batches(root: str, tables: Sequence[str], done: str, *, seconds: float, most: int) -> int:
    """Append to all tables at once, again and again, and return how often."""
    ns = open_managed(root)
    staged = on_stage(ns, tables)
    deadline = time.monotonic() + seconds
    count = 0
    while count < most and time.monotonic() < deadline:
        asked = staged.insert(count)
        if count % 2:
            ns.batch_create_table_versions({"entries": asked})
        else:
            ns.batch_commit_tables({"operations": [{"create_table_version": a} for a in asked]})
        count += 1
    ns.close()
    Path(done).touch()
    return count


def send_batch(root: str, asked: list[dict[str, Any]]) -> int | None:
    """Create versions together, and return the code of a refusal."""
    ns = open_managed(root)
    try:
        ns.batch_create_table_versions({"entries": asked})
    except LanceNamespaceError as refusal:
        return int(refusal.code)
    finally:
        ns.close()
    return None


class Sightings(NamedTuple):
    """What a reader saw."""

    states: int
    """How often it looked."""
    versions: set[int]
    torn: list[dict[str, int]]
    """States in which tables of one batch were at different versions."""


def watch_batches(root: str, tables: Sequence[str], done: str) -> Sightings:
    """Look at single states of the catalog until the batches end, and open what is there."""
    ns = open_managed(root)
    manifest = ns._catalog.manifest
    seen: set[int] = set()
    torn = []
    looks = 0
    finished = False
    while not finished:
        finished = Path(done).exists()
        latest: dict[str, int] = manifest.read(
            lambda state: {table: state.versions(table).last for table in tables}
        )
        looks += 1
        if len({*latest.values()}) != 1:
            torn.append(latest)
            continue
        [number] = {*latest.values()}
        if number not in seen:
            seen.add(number)
            table = tables[looks % len(tables)]
            opened = handle(ns, table, number)
            assert opened.version == number
            assert content(opened) == [*range(-1, number - 1)], (table, number)
    ns.close()
    return Sightings(looks, seen, torn)
