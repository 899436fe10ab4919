"""DeregisterTable: the name goes, the data stays."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import TABLE_READS, TABLE_REMOVALS, Act, Catalog, applies, directory, each, read, refused


def test_deregistering_returns_the_identifier(catalog: Catalog, table: list[str]) -> None:
    assert catalog.deregister_table(table).id == table


def test_deregistering_returns_the_location(catalog: Catalog, table: list[str]) -> None:
    location = catalog.directory(table)
    assert directory(catalog.deregister_table(table).location) == location


def test_deregistering_returns_the_properties(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties={"k": "v"})
    assert catalog.deregister_table([*home, "t"]).properties == {"k": "v"}


def test_deregistering_keeps_the_data(catalog: Catalog, table: list[str]) -> None:
    assert read(catalog.deregister_table(table).location) == [1, 2, 3]


@each(TABLE_READS | {"deregister_table": TABLE_REMOVALS["deregister_table"]})
def test_a_deregistered_table_is_not_found(catalog: Catalog, table: list[str], act: Act) -> None:
    """000, Marker Files: "not found" for DescribeTable and TableExists."""
    catalog.deregister_table(table)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, table)


def test_a_deregistered_table_is_not_listed(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    catalog.deregister_table(table)
    assert catalog.tables(home) == []


def test_a_deregistered_table_is_not_among_all_tables(catalog: Catalog, table: list[str]) -> None:
    catalog.deregister_table(table)
    assert catalog.list_all_tables().tables == []


def test_a_deregistered_table_can_be_registered_again(catalog: Catalog, table: list[str]) -> None:
    location = catalog.deregister_table(table).location
    catalog.register_table(table, catalog.inside(location))
    assert catalog.rows(table) == [1, 2, 3]


@applies(on_disk=True)
def test_another_client_does_not_see_a_deregistered_table(
    catalog: Catalog, table: list[str]
) -> None:
    catalog.again().deregister_table(table)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.table_exists(table)


def test_deregistering_a_missing_table_is_refused(catalog: Catalog, home: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.deregister_table([*home, "missing"])


@applies(nested=True)
def test_deregistering_in_a_missing_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.deregister_table(["missing", "t"])


@applies(nested=True)
def test_deregistering_a_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.deregister_table(ns)


@applies(nested=True)
def test_a_namespace_is_empty_after_deregistering_its_table(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.left_over([*ns, "t"], 1)
    catalog.drop_namespace(ns)
    assert catalog.namespaces([]) == []


@applies(nested=True)
def test_dropping_a_namespace_keeps_the_data_deregistered_from_it(
    catalog: Catalog, ns: list[str]
) -> None:
    location = catalog.left_over([*ns, "t"], 1)
    catalog.drop_namespace(ns, behavior="cascade")
    assert read(location) == [1]


@applies(nested=True)
def test_a_name_in_a_child_namespace_is_free_after_deregistering(
    catalog: Catalog, ns: list[str]
) -> None:
    old = catalog.left_over([*ns, "t"], 1)
    catalog.create_table([*ns, "t"], 2)
    assert (read(old), catalog.rows([*ns, "t"])) == ([1], [2])


ROOT_DIRECTORIES = [
    pytest.param(mode, marks=applies(mode=mode)) for mode in ("v1", "compat", "bare")
]
of_root_directories = pytest.mark.parametrize("mode", ROOT_DIRECTORIES)
"""The modes in which a table of the root is visible by its directory alone."""


@of_root_directories
@pytest.mark.parametrize("creation", ["create", "exist_ok", "overwrite"])
def test_creating_over_a_deregistered_directory_is_refused(
    catalog: Catalog, mode: str, creation: str
) -> None:
    catalog.left_over(["t"], 1)
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.create_table(["t"], 2, mode=creation)


@of_root_directories
@applies(declare=True)
def test_declaring_over_a_deregistered_directory_is_refused(catalog: Catalog, mode: str) -> None:
    catalog.left_over(["t"], 1)
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.declare_table(["t"])


@of_root_directories
@applies(extensions=True)
def test_the_refusal_says_to_register_or_drop_the_directory(catalog: Catalog, mode: str) -> None:
    catalog.left_over(["t"], 1)
    with pytest.raises(Exception, match=r"(?i)register.*drop|drop.*register"):
        catalog.create_table(["t"], 2)


@of_root_directories
def test_a_deregistered_directory_can_be_dropped(catalog: Catalog, mode: str) -> None:
    """003, DeregisterTable: DropTable still works on deregistered tables."""
    location = catalog.left_over(["t"], 1)
    catalog.drop_table(["t"])
    assert not directory(location).exists()


@of_root_directories
def test_a_name_is_free_after_dropping_its_deregistered_directory(
    catalog: Catalog, mode: str
) -> None:
    catalog.left_over(["t"], 1)
    catalog.drop_table(["t"])
    catalog.create_table(["t"], 2)
    assert catalog.rows(["t"]) == [2]


@applies(mode="v2")
def test_in_v2_a_deregistered_table_cannot_be_dropped(catalog: Catalog, table: list[str]) -> None:
    catalog.deregister_table(table)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.drop_table(table)
