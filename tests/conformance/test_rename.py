"""RenameTable: another name, perhaps in another namespace, for the same data."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, Identifier, applies, refused

renames = applies(rename=True)


@renames
def test_a_renamed_table_holds_its_data(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.rename_table(table, "new")
    assert catalog.rows([*home, "new"]) == [1, 2, 3]


@renames
def test_the_old_name_is_not_found_after_a_rename(catalog: Catalog, table: list[str]) -> None:
    catalog.rename_table(table, "new")
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.describe_table(table)


@renames
def test_only_the_new_name_is_listed_after_a_rename(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.rename_table(table, "new")
    assert catalog.tables(home) == ["new"]


@renames
def test_a_renamed_table_keeps_its_properties(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties={"k": "v"})
    catalog.rename_table([*home, "t"], "new")
    assert catalog.describe_table([*home, "new"]).properties == {"k": "v"}


@renames
def test_the_old_name_can_be_used_again_after_a_rename(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.rename_table(table, "new")
    catalog.create_table(table, 9)
    assert (catalog.rows(table), catalog.rows([*home, "new"])) == ([9], [1, 2, 3])


@renames
def test_a_table_can_be_renamed_there_and_back(catalog: Catalog, table: list[str]) -> None:
    *home, name = table
    catalog.rename_table(table, "new")
    catalog.rename_table([*home, "new"], name)
    assert catalog.rows(table) == [1, 2, 3]


@renames
def test_a_renamed_table_can_be_dropped(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.rename_table(table, "new")
    location = catalog.directory([*home, "new"])
    catalog.drop_table([*home, "new"])
    assert not location.exists()


@renames
def test_a_declared_table_can_be_renamed(
    catalog: Catalog, home: list[str], declared: list[str]
) -> None:
    catalog.rename_table(declared, "new")
    assert catalog.describe_table([*home, "new"], check_declared=True).is_only_declared


@renames
@applies(any_name=True)
@pytest.mark.parametrize("name", ["é", "pct%41", "o'brien"])
def test_a_table_can_be_renamed_to_an_odd_name(
    catalog: Catalog, home: list[str], table: list[str], name: str
) -> None:
    catalog.rename_table(table, name)
    assert catalog.rows([*home, name]) == [1, 2, 3]


@renames
def test_a_table_can_move_to_another_namespace(catalog: Catalog, table: list[str]) -> None:
    catalog.create_namespace(["other"])
    catalog.rename_table(table, "new", new_namespace_id=["other"])
    assert catalog.rows(["other", "new"]) == [1, 2, 3]


@renames
def test_a_table_can_move_and_keep_its_name(catalog: Catalog, table: list[str]) -> None:
    catalog.create_namespace(["other"])
    catalog.rename_table(table, "t", new_namespace_id=["other"])
    assert catalog.rows(["other", "t"]) == [1, 2, 3]


@renames
def test_an_empty_target_namespace_means_the_root(catalog: Catalog, table: list[str]) -> None:
    catalog.rename_table(table, "new", new_namespace_id=[])
    assert catalog.rows(["new"]) == [1, 2, 3]


@renames
def test_no_target_namespace_means_the_same_one(catalog: Catalog, table: list[str]) -> None:
    catalog.rename_table(table, "new", new_namespace_id=None)
    assert catalog.rows([*table[:-1], "new"]) == [1, 2, 3]


@renames
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(["t"], marks=applies(mode="v2"), id="root"),
        pytest.param(["ns", "t"], id="child"),
    ],
)
def test_a_rename_touches_rows_only(catalog: Catalog, ns: list[str], place: list[str]) -> None:
    location = catalog.create_table(place, 1).location
    catalog.rename_table(place, "new")
    assert catalog.location([*place[:-1], "new"]) == location


@renames
def test_renaming_a_missing_table_is_refused(catalog: Catalog, home: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.rename_table([*home, "missing"], "new")


@renames
def test_renaming_a_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.rename_table(ns, "new")


@renames
def test_renaming_in_a_missing_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.rename_table(["missing", "t"], "new")


@renames
def test_moving_to_a_missing_namespace_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.rename_table(table, "new", new_namespace_id=["missing"])


@renames
def test_renaming_to_an_existing_table_is_refused(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.create_table([*home, "taken"], 9)
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.rename_table(table, "taken")


@renames
@applies(one_name=True)
def test_renaming_to_an_existing_namespace_is_refused(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.create_namespace([*home, "taken"])
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.rename_table(table, "taken")


@renames
def test_renaming_a_table_to_itself_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.rename_table(table, table[-1])


@renames
@pytest.mark.parametrize("name", ["", "..", "a$b", "__manifest", "x" * 201])
def test_renaming_to_a_forbidden_name_is_refused(
    catalog: Catalog, table: list[str], name: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.rename_table(table, name)


@renames
@pytest.mark.parametrize("identifier", [[], None], ids=["empty", "null"])
def test_renaming_the_root_is_refused(catalog: Catalog, identifier: Identifier) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.rename_table(identifier, "new")


@renames
@applies(on_disk=True)
def test_another_client_sees_a_renamed_table(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.again().rename_table(table, "new")
    assert catalog.rows([*home, "new"]) == [1, 2, 3]


@applies(rename=False)
def test_renaming_is_unsupported_without_a_manifest(catalog: Catalog, table: list[str]) -> None:
    """000, V2: tables can be renamed."""
    with refused(ErrorCode.UNSUPPORTED):
        catalog.rename_table(table, "new")
