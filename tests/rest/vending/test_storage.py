"""What clients can do in a real object store with what the server gives them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import lance
import lance.namespace
import lancedb
import obstore
import pyarrow as pa
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

import lanceyard
from lanceyard import errors
from lanceyard.server.security.keys import new_key
from lanceyard.server.vending.settings import VendingSettings
from tests.conformance.kit import stream
from tests.rest.serving import server

from . import giving
from .seaweed import BUCKET, KEY, SECRET, GuardedStore, open_store

OTHER = "t1.lance0"
"""A table whose location begins with all of the location of `t1`."""
DENIED = "Access ?Denied|lacked the necessary privileges"
NUMBERS = pa.table({"n": pa.array([1, 2, 3], pa.int64())})
KEYS = {"reader": new_key(), "writer": new_key()}
SECURITY = {
    "keys": [{"name": name, "sha256": digest} for name, (_, digest) in KEYS.items()],
    "grants": [{"to": name, "role": name, "on": ""} for name in KEYS],
}


def directory(seaweed: GuardedStore, **properties: str) -> lanceyard.DirectoryNamespace:
    """An empty catalog in the object store."""
    storage = {f"storage.{name}": value for name, value in seaweed.storage.items()}
    return lanceyard.DirectoryNamespace(
        root=f"s3://{BUCKET}/{uuid.uuid4().hex}", **properties, **storage
    )


@pytest.fixture(scope="module")
def catalog(seaweed: GuardedStore) -> Iterator[lanceyard.DirectoryNamespace]:
    """A catalog with the tables `t1` and `OTHER`."""
    found = directory(seaweed, manifest_enabled="false")
    for name in ("t1", OTHER):
        found.create_table({"id": [name]}, stream(NUMBERS))
    yield found
    found.close()


@pytest.fixture(scope="module")
def address(seaweed: GuardedStore, catalog: lanceyard.DirectoryNamespace) -> str:
    """Where it is served to a reader and a writer, with credentials of STS."""
    return server().serve(catalog, security=SECURITY, vending=seaweed.sts)


def client(address: str, who: str) -> Any:
    """The client of pylance, with somebody's key."""
    return lance.namespace.RestNamespace(uri=address, **{"header.x-api-key": KEYS[who][0]})


def described(address: str, who: str, name: str, **said: Any) -> Any:
    key = {"headers.x-api-key": KEYS[who][0]}
    ours = lanceyard.RestNamespace(uri=address, retries="0", **key)
    try:
        return ours.describe_table({"id": [name], **said})
    finally:
        ours.close()


def files(location: str, options: dict[str, str]) -> S3Store:
    """A table's files, by what a client was given."""
    return open_store(BUCKET, options, location.removeprefix(f"s3://{BUCKET}/"))


def names(store: S3Store, prefix: str | None) -> list[str]:
    return [each["path"] for page in obstore.list(store, prefix) for each in page]


def test_a_reader_reads_and_cannot_write(address: str) -> None:
    table = {"namespace_client": client(address, "reader"), "table_id": ["t1"]}
    assert lance.dataset(**table).to_table() == NUMBERS
    with pytest.raises((OSError, ValueError), match=DENIED):
        lance.write_dataset(NUMBERS, mode="append", **table)
    assert lance.dataset(**table).count_rows() == 3


def test_lancedb_opens_a_table_with_what_it_is_given(address: str) -> None:
    key = {"header.x-api-key": KEYS["reader"][0]}
    database = lancedb.connect_namespace("rest", {"uri": address, **key})
    assert database.open_table("t1").to_arrow() == NUMBERS


def test_a_writer_creates_appends_updates_and_deletes(address: str) -> None:
    table = {"namespace_client": client(address, "writer"), "table_id": [f"w{uuid.uuid4().hex}"]}
    lance.write_dataset(NUMBERS, mode="create", **table)
    lance.write_dataset(NUMBERS, mode="append", **table)
    dataset = lance.dataset(**table)
    dataset.delete("n = 1")
    dataset.create_scalar_index("n", "BTREE")
    dataset.cleanup_old_versions(older_than=timedelta(0))
    assert lance.dataset(**table).count_rows() == 4


