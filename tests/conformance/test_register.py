"""RegisterTable: a name for data that is already there."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, directory, read, refused, write_lance

anywhere = applies(register_anywhere=True)


@pytest.fixture
def lost(catalog: Catalog, home: list[str]) -> str:
    """The location of a table of 7 and 8 which no identifier names."""
    catalog.create_namespace(["lost"])
    return catalog.left_over(["lost", "t"], 7, 8)


@anywhere
def test_a_registered_table_holds_the_data_at_its_location(
    catalog: Catalog, home: list[str], lost: str
) -> None:
    catalog.register_table([*home, "r"], catalog.inside(lost))
    assert catalog.rows([*home, "r"]) == [7, 8]


@anywhere
@applies(extensions=True)
def test_a_location_may_be_absolute_inside_the_root(
    catalog: Catalog, home: list[str], lost: str
) -> None:
    catalog.register_table([*home, "r"], lost)
    assert catalog.rows([*home, "r"]) == [7, 8]


@anywhere
@applies(on_disk=True)
def test_a_location_may_be_several_levels_below_the_root(catalog: Catalog, home: list[str]) -> None:
    write_lance(catalog.root / "deep" / "er" / "data", 5)
    catalog.register_table([*home, "r"], "deep/er/data")
    assert catalog.rows([*home, "r"]) == [5]


@anywhere
@applies(extensions=True)
def test_registering_returns_the_location_that_describing_returns(
    catalog: Catalog, home: list[str], lost: str
) -> None:
    location = catalog.register_table([*home, "r"], catalog.inside(lost)).location
    assert catalog.location([*home, "r"]) == location


@anywhere
def test_a_registered_table_keeps_its_properties(
    catalog: Catalog, home: list[str], lost: str
) -> None:
    catalog.register_table([*home, "r"], catalog.inside(lost), properties={"k": "v"})
    assert catalog.describe_table([*home, "r"]).properties == {"k": "v"}


@anywhere
def test_a_registered_table_is_listed(catalog: Catalog, home: list[str], lost: str) -> None:
    catalog.register_table([*home, "r"], catalog.inside(lost))
    assert catalog.tables(home) == ["r"]


@anywhere
def test_dropping_a_registered_table_deletes_its_data(
    catalog: Catalog, home: list[str], lost: str
) -> None:
    catalog.register_table([*home, "r"], catalog.inside(lost))
    catalog.drop_table([*home, "r"])
    assert not directory(lost).exists()


@anywhere
@pytest.mark.parametrize("mode", [None, "Create"])
def test_registering_an_existing_table_is_refused(
    catalog: Catalog, lost: str, table: list[str], mode: str | None
) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.register_table(table, catalog.inside(lost), mode=mode)


@anywhere
@pytest.mark.parametrize("mode", ["overwrite", "Overwrite"])
def test_overwriting_points_the_name_at_the_new_location(
    catalog: Catalog, lost: str, table: list[str], mode: str
) -> None:
    catalog.register_table(table, catalog.inside(lost), mode=mode)
    assert catalog.rows(table) == [7, 8]


@anywhere
def test_overwriting_a_registration_keeps_the_old_data(
    catalog: Catalog, lost: str, table: list[str]
) -> None:
    old = catalog.location(table)
    catalog.register_table(table, catalog.inside(lost), mode="overwrite")
    assert read(old) == [1, 2, 3]


@anywhere
@pytest.mark.parametrize("mode", ["exist_ok", "ExistOk", "garbage", ""])
def test_an_unknown_mode_of_registering_is_refused(
    catalog: Catalog, home: list[str], lost: str, mode: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.register_table([*home, "r"], catalog.inside(lost), mode=mode)


@anywhere
def test_registering_in_a_missing_namespace_is_refused(catalog: Catalog, lost: str) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.register_table(["missing", "r"], catalog.inside(lost))


@anywhere
@applies(one_name=True)
def test_registering_over_a_namespace_is_refused(catalog: Catalog, lost: str) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.register_table(["lost"], catalog.inside(lost))


def test_registering_where_nothing_lies_is_refused(catalog: Catalog, home: list[str]) -> None:
    own = "r" if catalog.backend.mode == "bare" else "r.lance"
    with refused(ErrorCode.INVALID_INPUT):
        catalog.register_table([*home, "r"], own)


@applies(on_disk=True)
def test_registering_an_empty_directory_is_refused(catalog: Catalog, home: list[str]) -> None:
    own = "r" if catalog.backend.mode == "bare" else "r.lance"
    (catalog.root / own).mkdir(parents=True)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.register_table([*home, "r"], own)


@applies(register_anywhere=False)
def test_registering_brings_a_table_back_in_its_own_directory(catalog: Catalog) -> None:
    """003, DeregisterTable: it can be re-registered by removing the marker file."""
    location = catalog.left_over(["t"], 1, 2)
    catalog.register_table(["t"], catalog.inside(location))
    assert catalog.rows(["t"]) == [1, 2]


@applies(register_anywhere=False)
def test_registering_removes_the_marker(catalog: Catalog) -> None:
    location = catalog.left_over(["t"], 1, 2)
    catalog.register_table(["t"], catalog.inside(location))
    assert not (directory(location) / ".lance-deregistered").exists()


@applies(register_anywhere=False)
@pytest.mark.parametrize("place", ["other", "other.lance", "deep/t.lance", "t.lance/data"])
def test_without_a_manifest_a_table_lies_in_its_own_directory_only(
    catalog: Catalog, place: str
) -> None:
    write_lance(catalog.root / place, 1)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.register_table(["t"], place)


@applies(register_anywhere=False)
def test_without_a_manifest_registering_an_existing_table_is_refused(
    catalog: Catalog, table: list[str]
) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.register_table(table, catalog.inside(catalog.location(table)))
