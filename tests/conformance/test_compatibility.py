"""Compatibility mode (000): V1 directories and V2 rows in one catalog."""

from __future__ import annotations

import re

import pytest
from lance_namespace.errors import ErrorCode

from .kit import NEW_TABLES, Act, Catalog, applies, each, read, refused, write_lance

pytestmark = applies(mode="compat")


@pytest.fixture
def old(catalog: Catalog) -> list[str]:
    """A table of 1 and 2 that only its directory tells of."""
    write_lance(catalog.root / "old.lance", 1, 2)
    return ["old"]


@pytest.fixture
def shadowed(catalog: Catalog) -> list[str]:
    """A table registered at `elsewhere`, holding 7, beside a directory `t.lance` holding 1."""
    write_lance(catalog.root / "elsewhere", 7)
    catalog.register_table(["t"], "elsewhere")
    write_lance(catalog.root / "t.lance", 1)
    return ["t"]


def test_existence_falls_back_to_the_directory(catalog: Catalog, old: list[str]) -> None:
    """000, rule 1."""
    catalog.table_exists(old)


def test_describing_falls_back_to_the_directory(catalog: Catalog, old: list[str]) -> None:
    """003, DescribeTable."""
    assert catalog.rows(old) == [1, 2]


def test_existence_checks_the_manifest_first(catalog: Catalog) -> None:
    """000, rule 1."""
    write_lance(catalog.root / "elsewhere", 7)
    catalog.register_table(["t"], "elsewhere")
    catalog.table_exists(["t"])


def test_describing_prefers_the_manifest_to_the_directory(
    catalog: Catalog, shadowed: list[str]
) -> None:
    """003, DescribeTable: first check the manifest table."""
    assert catalog.rows(shadowed) == [7]


def test_dropping_prefers_the_manifest_to_the_directory(
    catalog: Catalog, shadowed: list[str]
) -> None:
    """003, DropTable: if found in manifest, follow V2 behavior."""
    catalog.drop_table(shadowed)
    assert not (catalog.root / "elsewhere").exists()
    assert read(str(catalog.root / "t.lance")) == [1]


def test_listing_merges_manifest_and_directories(catalog: Catalog, old: list[str]) -> None:
    """000, rule 2."""
    catalog.create_table(["new"], 1)
    write_lance(catalog.root / "zzz.lance", 1)
    assert catalog.tables([]) == ["new", "old", "zzz"]


