"""A catalog in a bucket behind our server: stock clients open tables with what they are given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import lance
import lance_namespace as spec
import lancedb
import pyarrow as pa
import pytest
import urllib3

import lanceyard
from tests.cloud import bucket
from tests.conformance.kit import numbers, stream
from tests.rest.serving import server
from tests.rest.test_process import serving

Serve = Callable[..., str]
SECRETS = [bucket.storage()[f"storage.{name}"] for name in (bucket.KIND.who, bucket.KIND.secret)]


@pytest.fixture
def serve(root: str) -> Iterator[Serve]:
    """Serves the catalog at the root, with a namespace ``ns``, as settings say."""
    namespace = lanceyard.DirectoryNamespace(
        root=root, dir_listing_enabled="false", **bucket.storage()
    )
    namespace.create_namespace({"id": ["ns"]})
    yield lambda **settings: server().serve(namespace, **settings)
    namespace.close()


def answers(address: str) -> str:
    """All that is answered to somebody who makes tables, describes them and goes wrong."""
    http = urllib3.PoolManager()

    def ask(path: str, body: bytes = b"{}", kind: str = "application/json") -> str:
        headers = {"content-type": kind}
        return http.request(
            "POST", f"{address}/v1/table/{path}", body=body, headers=headers
        ).data.decode()

    rows = stream(numbers(1))
    asks = json.dumps({"vend_credentials": True}).encode()
    return "\n".join(
        [
            ask("ns$t/create", rows, "application/vnd.apache.arrow.stream"),
            ask("ns$t/create", rows, "application/vnd.apache.arrow.stream"),
            ask("ns$u/declare", asks),
            ask("ns$t/describe"),
            ask("ns$t/describe", asks),
            ask("ns$none/describe"),
            ask("ns$t/register", b'{"location": "s3://elsewhere/t"}'),
        ]
    )


def test_a_stock_client_creates_appends_where_it_is_told_queries_and_drops(serve: Serve) -> None:
    client = spec.connect("rest", {"uri": serve()})
    table = ["ns", "t"]
    client.create_table(spec.CreateTableRequest(id=table), stream(numbers(1, 2)))
    described = client.describe_table(spec.DescribeTableRequest(id=table))
    lance.write_dataset(
        numbers(3),
        described.location,
        mode="append",
        storage_options=described.storage_options,
    )
    versions = client.list_table_versions(spec.ListTableVersionsRequest(id=table)).versions
    assert sorted(each.version for each in versions) == [1, 2]
    query = {"id": table, "k": 10, "filter": "n > 1", "vector": {"single_vector": []}}
    found = client.query_table(spec.QueryTableRequest.model_validate(query)).data
    assert pa.ipc.open_file(pa.py_buffer(found)).read_all()["n"].to_pylist() == [2, 3]
    client.drop_table(spec.DropTableRequest(id=table))
    assert client.list_tables(spec.ListTablesRequest(id=["ns"])).tables == []


def test_lancedb_writes_and_searches_a_table_in_a_bucket(serve: Serve) -> None:
    database: Any = lancedb.connect_namespace("rest", {"uri": serve()})
    rows = [{"n": n, "vector": [float(n), 0.0]} for n in range(4)]
    table = database.create_table("t", rows, namespace_path=["ns"])
    table.add([{"n": 4, "vector": [4.0, 0.0]}])
    opened = database.open_table("t", namespace_path=["ns"])
    assert opened.count_rows() == 5
    assert opened.search([3.9, 0.0]).limit(1).to_list()[0]["n"] == 4
    database.drop_table("t", namespace_path=["ns"])


def test_keys_of_the_catalog_are_told_only_where_that_is_wanted(serve: Serve) -> None:
    told = answers(serve(vending={"kind": "none"}))
    assert "s3://" in told or "az://" in told
    assert not [secret for secret in SECRETS if secret in told]


def test_keys_in_the_environment_of_a_server_are_told_to_nobody(root: str) -> None:
    bucket.announce()
    with serving(root) as (address, _):
        lanceyard.open(address).create_namespace("ns")
        told = answers(address)
        assert lanceyard.open(address).table("ns.t").read().num_rows == 1
    assert f"{root}/" in told
    assert not [secret for secret in SECRETS if secret in told]
