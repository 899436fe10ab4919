"""CreateTable: a name, a location and the data of an Arrow IPC stream."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

from .kit import Catalog, applies, directory, numbers, read, refused, stream

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_created_table_holds_the_data(catalog: Catalog, home: list[str]) -> None:
    location = catalog.create_table([*home, "t"], 1, 2, 3).location
    assert read(location) == [1, 2, 3]


def test_a_created_table_is_listed(catalog: Catalog, home: list[str], table: list[str]) -> None:
    assert catalog.tables(home) == ["t"]


def test_creating_returns_the_location_that_describing_returns(
    catalog: Catalog, home: list[str]
) -> None:
    location = catalog.create_table([*home, "t"], 1).location
    assert catalog.location([*home, "t"]) == location


def test_the_first_version_of_a_created_table_is_one(catalog: Catalog, home: list[str]) -> None:
    """004, Table Version: version numbers start from 1."""
    assert catalog.create_table([*home, "t"], 1).version == 1


def test_creating_returns_the_properties(catalog: Catalog, home: list[str]) -> None:
    assert catalog.create_table([*home, "t"], 1, properties={"k": "é"}).properties == {"k": "é"}


def test_a_created_table_keeps_its_properties(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties={"k": "é"})
    assert catalog.describe_table([*home, "t"]).properties == {"k": "é"}


@applies(on_disk=True)
def test_another_client_sees_a_created_table(catalog: Catalog, table: list[str]) -> None:
    assert catalog.again().rows(table) == [1, 2, 3]


@applies(nested=True)
def test_equal_names_in_different_namespaces_are_different_tables(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.create_table(["t"], 1)
    catalog.create_table([*ns, "t"], 2)
    assert catalog.rows(["t"]) + catalog.rows([*ns, "t"]) == [1, 2]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "é"]),
        pa.array([[0.5, 1.5], [2.5, 3.5]], pa.list_(pa.float32(), 2)),
        pa.array([{"x": 1, "y": ["z"]}, None]),
        pa.array([b"\x00", b""], pa.large_binary()),
        pa.array([0, 1], pa.timestamp("us", "UTC")),
        pa.array(["a", "b", "a"]).dictionary_encode(),
    ],
    ids=["text", "vector", "struct", "binary", "timestamp", "dictionary"],
)
def test_a_column_of_any_type_survives(catalog: Catalog, column: pa.Array) -> None:
    location = catalog.create_table_from(["t"], stream(pa.table({"c": column}))).location
    assert lance.dataset(location).to_table()["c"].to_pylist() == column.to_pylist()


def test_a_stream_of_many_batches_is_one_table(catalog: Catalog, home: list[str]) -> None:
    batches = pa.concat_tables([numbers(1), numbers(2, 3), numbers(), numbers(4)])
    catalog.create_table_from([*home, "t"], stream(batches))
    assert catalog.rows([*home, "t"]) == [1, 2, 3, 4]


def test_a_stream_with_only_a_schema_makes_an_empty_table(
    catalog: Catalog, home: list[str]
) -> None:
    location = catalog.create_table([*home, "t"]).location
    dataset = lance.dataset(location)
    assert (dataset.schema, dataset.count_rows()) == (numbers().schema, 0)


@applies(extensions=True)
@pytest.mark.parametrize(
    "form",
    [
        bytearray,
        memoryview,
        io.BytesIO,
        pa.py_buffer,
        lambda body: [body[:7], body[7:]],
        lambda body: (body[at : at + 16] for at in range(0, len(body), 16)),
    ],
    ids=["bytearray", "memoryview", "file", "buffer", "list", "generator"],
)
def test_a_body_comes_in_many_forms(catalog: Catalog, form: Callable[[bytes], Any]) -> None:
    catalog.create_table_from(["t"], form(stream(numbers(1, 2))))
    assert catalog.rows(["t"]) == [1, 2]


NO_STREAMS = {
    "empty": b"",
    "garbage": b"\5\0\0\0this is no Arrow IPC stream",
    "truncated": stream(numbers(1, 2, 3))[:40],
}
no_stream = pytest.mark.parametrize("body", NO_STREAMS.values(), ids=NO_STREAMS.keys())


@no_stream
def test_a_body_that_is_no_stream_is_refused(
    catalog: Catalog, home: list[str], body: bytes
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_from([*home, "t"], body)


@no_stream
def test_a_refused_body_leaves_no_table_behind(
    catalog: Catalog, home: list[str], body: bytes
) -> None:
    with pytest.raises(LanceNamespaceError):
        catalog.create_table_from([*home, "t"], body)
    assert catalog.tables(home) == []


@no_stream
def test_a_refused_body_leaves_an_existing_table_alone(
    catalog: Catalog, table: list[str], body: bytes
) -> None:
    with pytest.raises(LanceNamespaceError):
        catalog.create_table_from(table, body, mode="overwrite")
    assert catalog.rows(table) == [1, 2, 3]


@pytest.mark.parametrize("mode", [None, "Create"])
def test_creating_an_existing_table_is_refused(
    catalog: Catalog, table: list[str], mode: str | None
) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.create_table(table, 9, mode=mode)


def test_a_refused_creation_leaves_the_table_alone(catalog: Catalog, table: list[str]) -> None:
    with pytest.raises(LanceNamespaceError):
        catalog.create_table(table, 9)
    assert catalog.rows(table) == [1, 2, 3]


@pytest.mark.parametrize("mode", ["exist_ok", "ExistOk"])
def test_exist_ok_keeps_an_existing_table(catalog: Catalog, table: list[str], mode: str) -> None:
    catalog.create_table(table, 9, mode=mode)
    assert catalog.rows(table) == [1, 2, 3]


@pytest.mark.parametrize("mode", ["overwrite", "OVERWRITE"])
def test_overwriting_replaces_the_data(catalog: Catalog, table: list[str], mode: str) -> None:
    catalog.create_table(table, 9, mode=mode)
    assert catalog.rows(table) == [9]


def test_overwriting_replaces_the_schema(catalog: Catalog, table: list[str]) -> None:
    other = pa.table({"other": ["x"]})
    location = catalog.create_table_from(table, stream(other), mode="overwrite").location
    assert lance.dataset(location).to_table() == other


def test_overwriting_replaces_the_properties(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties={"old": "1"})
    catalog.create_table([*home, "t"], 2, mode="overwrite", properties={"new": "2"})
    assert catalog.describe_table([*home, "t"]).properties == {"new": "2"}


@pytest.mark.parametrize("mode", ["exist_ok", "overwrite"])
def test_every_mode_creates_a_missing_table(catalog: Catalog, home: list[str], mode: str) -> None:
    catalog.create_table([*home, "t"], 1, mode=mode)
    assert catalog.rows([*home, "t"]) == [1]


@pytest.mark.parametrize("mode", ["garbage", ""])
def test_an_unknown_mode_of_creating_is_refused(
    catalog: Catalog, home: list[str], mode: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table([*home, "t"], 1, mode=mode)


@applies(nested=True, one_name=True)
@pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
def test_creating_a_table_over_a_namespace_is_refused(
    catalog: Catalog, ns: list[str], mode: str
) -> None:
    """004, Object Name: a name is unique among all objects of the same parent."""
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.create_table(ns, 1, mode=mode)


@applies(nested=True)
@pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
def test_creating_in_a_missing_namespace_is_refused(
    catalog: Catalog, ns: list[str], mode: str
) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.create_table(["missing", "t"], 1, mode=mode)


@applies(nested=True)
def test_creating_under_a_table_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.create_table([*table, "t"], 1)


@applies(on_disk=True)
def test_a_refused_creation_leaves_nothing_on_disk(catalog: Catalog, table: list[str]) -> None:
    before = sorted(path.name for path in catalog.root.iterdir())
    with pytest.raises(LanceNamespaceError):
        catalog.create_table(table, 9)
    assert sorted(path.name for path in catalog.root.iterdir()) == before


def test_a_table_can_be_created_again_after_a_drop(catalog: Catalog, table: list[str]) -> None:
    catalog.drop_table(table)
    location = catalog.create_table(table, 8).location
    assert directory(location).exists()
    assert catalog.rows(table) == [8]
