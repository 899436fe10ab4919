"""What the cases are written with: the catalog under test, refusals and Arrow bodies."""

from __future__ import annotations

import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import lance_namespace as spec
import obstore
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError
from lance_namespace_urllib3_client.models.version_range import VersionRange
from obstore.store import LocalStore

from tests.cloud.paths import PREFIX, ObjectPath

if TYPE_CHECKING:
    from .backends import Backend

Identifier = list[str] | None
Place = Path | ObjectPath
"""Where files lie: on disk, or in a bucket."""


def applies(**capabilities: object) -> pytest.MarkDecorator:
    """Collect a case only for the backends that have these capabilities."""
    return pytest.mark.applies(**capabilities)


def matches(backend: Backend, capabilities: Mapping[str, Any]) -> bool:
    """Whether a backend has these capabilities."""
    return all(getattr(backend, name) == value for name, value in capabilities.items())


@contextmanager
def refused(code: ErrorCode) -> Iterator[None]:
    """The block must raise a LanceNamespaceError with exactly this code."""
    try:
        yield
    except LanceNamespaceError as error:
        if error.code != code:
            pytest.fail(f"refused: {error.code:d} {type(error).__name__}, not {code:d}: {error}")
    else:
        pytest.fail(f"accepted, not refused with {code:d}")


def numbers(*values: int) -> pa.Table:
    """A table with one column of numbers."""
    return pa.table({"n": pa.array(values, pa.int64())})


def stream(data: pa.Table) -> bytes:
    """The Arrow IPC stream of a table: the body of CreateTable."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return sink.getvalue()


def directory(location: str | None) -> Place:
    """The directory a location names."""
    assert location, "no location"
    if location.startswith(PREFIX):
        return ObjectPath.of(location)
    return Path(location.removeprefix("file://"))


def read(location: str | None) -> list[object]:
    """The numbers in the Lance table at a location, as any reader would see them."""
    assert location, "no location"
    values: list[object] = lance.dataset(location).to_table()["n"].to_pylist()
    return values


def write_lance(path: Place, *values: int) -> Place:
    """A Lance table of numbers that no catalog knows about."""
    lance.write_dataset(numbers(*values), str(path))
    return path


def copy(source: Place, target: Place) -> None:
    """Copy a directory to where nothing is."""
    if isinstance(source, ObjectPath):
        source.copy(target)
    else:
        shutil.copytree(source, target)


def remove(place: Place) -> None:
    """Remove a directory, if it is there, behind the catalog's back."""
    if isinstance(place, ObjectPath):
        place.rmtree()
    else:
        shutil.rmtree(place, ignore_errors=True)


def second_name(path: Place, name: str) -> Place:
    """Let a file appear under another name too."""
    other = path.with_name(name)
    if isinstance(path, ObjectPath):
        path.copy(other)
    else:
        os.link(path, other)
    return other


def versions_in(table: Place, branch: str | None = None) -> Place:
    """Where a Lance table, or a branch of it, keeps its manifests."""
    return (table / "tree" / branch if branch else table) / "_versions"


def manifest_name(version: int, *, counting_up: bool = False) -> str:
    """The name of a manifest: it counts down, so that a listing begins with the newest."""
    return f"{version}.manifest" if counting_up else f"{2**64 - 1 - version:020d}.manifest"


each_naming = pytest.mark.parametrize("history", ["counting_down", "counting_up"], indirect=True)
"""Try a rule with both ways in which Lance names manifests."""


def count_up(table: Place) -> None:
    """Name the manifests of a Lance table as Lance did before: by their version."""
    for path in versions_in(table).glob("*.manifest"):
        path.rename(path.with_name(manifest_name(2**64 - 1 - int(path.stem), counting_up=True)))


def stage(
    table: Place, version: int, *, like: int = 1, branch: str | None = None
) -> dict[str, Any]:
    """Stage a manifest, a copy of an older one, and say what a request says to create it."""
    folder = versions_in(table, branch)
    counting_up = (folder / manifest_name(like, counting_up=True)).exists()
    source = folder / manifest_name(like, counting_up=counting_up)
    staged = folder / f"{manifest_name(version, counting_up=counting_up)}-{uuid.uuid4()}"
    staged.write_bytes(source.read_bytes())
    return as_staged(staged, version)


