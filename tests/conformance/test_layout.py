"""What lies on disk in each mode: directories, marker files and the manifest table."""

from __future__ import annotations

import json
import re
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import (
    NEW_TABLES,
    TABLE_REMOVALS,
    Act,
    Catalog,
    applies,
    each,
    manifest_name,
    refused,
    write_lance,
)

manifest = applies(manifest=True)
managed = applies(managed=True, manifest=True)
listing = applies(listing=True)


def entries(catalog: Catalog) -> list[str]:
    """The names in the root directory, without what we add beside the format."""
    return sorted(path.name for path in catalog.root.iterdir() if path.name[0] != ".")


def rows(catalog: Catalog) -> dict[str, dict[str, Any]]:
    """The rows of the manifest table by object_id, as any reader would see them."""
    found = lance.dataset(str(catalog.root / "__manifest")).to_table().to_pylist()
    by_id = {row["object_id"]: row for row in found}
    assert len(by_id) == len(found)
    return by_id


@listing
def test_a_table_of_the_root_lies_in_a_directory_of_its_name(catalog: Catalog) -> None:
    """000, V1, Directory Layout: `<table_name>.lance`."""
    catalog.create_table(["t"], 1)
    assert catalog.directory(["t"]) == catalog.root / "t.lance"


@listing
def test_a_declared_table_of_the_root_reserves_a_directory_of_its_name(catalog: Catalog) -> None:
    """000, Marker Files: `.lance-reserved`."""
    catalog.declare_table(["t"])
    assert (catalog.root / "t.lance" / ".lance-reserved").is_file()


@listing
def test_deregistering_a_table_of_the_root_leaves_a_marker(catalog: Catalog) -> None:
    """000, Marker Files: `.lance-deregistered`."""
    catalog.left_over(["t"], 1)
    assert (catalog.root / "t.lance" / ".lance-deregistered").is_file()


@applies(manifest=False, on_disk=True, folders=False)
def test_without_a_manifest_only_table_directories_are_written(
    catalog: Catalog, table: list[str]
) -> None:
    assert entries(catalog) == [catalog.directory(table).name]


@listing
def test_a_directory_with_a_file_in_it_is_a_table(catalog: Catalog) -> None:
    """000, Table Existence: the prefix has at least one file in it."""
    write_lance(catalog.root / "t.lance", 4)
    assert (catalog.tables([]), catalog.rows(["t"])) == (["t"], [4])


@listing
def test_an_empty_directory_is_no_table(catalog: Catalog) -> None:
    """000, Table Existence: the prefix has at least one file in it."""
    (catalog.root / "t.lance").mkdir(parents=True)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.table_exists(["t"])


@listing
def test_an_empty_directory_is_not_listed(catalog: Catalog) -> None:
    (catalog.root / "t.lance" / "data").mkdir(parents=True)
    assert catalog.tables([]) == []


@listing
@pytest.mark.parametrize("name", ["t.lance", "t"])
def test_a_plain_file_is_not_listed(catalog: Catalog, name: str) -> None:
    catalog.root.mkdir(exist_ok=True)
    (catalog.root / name).write_text("no directory")
    assert catalog.tables([]) == []


@listing
@pytest.mark.parametrize(
    "name", ["t", "t.lance.bak", "t.LANCE", ".lance", "a$b.lance", "12345678_t"]
)
def test_a_directory_of_another_form_is_not_listed(catalog: Catalog, name: str) -> None:
    write_lance(catalog.root / name, 1)
    assert catalog.tables([]) == []


@listing
def test_a_directory_with_the_deregistered_marker_is_no_table(catalog: Catalog) -> None:
    path = write_lance(catalog.root / "t.lance", 1)
    (path / ".lance-deregistered").touch()
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.describe_table(["t"])


@listing
def test_a_directory_with_the_reserved_marker_is_a_declared_table(catalog: Catalog) -> None:
    marker = catalog.root / "t.lance" / ".lance-reserved"
    marker.parent.mkdir(parents=True)
    marker.touch()
    assert catalog.describe_table(["t"], check_declared=True).is_only_declared is True


@manifest
@pytest.mark.parametrize(
    "identifier",
    [
        pytest.param(["t"], marks=applies(mode="v2"), id="root"),
        pytest.param(["ns", "t"], id="child"),
    ],
)
@each(NEW_TABLES)
def test_a_table_of_the_manifest_lies_in_a_hashed_directory(
    catalog: Catalog, ns: list[str], identifier: list[str], act: Act
) -> None:
    """000, Manifest Table Directory: `<hash>_<object_id>`."""
    act(catalog, identifier)
    object_id = re.escape("$".join(identifier))
    assert re.fullmatch(rf"[0-9a-f]{{8}}_{object_id}", catalog.directory(identifier).name)


@applies(on_disk=True)
@each(NEW_TABLES)
def test_the_first_write_makes_the_catalog(untouched: Catalog, act: Act) -> None:
    act(untouched, ["t"])
    assert untouched.again().tables([]) == ["t"]


@manifest
def test_the_first_namespace_makes_the_catalog(untouched: Catalog) -> None:
    untouched.create_namespace(["a"], properties={"k": "v"})
    assert untouched.again().describe_namespace(["a"]).properties == {"k": "v"}


@manifest
def test_a_declared_table_reserves_its_hashed_directory(catalog: Catalog, ns: list[str]) -> None:
    catalog.declare_table([*ns, "t"])
    assert (catalog.directory([*ns, "t"]) / ".lance-reserved").is_file()


