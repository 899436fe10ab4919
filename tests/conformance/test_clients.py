"""The clients people have: plain dicts, pickle, pylance, lancedb and lance_namespace."""

from __future__ import annotations

import contextlib
import pickle
from typing import TYPE_CHECKING

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, numbers, refused, stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ours = applies(extensions=True)


@ours
def test_requests_may_be_plain_dicts(catalog: Catalog, home: list[str]) -> None:
    client, table = catalog.plain, {"id": [*home, "t"]}
    client.create_table(table, stream(numbers(1, 2)))
    assert lance.dataset(client.describe_table(table).location).count_rows() == 2


@ours
@applies(nested=True)
def test_requests_about_namespaces_may_be_plain_dicts(catalog: Catalog) -> None:
    client = catalog.plain
    client.create_namespace({"id": ["a"], "properties": {"k": "v"}})
    assert client.describe_namespace({"id": ["a"]}).properties == {"k": "v"}
    client.drop_namespace({"id": ["a"]})
    assert client.list_namespaces({"id": []}).namespaces == []


@ours
def test_listing_with_an_empty_dict_lists_the_root(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1)
    assert catalog.plain.list_tables({}).tables == ["t"]


@ours
def test_a_plain_dict_is_checked_like_a_model(catalog: Catalog) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.list_tables({"id": [], "limit": "many"})


@ours
@applies(on_disk=True)
def test_a_pickled_client_sees_the_same_catalog(catalog: Catalog, table: list[str]) -> None:
    client = pickle.loads(pickle.dumps(catalog.client))
    assert client.describe_table({"id": table}).location == catalog.location(table)


@ours
@applies(on_disk=True)
def test_a_client_can_be_pickled_before_its_first_use(catalog: Catalog) -> None:
    client = pickle.loads(pickle.dumps(catalog.client))
    client.create_table({"id": ["t"]}, stream(numbers(1)))
    assert catalog.rows(["t"]) == [1]


@applies(on_disk=True)
def test_two_clients_of_one_catalog_have_one_identity(catalog: Catalog) -> None:
    assert catalog.client.namespace_id() == catalog.again().client.namespace_id()


def test_pylance_opens_a_table_by_its_identifier(catalog: Catalog, table: list[str]) -> None:
    dataset = lance.dataset(namespace_client=catalog.client, table_id=table)
    assert dataset.to_table() == numbers(1, 2, 3)


@applies(declare=True)
def test_pylance_creates_a_table_by_its_identifier(catalog: Catalog, home: list[str]) -> None:
    identifier = [*home, "t"]
    lance.write_dataset(numbers(1, 2), namespace_client=catalog.client, table_id=identifier)
    assert catalog.rows(identifier) == [1, 2]


@pytest.mark.parametrize(("mode", "rows"), [("append", [1, 2, 3, 4]), ("overwrite", [4])])
def test_pylance_writes_to_a_table_by_its_identifier(
    catalog: Catalog, table: list[str], mode: str, rows: list[int]
) -> None:
    lance.write_dataset(numbers(4), namespace_client=catalog.client, table_id=table, mode=mode)
    assert catalog.rows(table) == rows


def test_pylance_deletes_from_a_table_it_opened_by_its_identifier(
    catalog: Catalog, table: list[str]
) -> None:
    lance.dataset(namespace_client=catalog.client, table_id=table).delete("n = 2")
    assert catalog.rows(table) == [1, 3]


def test_pylance_is_told_that_a_table_is_missing(catalog: Catalog, home: list[str]) -> None:
    with pytest.raises(Exception, match=r"(?i)not found|does not exist"):
        lance.dataset(namespace_client=catalog.client, table_id=[*home, "missing"])


MODES: dict[str, dict[str, str]] = {
    "v1": {"manifest_enabled": "false"},
    "v2": {"dir_listing_enabled": "false"},
    "compat": {},
}
modes = pytest.mark.parametrize(
    "properties",
    [pytest.param(MODES[mode], id=mode, marks=applies(name=mode)) for mode in MODES],
)
nested_modes = pytest.mark.parametrize(
    "properties",
    [pytest.param(MODES[mode], id=mode, marks=applies(name=mode)) for mode in ("v2", "compat")],
)
"""The modes that lancedb can nest namespaces in."""


