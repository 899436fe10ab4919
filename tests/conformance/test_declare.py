"""DeclareTable: a name and a location, and no data yet."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

from .kit import Catalog, applies, directory, read, refused, write_lance

pytestmark = applies(declare=True)


def test_a_declared_table_exists(catalog: Catalog, declared: list[str]) -> None:
    catalog.table_exists(declared)


def test_a_declared_table_is_listed(catalog: Catalog, home: list[str], declared: list[str]) -> None:
    assert catalog.tables(home) == ["d"]


def test_declaring_returns_the_location_that_describing_returns(
    catalog: Catalog, home: list[str]
) -> None:
    location = catalog.declare_table([*home, "d"]).location
    assert catalog.location([*home, "d"]) == location


@applies(extensions=True)
def test_a_table_declared_without_properties_has_none(catalog: Catalog, home: list[str]) -> None:
    assert catalog.declare_table([*home, "d"]).properties == {}


@applies(declared_properties=True)
def test_declaring_returns_the_properties(catalog: Catalog, home: list[str]) -> None:
    assert catalog.declare_table([*home, "d"], properties={"k": "é"}).properties == {"k": "é"}


@applies(declared_properties=True)
def test_a_declared_table_keeps_its_properties(catalog: Catalog, home: list[str]) -> None:
    catalog.declare_table([*home, "d"], properties={"k": "é"})
    assert catalog.describe_table([*home, "d"]).properties == {"k": "é"}


@applies(declared_properties=False)
def test_declaring_with_properties_is_unsupported_without_a_manifest(catalog: Catalog) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        catalog.declare_table(["d"], properties={"k": "v"})


def test_declaring_a_declared_table_is_refused(catalog: Catalog, declared: list[str]) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.declare_table(declared)


def test_declaring_an_existing_table_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.declare_table(table)


def test_a_refused_declaration_leaves_the_table_alone(catalog: Catalog, table: list[str]) -> None:
    with pytest.raises(LanceNamespaceError):
        catalog.declare_table(table)
    assert catalog.rows(table) == [1, 2, 3]


@applies(nested=True, one_name=True)
def test_declaring_over_a_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    """004, Object Name: a name is unique among all objects of the same parent."""
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.declare_table(ns)


@applies(nested=True)
def test_declaring_in_a_missing_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.declare_table(["missing", "d"])


@applies(nested=True)
def test_declaring_under_a_table_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.declare_table([*table, "d"])


def test_a_table_can_be_written_at_the_declared_location(
    catalog: Catalog, declared: list[str]
) -> None:
    write_lance(catalog.directory(declared), 5)
    assert catalog.rows(declared) == [5]


def test_creating_fills_a_declared_table(catalog: Catalog, declared: list[str]) -> None:
    catalog.create_table(declared, 4, 5)
    assert catalog.rows(declared) == [4, 5]


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_filling_a_declared_table_keeps_its_location(
    catalog: Catalog, declared: list[str], mode: str
) -> None:
    location = catalog.location(declared)
    catalog.create_table(declared, 4, 5, mode=mode)
    assert read(location) == [4, 5]


def test_a_declared_table_can_be_dropped_and_declared_again(
    catalog: Catalog, declared: list[str]
) -> None:
    catalog.drop_table(declared)
    catalog.declare_table(declared)
    catalog.table_exists(declared)


@applies(register_anywhere=True)
@applies(extensions=True)
def test_a_table_can_be_declared_at_a_given_location(catalog: Catalog, home: list[str]) -> None:
    location = catalog.declare_table([*home, "d"], location="place/of/d").location
    assert directory(location).parts[-3:] == ("place", "of", "d")


@applies(register_anywhere=True)
@applies(extensions=True)
def test_a_table_declared_at_a_given_location_is_filled_there(
    catalog: Catalog, home: list[str]
) -> None:
    location = catalog.declare_table([*home, "d"], location="place/of/d").location
    catalog.create_table([*home, "d"], 6)
    assert read(location) == [6]


@applies(on_disk=True)
def test_another_client_sees_a_declared_table(catalog: Catalog, declared: list[str]) -> None:
    catalog.again().table_exists(declared)