def as_staged(path: Place, version: int) -> dict[str, Any]:
    """What a request says that makes a staged manifest a version."""
    remote = isinstance(path, ObjectPath)
    return {
        "version": version,
        "manifest_path": path.key if remote else str(path).lstrip("/"),
        "manifest_size": path.stat().st_size,
        "e_tag": path.stat().e_tag if remote else _local_e_tag(path),
    }


def _local_e_tag(path: Path) -> str | None:
    return obstore.head(LocalStore(path.parent), path.name)["e_tag"]


NOWHERE: dict[str, Any] = {"version": 3, "manifest_path": f"nowhere/{manifest_name(3)}-1"}
"""What a request says whose manifest was never staged."""


@dataclass(frozen=True)
class Catalog:
    """A namespace under test. Each operation takes an identifier and the request's other fields."""

    client: spec.LanceNamespace
    backend: Backend
    root: Place

    def beside(self, mode: str) -> Catalog:
        """Another client of the same root, in another mode."""
        backend = self.backend.beside(mode)
        return Catalog(backend.open(self.root), backend, self.root)

    def again(self) -> Catalog:
        """A second client of the same catalog."""
        return Catalog(self.backend.open(self.root), self.backend, self.root)

    @property
    def plain(self) -> Any:
        """The client for what its type does not tell: requests as dicts, and our extensions."""
        return self.client

    def create_namespace(
        self, identifier: Identifier, **fields: Any
    ) -> spec.CreateNamespaceResponse:
        return self.client.create_namespace(spec.CreateNamespaceRequest(id=identifier, **fields))

    def describe_namespace(self, identifier: Identifier) -> spec.DescribeNamespaceResponse:
        return self.client.describe_namespace(spec.DescribeNamespaceRequest(id=identifier))

    def namespace_exists(self, identifier: Identifier) -> None:
        self.client.namespace_exists(spec.NamespaceExistsRequest(id=identifier))

    def drop_namespace(self, identifier: Identifier, **fields: Any) -> spec.DropNamespaceResponse:
        return self.client.drop_namespace(spec.DropNamespaceRequest(id=identifier, **fields))

    def list_namespaces(self, identifier: Identifier, **fields: Any) -> spec.ListNamespacesResponse:
        return self.client.list_namespaces(spec.ListNamespacesRequest(id=identifier, **fields))

    def list_tables(self, identifier: Identifier, **fields: Any) -> spec.ListTablesResponse:
        return self.client.list_tables(spec.ListTablesRequest(id=identifier, **fields))

    def list_all_tables(self, **fields: Any) -> spec.ListTablesResponse:
        return self.client.list_all_tables(spec.ListTablesRequest(**fields))

    def declare_table(self, identifier: Identifier, **fields: Any) -> spec.DeclareTableResponse:
        return self.client.declare_table(spec.DeclareTableRequest(id=identifier, **fields))

    def create_table(
        self, identifier: Identifier, *values: int, **fields: Any
    ) -> spec.CreateTableResponse:
        return self.create_table_from(identifier, stream(numbers(*values)), **fields)

    def create_table_from(
        self, identifier: Identifier, body: Any, **fields: Any
    ) -> spec.CreateTableResponse:
        return self.client.create_table(spec.CreateTableRequest(id=identifier, **fields), body)

    def describe_table(self, identifier: Identifier, **fields: Any) -> spec.DescribeTableResponse:
        return self.client.describe_table(spec.DescribeTableRequest(id=identifier, **fields))

    def table_exists(self, identifier: Identifier, **fields: Any) -> None:
        self.client.table_exists(spec.TableExistsRequest(id=identifier, **fields))

    def register_table(
        self, identifier: Identifier, location: str, **fields: Any
    ) -> spec.RegisterTableResponse:
        request = spec.RegisterTableRequest(id=identifier, location=location, **fields)
        return self.client.register_table(request)

    def deregister_table(self, identifier: Identifier) -> spec.DeregisterTableResponse:
        return self.client.deregister_table(spec.DeregisterTableRequest(id=identifier))

    def drop_table(self, identifier: Identifier) -> spec.DropTableResponse:
        return self.client.drop_table(spec.DropTableRequest(id=identifier))

    def rename_table(
        self, identifier: Identifier, new_table_name: str, **fields: Any
    ) -> spec.RenameTableResponse:
        request = spec.RenameTableRequest(id=identifier, new_table_name=new_table_name, **fields)
        return self.client.rename_table(request)

    def list_table_versions(
        self, identifier: Identifier, **fields: Any
    ) -> spec.ListTableVersionsResponse:
        request = spec.ListTableVersionsRequest(id=identifier, **fields)
        return self.client.list_table_versions(request)

    def describe_table_version(self, identifier: Identifier, **fields: Any) -> spec.TableVersion:
        request = spec.DescribeTableVersionRequest(id=identifier, **fields)
        return self.client.describe_table_version(request).version

    def create_table_version(self, identifier: Identifier, **fields: Any) -> spec.TableVersion:
        request = spec.CreateTableVersionRequest(id=identifier, **fields)
        version = self.client.create_table_version(request).version
        assert version, "no version"
        return version

    def delete_table_versions(
        self, identifier: Identifier, *ranges: tuple[int, int], **fields: Any
    ) -> int | None:
        """BatchDeleteTableVersions, and how many it deleted."""
        request = spec.BatchDeleteTableVersionsRequest(
            id=identifier,
            ranges=[VersionRange(start_version=start, end_version=end) for start, end in ranges],
            **fields,
        )
        return self.client.batch_delete_table_versions(request).deleted_count

    def create_table_versions(self, *entries: Mapping[str, Any]) -> list[spec.TableVersion]:
        """BatchCreateTableVersions."""
        request = spec.BatchCreateTableVersionsRequest(
            entries=[spec.CreateTableVersionEntry(**entry) for entry in entries]
        )
        return self.client.batch_create_table_versions(request).versions

    def commit(self, *operations: Mapping[str, Any]) -> list[spec.CommitTableResult]:
        """BatchCommitTables; each operation is a dict of its kind and its request."""
        request = spec.BatchCommitTablesRequest(
            operations=[spec.CommitTableOperation.model_validate(each) for each in operations]
        )
        return self.client.batch_commit_tables(request).results

    def do(self, name: str, identifier: Identifier, /, *body: bytes, **fields: Any) -> Any:
        """Any other operation, by its name in the client."""
        models = {"create_table_scalar_index": "CreateTableIndexRequest"}
        model = getattr(spec, models.get(name) or f"{name.title().replace('_', '')}Request")
        return getattr(self.client, name)(model(id=identifier, **fields), *body)

    def insert(self, identifier: Identifier, *values: int, **fields: Any) -> Any:
        """InsertIntoTable."""
        return self.do("insert_into_table", identifier, stream(numbers(*values)), **fields)

    def count(self, identifier: Identifier, **fields: Any) -> int:
        """CountTableRows. The reference answers with the bare number."""
        answer = self.do("count_table_rows", identifier, **fields)
        return int(getattr(answer, "count", answer))

    def query(self, identifier: Identifier, **fields: Any) -> pa.Table:
        """QueryTable, for ten rows unless fields say otherwise."""
        request = spec.QueryTableRequest.model_validate(
            {"id": identifier, "vector": {}, "k": 10, **fields}
        )
        data = self.client.query_table(request).data
        assert isinstance(data, bytes)
        return pa.ipc.open_file(data).read_all()

    def explain(self, identifier: Identifier, *, verbose: bool = False, **fields: Any) -> str:
        """ExplainTableQueryPlan, of the same query."""
        request = {"id": identifier, "query": {"vector": {}, "k": 10, **fields}, "verbose": verbose}
        return self.client.explain_table_query_plan(
            spec.ExplainTableQueryPlanRequest.model_validate(request)
        )

    def analyze(self, identifier: Identifier, **fields: Any) -> str:
        """AnalyzeTableQueryPlan, of the same query."""
        request = spec.AnalyzeTableQueryPlanRequest.model_validate(
            {"id": identifier, "vector": {}, "k": 10, **fields}
        )
        return self.client.analyze_table_query_plan(request)

    def open(self, identifier: Identifier, **at: Any) -> lance.LanceDataset:
        """A table as plain pylance opens it, past the catalog."""
        return lance.dataset(self.location(identifier), **at)

    def versions(self, identifier: Identifier, **fields: Any) -> list[int]:
        """The numbers of a table's versions, as they are listed."""
        return [each.version for each in self.list_table_versions(identifier, **fields).versions]

    def manifest(self, identifier: Identifier, version: int) -> bytes:
        """The manifest of a version, read under its final name."""
        path = self.describe_table_version(identifier, version=version).manifest_path
        return self.file(path).read_bytes()

    def file(self, manifest_path: str) -> Place:
        """The file at a path as manifests are named: without the bucket, or the disk's root."""
        return ObjectPath(manifest_path) if self.backend.remote else Path("/" + manifest_path)

    def append(self, identifier: Identifier, *values: int) -> lance.LanceDataset:
        """Append to a table as pylance does: through the catalog, if that manages versions."""
        place: dict[str, Any] = {"uri": self.location(identifier)}
        if self.backend.managed:
            place = {"namespace_client": self.client, "table_id": identifier}
        return lance.write_dataset(numbers(*values), mode="append", **place)

    def namespaces(self, identifier: Identifier) -> list[str]:
        """The names of the child namespaces."""
        return self.list_namespaces(identifier).namespaces

    def tables(self, identifier: Identifier) -> list[str]:
        """The names of the tables in a namespace."""
        return self.list_tables(identifier).tables

    def location(self, identifier: Identifier) -> str:
        """Where a table lies."""
        location = self.describe_table(identifier).location
        assert location, "no location"
        return location

    def directory(self, identifier: Identifier) -> Place:
        """The directory of a table."""
        return directory(self.location(identifier))

    def rows(self, identifier: Identifier) -> list[object]:
        """The numbers in a table, read from its location."""
        return read(self.location(identifier))

    def inside(self, location: str | None) -> str:
        """A location as a request names it: relative to the root, where that is known."""
        path = directory(location)
        return str(path.relative_to(self.root) if self.backend.on_disk else path)

    def left_over(self, identifier: Identifier, *values: int) -> str:
        """The location of a Lance table inside the root which no identifier names any more."""
        self.create_table(identifier, *values)
        location = self.deregister_table(identifier).location
        assert location, "no location"
        return location


