"""DropTable: the name and the data go."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import (
    TABLE_ADDITIONS,
    TABLE_READS,
    TABLE_REMOVALS,
    Act,
    Catalog,
    Identifier,
    applies,
    directory,
    each,
    refused,
    remove,
)


def test_dropping_returns_the_identifier(catalog: Catalog, table: list[str]) -> None:
    assert catalog.drop_table(table).id == table


def test_dropping_returns_the_location(catalog: Catalog, table: list[str]) -> None:
    location = catalog.directory(table)
    assert directory(catalog.drop_table(table).location) == location


def test_dropping_returns_the_properties(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties={"k": "v"})
    assert catalog.drop_table([*home, "t"]).properties == {"k": "v"}


def test_dropping_deletes_the_data(catalog: Catalog, table: list[str]) -> None:
    location = catalog.directory(table)
    catalog.drop_table(table)
    assert not location.exists()


@each(TABLE_READS | TABLE_REMOVALS)
def test_a_dropped_table_is_not_found(catalog: Catalog, table: list[str], act: Act) -> None:
    catalog.drop_table(table)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, table)


def test_a_dropped_table_is_not_listed(catalog: Catalog, home: list[str], table: list[str]) -> None:
    catalog.drop_table(table)
    assert catalog.tables(home) == []


@applies(on_disk=True)
def test_another_client_does_not_see_a_dropped_table(catalog: Catalog, table: list[str]) -> None:
    catalog.again().drop_table(table)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.table_exists(table)


@applies(declare=True)
def test_dropping_a_declared_table_deletes_its_directory(
    catalog: Catalog, declared: list[str]
) -> None:
    location = catalog.directory(declared)
    catalog.drop_table(declared)
    assert not location.exists()


def test_dropping_a_missing_table_is_refused(catalog: Catalog, home: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.drop_table([*home, "missing"])


@applies(nested=True)
@pytest.mark.parametrize("parent", [["missing"], ["ns", "missing"]], ids=str)
def test_dropping_in_a_missing_namespace_is_refused(
    catalog: Catalog, ns: list[str], parent: list[str]
) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.drop_table([*parent, "t"])


@applies(nested=True)
def test_dropping_a_namespace_as_a_table_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.drop_table(ns)


@pytest.mark.parametrize(
    "sibling", ["t2", *(pytest.param(name, marks=applies(any_name=True)) for name in ("T", "t.t"))]
)
def test_dropping_spares_a_table_with_a_similar_name(
    catalog: Catalog, home: list[str], table: list[str], sibling: str
) -> None:
    catalog.create_table([*home, sibling], 7)
    catalog.drop_table(table)
    assert catalog.rows([*home, sibling]) == [7]


@applies(nested=True)
def test_dropping_spares_the_table_of_that_name_in_another_namespace(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.create_table(["t"], 1)
    catalog.create_table([*ns, "t"], 2)
    catalog.drop_table(["t"])
    assert catalog.rows([*ns, "t"]) == [2]


@applies(mode="v2")
def test_dropping_a_table_whose_directory_is_gone_succeeds(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    """003, DropTable: failure to delete does not affect the success of the drop."""
    remove(catalog.directory(table))
    catalog.drop_table(table)
    assert catalog.tables(home) == []


@pytest.mark.parametrize("identifier", [[], None], ids=["empty", "null"])
@each(TABLE_REMOVALS | TABLE_ADDITIONS)
def test_the_root_can_neither_be_made_nor_removed_as_a_table(
    catalog: Catalog, act: Act, identifier: Identifier
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, identifier)