def lancedb_at(root: Path, properties: dict[str, str]) -> lancedb.DBConnection:
    return lancedb.connect_namespace(
        "lanceyard.DirectoryNamespace", {"root": str(root), **properties}
    )


@modes
def test_lancedb_creates_a_table(catalog: Catalog, properties: dict[str, str]) -> None:
    lancedb_at(catalog.root, properties).create_table("t", numbers(1, 2))
    assert catalog.rows(["t"]) == [1, 2]


@modes
def test_lancedb_opens_a_table(catalog: Catalog, properties: dict[str, str]) -> None:
    catalog.create_table(["t"], 1, 2)
    table = lancedb_at(catalog.root, properties).open_table("t")
    assert table.to_arrow() == numbers(1, 2)


@modes
def test_lancedb_appends_to_a_table(catalog: Catalog, properties: dict[str, str]) -> None:
    catalog.create_table(["t"], 1)
    lancedb_at(catalog.root, properties).open_table("t").add(numbers(2))
    assert catalog.rows(["t"]) == [1, 2]


@modes
def test_lancedb_overwrites_a_table(catalog: Catalog, properties: dict[str, str]) -> None:
    catalog.create_table(["t"], 1)
    lancedb_at(catalog.root, properties).create_table("t", numbers(9), mode="overwrite")
    assert catalog.rows(["t"]) == [9]


@modes
def test_lancedb_drops_a_table(catalog: Catalog, properties: dict[str, str]) -> None:
    catalog.create_table(["t"], 1)
    lancedb_at(catalog.root, properties).drop_table("t")
    assert catalog.tables([]) == []


@modes
def test_lancedb_lists_every_table_page_by_page(
    catalog: Catalog, properties: dict[str, str]
) -> None:
    for name in "abcde":
        catalog.declare_table([name])
    database = lancedb_at(catalog.root, properties)
    page = database.list_tables(limit=2)
    names = list(page.tables)
    while page.page_token:
        page = database.list_tables(limit=2, page_token=page.page_token)
        names += page.tables
    assert names == list("abcde")


@modes
@pytest.mark.filterwarnings("ignore:table_names")
def test_lancedb_lists_on_from_the_last_name_it_saw(
    catalog: Catalog, properties: dict[str, str]
) -> None:
    for name in "abc":
        catalog.declare_table([name])
    names = lancedb_at(catalog.root, properties).table_names(page_token="a", limit=5)
    assert list(names) == ["b", "c"]


@nested_modes
def test_lancedb_creates_a_namespace(catalog: Catalog, properties: dict[str, str]) -> None:
    lancedb_at(catalog.root, properties).create_namespace(["a"], properties={"k": "v"})
    assert catalog.describe_namespace(["a"]).properties == {"k": "v"}


@nested_modes
def test_lancedb_creates_a_namespace_that_may_exist(
    catalog: Catalog, ns: list[str], properties: dict[str, str]
) -> None:
    lancedb_at(catalog.root, properties).create_namespace(ns, mode="exist_ok")
    assert catalog.namespaces([]) == ns


@nested_modes
def test_lancedb_creates_a_table_in_a_namespace(
    catalog: Catalog, ns: list[str], properties: dict[str, str]
) -> None:
    database = lancedb_at(catalog.root, properties)
    database.create_table("t", numbers(1), namespace_path=ns)
    assert catalog.rows([*ns, "t"]) == [1]


@nested_modes
def test_lancedb_renames_a_table(
    catalog: Catalog, ns: list[str], properties: dict[str, str]
) -> None:
    catalog.create_table([*ns, "t"], 1)
    database = lancedb_at(catalog.root, properties)
    database.rename_table("t", "new", cur_namespace_path=ns, new_namespace_path=ns)
    assert catalog.rows([*ns, "new"]) == [1]


@nested_modes
def test_lancedb_drops_a_namespace(
    catalog: Catalog, ns: list[str], properties: dict[str, str]
) -> None:
    catalog.create_table([*ns, "t"], 1)
    lancedb_at(catalog.root, properties).drop_namespace(ns, behavior="cascade")
    assert catalog.namespaces([]) == []