@pytest.mark.parametrize("who", ["reader", "writer"])
def test_credentials_of_one_table_open_no_other(address: str, who: str) -> None:
    mine, other = (described(address, who, name) for name in ("t1", OTHER))
    (manifest,) = names(files(other.location, other.storage_options), "_versions")
    stranger = files(other.location, mine.storage_options)
    for attempt in (
        lambda: obstore.get(stranger, manifest),
        lambda: obstore.put(stranger, "x", b"x"),
        lambda: obstore.delete(stranger, manifest),
        lambda: obstore.delete(stranger, [manifest]),
    ):
        with pytest.raises(BaseError, match=DENIED):
            attempt()
    assert names(files(other.location, other.storage_options), "_versions") == [manifest]


@pytest.mark.parametrize("prefix", [None, f"{OTHER}.lance"])
def test_credentials_of_one_table_list_no_other(address: str, prefix: str | None) -> None:
    mine = described(address, "writer", "t1")
    root = files(mine.location.rsplit("/", 1)[0], mine.storage_options)
    assert names(root, "t1.lance")
    with pytest.raises(BaseError, match=DENIED):
        names(root, prefix)


def test_no_answer_holds_the_keys_of_the_server(address: str) -> None:
    for who in KEYS:
        for asked in ({}, {"vend_credentials": False}, {"load_detailed_metadata": True}):
            told = described(address, who, "t1", **asked).model_dump_json()
            assert KEY not in told
            assert SECRET not in told


def test_credentials_say_when_they_end(address: str) -> None:
    end = int(described(address, "reader", "t1").storage_options["expires_at_millis"]) / 1000
    assert time.time() + 1800 <= end <= time.time() + 3600


def test_pylance_asks_the_server_again_when_credentials_end(
    seaweed: GuardedStore, catalog: lanceyard.DirectoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = giving.Narrow()
    narrow.settings = VendingSettings.model_validate(seaweed.sts)
    monkeypatch.setattr(giving, "NARROW", narrow)
    hook = {"kind": "hook", "hook": f"{giving.__name__}:NARROW.give"}
    place = server().serve(catalog, security=SECURITY, vending=hook)
    dataset = lance.dataset(namespace_client=client(place, "reader"), table_id=["t1"])
    ((first, end),) = narrow.given
    with pytest.raises((OSError, ValueError), match=DENIED):
        lance.dataset(dataset.uri, storage_options={**seaweed.storage, **first}).to_table()
    time.sleep(max(0, end - time.time() + 0.1))
    assert dataset.to_table() == NUMBERS
    assert len(narrow.given) == 2


def test_pylance_is_told_why_there_are_no_credentials(
    seaweed: GuardedStore, catalog: lanceyard.DirectoryNamespace
) -> None:
    down = {**seaweed.sts, "role_arn": seaweed.sts["role_arn"] + "Gone"}
    place = server().serve(catalog, security=SECURITY, vending=down)
    assert "aws_session_token" not in described(place, "reader", "t1").storage_options
    with pytest.raises(errors.ServiceUnavailableError, match="not to be had"):
        described(place, "reader", "t1", vend_credentials=True)
    with pytest.raises(ValueError, match="Service unavailable: credentials for storage"):
        lance.dataset(namespace_client=client(place, "reader"), table_id=["t1"])


def test_a_name_that_a_policy_could_misread_gets_no_credentials(
    address: str, catalog: lanceyard.DirectoryNamespace
) -> None:
    catalog.create_table({"id": ["t*"]}, stream(NUMBERS))
    assert "aws_session_token" not in described(address, "writer", "t*").storage_options
    with pytest.raises(errors.InvalidInputError, match="cannot be limited"):
        described(address, "writer", "t*", vend_credentials=True)


def test_writers_commit_managed_versions_with_what_they_are_given(seaweed: GuardedStore) -> None:
    found = directory(seaweed, dir_listing_enabled="false", table_version_management="true")
    place = server().serve(found, security=SECURITY, vending=seaweed.sts)
    table = {"namespace_client": client(place, "writer"), "table_id": ["t"]}
    lance.write_dataset(NUMBERS, mode="create", **table)
    lance.write_dataset(NUMBERS, mode="append", **table)
    assert lance.dataset(**table).count_rows() == 6
    assert [each.version for each in found.list_table_versions({"id": ["t"]}).versions] == [2, 1]
    found.close()