def test_listing_names_a_table_once(catalog: Catalog, shadowed: list[str]) -> None:
    """000, rule 2: manifest entries take precedence when duplicates exist."""
    assert catalog.tables([]) == ["t"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_paging_merges_manifest_and_directories(catalog: Catalog, limit: int) -> None:
    for name in ("a", "c", "e"):
        catalog.declare_table([name])
    for name in ("b", "d"):
        write_lance(catalog.root / f"{name}.lance", 1)
    names: list[str] = []
    token: str | None = ""
    while token is not None:
        page = catalog.list_tables([], limit=limit, page_token=token)
        names, token = names + page.tables, page.page_token
    assert names == ["a", "b", "c", "d", "e"]


def test_all_tables_are_those_of_directories_too(
    catalog: Catalog, ns: list[str], old: list[str]
) -> None:
    catalog.declare_table([*ns, "t"])
    assert catalog.list_all_tables().tables == ["ns$t", "old"]


@each(NEW_TABLES)
def test_a_new_table_of_the_root_uses_the_old_naming(catalog: Catalog, act: Act) -> None:
    """000, rule 3: it uses the V1 `<table_name>.lance` naming convention."""
    act(catalog, ["t"])
    assert catalog.directory(["t"]) == catalog.root / "t.lance"


@each(NEW_TABLES)
def test_a_new_table_of_the_root_is_registered_in_the_manifest(catalog: Catalog, act: Act) -> None:
    """000, rule 3: the table is registered in the manifest."""
    act(catalog, ["t"])
    assert catalog.beside("v2").tables([]) == ["t"]


def test_a_renamed_table_of_the_root_moves_to_a_hashed_directory(catalog: Catalog) -> None:
    """000, rule 4: it transitions to the V2 hash-based path naming."""
    catalog.create_table(["t"], 1)
    catalog.rename_table(["t"], "new")
    assert re.fullmatch(r"[0-9a-f]{8}_new", catalog.directory(["new"]).name)


def test_a_renamed_directory_moves_to_a_hashed_directory(catalog: Catalog, old: list[str]) -> None:
    """000, rule 4."""
    catalog.rename_table(old, "new")
    assert re.fullmatch(r"[0-9a-f]{8}_new", catalog.directory(["new"]).name)


def test_a_renamed_directory_holds_its_data(catalog: Catalog, old: list[str]) -> None:
    catalog.rename_table(old, "new")
    assert (catalog.tables([]), catalog.rows(["new"])) == (["new"], [1, 2])


def test_a_renamed_directory_keeps_its_versions(catalog: Catalog, old: list[str]) -> None:
    catalog.rename_table(old, "new")
    assert catalog.describe_table(["new"], version=1).version == 1


def test_a_v1_client_does_not_see_a_renamed_table(catalog: Catalog, old: list[str]) -> None:
    catalog.rename_table(old, "new")
    assert catalog.beside("v1").tables([]) == []


def test_a_table_of_a_child_namespace_lies_in_a_hashed_directory(
    catalog: Catalog, ns: list[str]
) -> None:
    """000, rule 5: only V2 behavior is used."""
    catalog.create_table([*ns, "t"], 1)
    assert re.fullmatch(r"[0-9a-f]{8}_ns\$t", catalog.directory([*ns, "t"]).name)


@pytest.mark.parametrize("name", ["ns$t.lance", "t.lance", "ns/t.lance"])
def test_no_directory_is_a_table_of_a_child_namespace(
    catalog: Catalog, ns: list[str], name: str
) -> None:
    """000, rule 5: V1 does not support nested namespaces."""
    write_lance(catalog.root / name, 1)
    assert catalog.tables(ns) == []


def test_a_v1_client_reads_what_compatibility_mode_creates(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1)
    assert catalog.beside("v1").rows(["t"]) == [1]


def test_compatibility_mode_reads_what_a_v1_client_creates(catalog: Catalog) -> None:
    catalog.beside("v1").create_table(["t"], 1)
    assert catalog.rows(["t"]) == [1]


def test_compatibility_mode_reads_what_a_v2_client_creates(catalog: Catalog) -> None:
    catalog.beside("v2").create_table(["t"], 1)
    assert catalog.rows(["t"]) == [1]


def test_a_v2_client_does_not_see_a_directory(catalog: Catalog, old: list[str]) -> None:
    assert catalog.beside("v2").tables([]) == []


def test_a_v2_client_adopts_a_directory_by_registering_it(catalog: Catalog, old: list[str]) -> None:
    """000, Migration from V1 to V2."""
    later = catalog.beside("v2")
    later.register_table(old, "old.lance")
    assert later.rows(old) == [1, 2]


def test_creating_over_a_directory_is_refused(catalog: Catalog, old: list[str]) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.create_table(old, 9)


def test_exist_ok_keeps_the_data_in_a_directory(catalog: Catalog, old: list[str]) -> None:
    catalog.create_table(old, 9, mode="exist_ok")
    assert catalog.rows(old) == [1, 2]


def test_overwriting_replaces_the_data_in_a_directory(catalog: Catalog, old: list[str]) -> None:
    catalog.create_table(old, 9, mode="overwrite")
    assert catalog.rows(old) == [9]


def test_declaring_over_a_directory_is_refused(catalog: Catalog, old: list[str]) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.declare_table(old)


def test_creating_a_namespace_over_a_directory_is_refused(catalog: Catalog, old: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_ALREADY_EXISTS):
        catalog.create_namespace(old)


def test_a_directory_of_the_name_of_a_namespace_is_not_listed(
    catalog: Catalog, ns: list[str]
) -> None:
    write_lance(catalog.root / "ns.lance", 1)
    assert (catalog.namespaces([]), catalog.tables([])) == (["ns"], [])


def test_a_directory_of_the_name_of_a_namespace_is_no_table(
    catalog: Catalog, ns: list[str]
) -> None:
    write_lance(catalog.root / "ns.lance", 1)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.describe_table(ns)


def test_dropping_a_directory_deletes_it(catalog: Catalog, old: list[str]) -> None:
    catalog.drop_table(old)
    assert not (catalog.root / "old.lance").exists()


def test_deregistering_a_directory_marks_it(catalog: Catalog, old: list[str]) -> None:
    """003, DeregisterTable: otherwise follow V1 behavior."""
    catalog.deregister_table(old)
    assert (catalog.root / "old.lance" / ".lance-deregistered").is_file()


def test_a_v1_client_does_not_see_a_deregistered_table(catalog: Catalog) -> None:
    catalog.left_over(["t"], 1)
    assert catalog.beside("v1").tables([]) == []


def test_registering_a_deregistered_directory_brings_it_back(
    catalog: Catalog, old: list[str]
) -> None:
    catalog.deregister_table(old)
    catalog.register_table(old, "old.lance")
    assert catalog.rows(old) == [1, 2]


def test_registering_a_deregistered_directory_removes_the_marker(
    catalog: Catalog, old: list[str]
) -> None:
    catalog.deregister_table(old)
    catalog.register_table(old, "old.lance")
    assert not (catalog.root / "old.lance" / ".lance-deregistered").exists()


def test_properties_of_a_v1_table_survive_its_renaming(catalog: Catalog) -> None:
    catalog.beside("v1").create_table(["t"], 1, properties={"owner": "ml"})
    catalog.rename_table(["t"], "renamed")
    assert catalog.describe_table(["renamed"]).properties == {"owner": "ml"}