Act = Callable[[Catalog, Identifier], object]

TABLE_READS: dict[str, Act] = {
    "describe_table": lambda catalog, table: catalog.describe_table(table),
    "table_exists": lambda catalog, table: catalog.table_exists(table),
}
"""Operations that look a table up."""

TABLE_REMOVALS: dict[str, Act] = {
    "deregister_table": lambda catalog, table: catalog.deregister_table(table),
    "drop_table": lambda catalog, table: catalog.drop_table(table),
}
"""Operations that end a table's life under its name."""

TABLE_ADDITIONS: dict[str, Act] = {
    "create_table": lambda catalog, table: catalog.create_table(table, 1),
    "declare_table": lambda catalog, table: catalog.declare_table(table),
    "register_table": lambda catalog, table: catalog.register_table(table, "somewhere"),
}
"""Operations that give a table its name."""

NEW_TABLES = {name: TABLE_ADDITIONS[name] for name in ("create_table", "declare_table")}
"""Operations that choose a location for a new table."""

TABLE_OPERATIONS = TABLE_READS | TABLE_REMOVALS | TABLE_ADDITIONS
"""The operations on a table that every backend has an answer to."""

NAMESPACE_READS: dict[str, Act] = {
    "describe_namespace": lambda catalog, namespace: catalog.describe_namespace(namespace),
    "namespace_exists": lambda catalog, namespace: catalog.namespace_exists(namespace),
    "list_namespaces": lambda catalog, namespace: catalog.list_namespaces(namespace),
    "list_tables": lambda catalog, namespace: catalog.list_tables(namespace),
}
"""Operations that look a namespace up."""

NAMESPACE_CHANGES: dict[str, Act] = {
    "create_namespace": lambda catalog, namespace: catalog.create_namespace(namespace),
    "drop_namespace": lambda catalog, namespace: catalog.drop_namespace(namespace),
}
"""Operations that make or remove a namespace."""


def each(acts: dict[str, Act]) -> pytest.MarkDecorator:
    """Try a rule with each of these operations that a backend has, as the argument `act`."""
    needs = {"declare_table": applies(declare=True)}
    return pytest.mark.parametrize(
        "act",
        [pytest.param(act, id=name, marks=needs.get(name, ())) for name, act in acts.items()],
    )