@manifest
def test_a_table_created_again_lies_in_another_directory(catalog: Catalog, ns: list[str]) -> None:
    """000, Manifest Table Directory: high entropy prevents conflicts."""
    old = catalog.create_table([*ns, "t"], 1).location
    catalog.drop_table([*ns, "t"])
    assert catalog.create_table([*ns, "t"], 2).location != old


@manifest
def test_a_child_namespace_is_no_directory(catalog: Catalog, ns: list[str]) -> None:
    """003, Namespace: child namespaces do not correspond to physical subdirectories."""
    assert entries(catalog) == ["__manifest"]


@manifest
def test_dropping_everything_leaves_only_the_manifest(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "t"], 1)
    catalog.declare_table([*ns, "d"])
    catalog.drop_namespace(ns, behavior="cascade")
    assert entries(catalog) == ["__manifest"]


@manifest
@pytest.mark.parametrize(
    ("column", "of_type", "nullable"),
    [
        ("object_id", pa.string(), False),
        ("object_type", pa.string(), False),
        ("location", pa.string(), True),
        ("metadata", pa.string(), True),
        ("base_objects", pa.list_(pa.field("object_id", pa.string())), True),
    ],
)
def test_the_manifest_has_the_columns_of_the_document(
    catalog: Catalog, ns: list[str], column: str, of_type: pa.DataType, nullable: bool
) -> None:
    """000, Manifest Table Schema."""
    field = lance.dataset(str(catalog.root / "__manifest")).schema.field(column)
    assert (field.type, field.nullable) == (of_type, nullable)


@manifest
def test_object_id_is_the_primary_key_of_the_manifest(catalog: Catalog, ns: list[str]) -> None:
    """003, CreateNamespace: primary-key deduplication on object_id."""
    field = lance.dataset(str(catalog.root / "__manifest")).schema.field("object_id")
    assert b"lance-schema:unenforced-primary-key:position" in field.metadata


@manifest
def test_a_namespace_is_a_row_with_its_properties_as_json(catalog: Catalog) -> None:
    """003, Namespace: properties are stored as JSON in the metadata column."""
    catalog.create_namespace(["a"], properties={"k": "é"})
    row = rows(catalog)["a"]
    assert (row["object_type"], row["location"]) == ("namespace", None)
    assert json.loads(row["metadata"]) == {"k": "é"}


@manifest
@each(NEW_TABLES)
def test_a_table_is_a_row_with_its_relative_location(
    catalog: Catalog, home: list[str], act: Act
) -> None:
    """000, Manifest Table Schema: relative path to the table directory within the root."""
    act(catalog, [*home, "t"])
    row = rows(catalog)["$".join([*home, "t"])]
    location = catalog.directory([*home, "t"]).name
    assert (row["object_type"], row["location"]) == ("table", location)


@manifest
def test_a_nested_object_is_named_by_its_whole_path(catalog: Catalog, ns: list[str]) -> None:
    """000, Manifest Table Schema: the namespace path joined by `$`."""
    catalog.create_namespace([*ns, "child"])
    catalog.declare_table([*ns, "child", "t"])
    assert sorted(rows(catalog)) == ["ns", "ns$child", "ns$child$t"]


@manifest
@each(TABLE_REMOVALS)
def test_the_row_of_a_removed_table_is_gone(
    catalog: Catalog, home: list[str], table: list[str], act: Act
) -> None:
    act(catalog, table)
    assert "$".join(table) not in rows(catalog)


@managed
def test_a_version_is_a_row_named_by_its_table_and_number(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    """003, CreateTableVersion: `<table_id>$<version>`, with metadata as JSON."""
    row = rows(catalog)["$".join([*table, "1"])]
    path = f"{catalog.directory(table).name}/_versions/{manifest_name(1)}"
    assert row["object_type"] == "table_version"
    assert json.loads(row["metadata"])["manifest_path"] == path


@managed
@each(TABLE_REMOVALS)
def test_the_rows_of_versions_go_with_their_table(
    catalog: Catalog, home: list[str], table: list[str], act: Act
) -> None:
    act(catalog, table)
    assert sorted(rows(catalog)) == home


@managed
def test_the_rows_of_versions_go_with_a_dropped_namespace(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "t"], 1)
    catalog.drop_namespace(ns, behavior="cascade")
    assert rows(catalog) == {}


@managed
def test_the_rows_of_versions_follow_a_renamed_table(catalog: Catalog, history: list[str]) -> None:
    catalog.rename_table(history, "new")
    assert sorted(rows(catalog)) == ["new", "new$1", "new$2"]


@manifest
@applies(extensions=True)
def test_a_long_identifier_is_cut_to_fit_a_file_name(catalog: Catalog) -> None:
    catalog.create_namespace(["é" * 100])
    catalog.declare_table(["é" * 100, "ü" * 100])
    name = catalog.directory(["é" * 100, "ü" * 100]).name
    assert re.match(r"[0-9a-f]{8}_é{60}", name)
    assert len(name.encode()) <= 255


@manifest
def test_columns_of_another_writer_survive(catalog: Catalog, ns: list[str]) -> None:
    location = str(catalog.root / "__manifest")
    foreign = pa.table({"object_id": ["ns"], "foreign": ["kept"]})
    lance.dataset(location).merge(foreign, left_on="object_id")
    catalog.create_namespace(["b"])
    row = lance.dataset(location).to_table(filter="object_id = 'ns'").to_pylist()[0]
    assert row.get("foreign") == "kept"
