"""Real clients, unchanged, against our server."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import lance.namespace
import lance_namespace as spec
import lancedb
import pyarrow as pa
import pytest
from lance_namespace_urllib3_client import ApiClient, Configuration
from lance_namespace_urllib3_client.api.namespace_api import NamespaceApi
from lance_namespace_urllib3_client.api.table_api import TableApi
from lance_namespace_urllib3_client.exceptions import NotFoundException

import lanceyard
from lanceyard import errors
from tests.conformance.kit import stream
from tests.rest.appending import APPENDS, append

from .serving import server

NUMBERS = pa.table({"n": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[lanceyard.DirectoryNamespace]:
    """A catalog with a namespace `a b` and a table `t` in it."""
    found = lanceyard.DirectoryNamespace(root=str(tmp_path), dir_listing_enabled="false")
    found.create_namespace({"id": ["a b"]})
    found.create_table({"id": ["a b", "t"]}, stream(NUMBERS))
    yield found
    found.close()


@pytest.fixture
def address(namespace: lanceyard.DirectoryNamespace) -> str:
    """Where it is served."""
    return server().serve(namespace)


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[str]:
    """Where a catalog is served that manages the versions of its table `t`."""
    with lanceyard.open(tmp_path / "managed", dir_listing_enabled="false") as yard:
        yard.manage_versions(wait=timedelta(0))
        yard.create_table("t", NUMBERS)
        yield server().serve(yard.namespace)


def test_the_generated_client_lists_creates_counts_and_queries(address: str) -> None:
    client = ApiClient(Configuration(host=address))
    tables = TableApi(client)
    assert NamespaceApi(client).list_namespaces("$").namespaces == ["a b"]
    created = tables.create_table("a b$u", stream(NUMBERS), mode="create")
    assert created.version == 1
    assert tables.count_table_rows("a b$u", spec.CountTableRowsRequest()) == 3
    query = spec.QueryTableRequest.model_validate({"k": 2, "vector": {"single_vector": []}})
    answer = pa.ipc.open_file(pa.py_buffer(tables.query_table("a b$u", query))).read_all()
    assert answer["n"].to_pylist() == [1, 2]


def test_the_generated_client_reads_our_errors(address: str) -> None:
    with pytest.raises(NotFoundException) as failure:
        TableApi(ApiClient(Configuration(host=address))).describe_table(
            "a b$nope", spec.DescribeTableRequest()
        )
    assert failure.value.data.code == 4


def test_the_client_of_pylance_does_everything_it_can(address: str) -> None:
    client = lance.namespace.RestNamespace(uri=address)
    identifier = ["a b", "t"]
    assert client.list_tables(spec.ListTablesRequest(id=["a b"])).tables == ["t"]
    client.insert_into_table(spec.InsertIntoTableRequest(id=identifier), stream(NUMBERS))
    assert client.count_table_rows(spec.CountTableRowsRequest(id=identifier)).count == 6
    tag = spec.CreateTableTagRequest(id=identifier, tag="x", version=1)
    client.create_table_tag(tag)
    tags = client.list_table_tags(spec.ListTableTagsRequest(id=identifier)).tags
    assert {name: each.version for name, each in tags.items()} == {"x": 1}
    client.rename_table(spec.RenameTableRequest(id=identifier, new_table_name="u"))
    client.table_exists(spec.TableExistsRequest(id=["a b", "u"]))
    with pytest.raises(errors.TableNotFoundError):
        client.describe_table(spec.DescribeTableRequest(id=identifier))


@pytest.mark.parametrize("client", [lance.namespace.RestNamespace, lanceyard.RestNamespace])
def test_pylance_reads_and_writes_tables_of_the_server(address: str, client: Any) -> None:
    place = {"namespace_client": client(uri=address), "table_id": ["a b", "t"]}
    lance.write_dataset(NUMBERS, mode="append", **place)
    assert lance.dataset(**place).count_rows() == 6


def test_eight_processes_commit_through_managed_versions(managed: str) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(8, context) as pool:
        list(pool.map(append, [managed] * 8, range(8)))
    client = lanceyard.RestNamespace(uri=managed)
    rows = lance.dataset(namespace_client=client, table_id=["t"]).to_table()["n"].to_pylist()
    assert sorted(rows) == sorted(
        [1, 2, 3, *(p * 1_000 + step for p in range(8) for step in range(APPENDS))]
    )
    versions = client.list_table_versions({"id": ["t"]}).versions
    assert len(versions) == versions[0].version == 1 + 8 * APPENDS


def test_lancedb_connects_to_the_server(address: str) -> None:
    database = lancedb.connect_namespace("rest", {"uri": address})
    assert database.list_tables(namespace_path=["a b"]).tables == ["t"]
    table = database.create_table("v", NUMBERS, namespace_path=["a b"])
    table.add(NUMBERS)
    assert table.count_rows() == 6
    assert (
        database.open_table("v", namespace_path=["a b"]).search().limit(2).to_arrow().num_rows == 2
    )
    database.drop_table("v", namespace_path=["a b"])
    assert database.list_tables(namespace_path=["a b"]).tables == ["t"]


def test_our_client_survives_pickling(address: str) -> None:
    client = pickle.loads(pickle.dumps(lanceyard.RestNamespace(uri=address)))
    assert client.list_all_tables({}).tables == ["a b$t"]


def test_a_yard_is_opened_over_a_server(address: str) -> None:
    yard = lanceyard.open(address)
    table = yard.table(["a b", "t"])
    assert table.append({"n": [4]}).count() == 4
    assert table.search(limit=2).num_rows == 2
    assert yard.tree() == ".\n└── a b\n    └── t"


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(errors.ServiceUnavailableError, match="cannot be reached"):
        lanceyard.RestNamespace(uri="http://127.0.0.1:9", retries="0").list_all_tables({})


@pytest.mark.parametrize("uri", ["", "localhost:80", "ftp://x"])
def test_a_bad_address_is_refused(uri: str) -> None:
    with pytest.raises(errors.InvalidInputError, match="uri"):
        lanceyard.RestNamespace(uri=uri)