@modes
def test_lancedb_tells_a_missing_table(catalog: Catalog, properties: dict[str, str]) -> None:
    with pytest.raises(lance_namespace.TableNotFoundError):
        lancedb_at(catalog.root, properties).open_table("missing")


@modes
def test_lance_namespace_connects_by_class_path(
    catalog: Catalog, properties: dict[str, str]
) -> None:
    catalog.create_table(["t"], 1)
    path = "lanceyard.DirectoryNamespace"
    client = lance_namespace.connect(path, {"root": str(catalog.root), **properties})
    request = lance_namespace.ListTablesRequest(id=[])
    assert client.list_tables(request).tables == ["t"]


@modes
def test_lanceyard_connects_by_a_short_name(catalog: Catalog, properties: dict[str, str]) -> None:
    import lanceyard

    catalog.create_table(["t"], 1)
    client = lanceyard.connect("dir", {"root": str(catalog.root), **properties})
    assert client.list_tables({"id": []}).tables == ["t"]


@applies(name="memory")
def test_lanceyard_connects_to_memory_by_a_short_name(catalog: Catalog) -> None:
    import lanceyard

    client = lanceyard.connect("memory", {})
    client.create_namespace({"id": ["a"]})
    assert client.list_namespaces({"id": []}).namespaces == ["a"]


@applies(name="memory")
def test_two_memory_catalogs_are_apart(catalog: Catalog, ns: list[str]) -> None:
    import lanceyard

    assert lanceyard.MemoryNamespace().list_namespaces({"id": []}).namespaces == []


@contextlib.contextmanager
def inside(path: Path) -> Iterator[None]:
    path.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(path):
        yield


@applies(name="v1")
def test_the_root_is_the_current_directory_by_default(catalog: Catalog) -> None:
    """001, Configuration: `root` defaults to the current working directory."""
    import lanceyard

    with inside(catalog.root):
        client = lanceyard.DirectoryNamespace(**MODES["v1"])
        client.create_table({"id": ["t"]}, stream(numbers(1)))
    assert catalog.rows(["t"]) == [1]


@applies(name="v1")
@pytest.mark.parametrize("form", ["sub", "./sub", "sub/", "other/../sub"])
def test_the_root_may_be_relative(catalog: Catalog, form: str) -> None:
    """001, Directory Path: based on the current directory of the running process."""
    import lanceyard

    with inside(catalog.root):
        (catalog.root / "other").mkdir()
        client = lanceyard.DirectoryNamespace(root=form, **MODES["v1"])
        location = client.create_table({"id": ["t"]}, stream(numbers(1))).location
    assert location == str(catalog.root / "sub" / "t.lance")


@applies(name="compat")
@pytest.mark.parametrize(
    "properties",
    [
        {"manifest_enabled": "false", "dir_listing_enabled": "false"},
        {"manifest_enabled": "perhaps"},
        {"dir_listing_enabled": ""},
        {"bare_directories": "true"},
        {"unheard_of": "1"},
    ],
    ids=lambda properties: "+".join(f"{key}={value}" for key, value in properties.items()),
)
def test_settings_that_make_no_sense_are_refused(
    catalog: Catalog, properties: dict[str, str]
) -> None:
    import lanceyard

    with refused(ErrorCode.INVALID_INPUT):
        lanceyard.DirectoryNamespace(root=str(catalog.root), **properties)


@applies(name="compat")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("manifest_enable", "manifest_enabled"),
        ("dir_listing", "dir_listing_enabled"),
        ("rot", "root"),
    ],
)
def test_the_refusal_of_an_unknown_property_names_the_nearest(
    catalog: Catalog, typed: str, meant: str
) -> None:
    import lanceyard

    with pytest.raises(lance_namespace.InvalidInputError, match=rf"\b{meant}\b"):
        lanceyard.DirectoryNamespace(**{"root": str(catalog.root), typed: "true"})


@applies(name="compat")
def test_the_body_of_a_table_may_come_from_a_reader(catalog: Catalog) -> None:
    reader = pa.BufferReader(stream(numbers(1, 2)))
    catalog.create_table_from(["t"], reader)
    assert catalog.rows(["t"]) == [1, 2]
