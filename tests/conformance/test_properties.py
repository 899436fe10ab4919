"""AlterNamespace, AlterTable, ListOperations and protection: what we add to the documents."""

from __future__ import annotations

from typing import Any

import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

from .kit import Catalog, applies, refused

pytestmark = applies(extensions=True)
nested = applies(nested=True)

PROTECTED = {"protected": "true"}


def alter_namespace(catalog: Catalog, identifier: list[str], **change: Any) -> dict[str, str]:
    properties: dict[str, str] = catalog.plain.alter_namespace(
        {"id": identifier, **change}
    ).properties
    return properties


def alter_table(catalog: Catalog, identifier: list[str], **change: Any) -> dict[str, str]:
    properties: dict[str, str] = catalog.plain.alter_table({"id": identifier, **change}).properties
    return properties


@nested
def test_altering_a_namespace_sets_and_unsets_properties(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties={"keep": "1", "change": "2", "remove": "3"})
    alter_namespace(catalog, ["a"], set={"change": "é", "add": "4"}, unset=["remove"])
    expected = {"keep": "1", "change": "é", "add": "4"}
    assert catalog.describe_namespace(["a"]).properties == expected


@nested
def test_altering_a_namespace_returns_its_properties(catalog: Catalog, ns: list[str]) -> None:
    assert alter_namespace(catalog, ns, set={"k": "v"}) == {"k": "v"}


@nested
def test_altering_a_namespace_keeps_what_is_in_it(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "t"], 1)
    alter_namespace(catalog, ns, set={"k": "v"})
    assert catalog.rows([*ns, "t"]) == [1]


@nested
@applies(root_properties=False)
def test_where_the_root_has_no_properties_they_cannot_be_altered(catalog: Catalog) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        alter_namespace(catalog, [], set={"k": "v"})


@nested
@applies(root_properties=True)
def test_the_root_has_properties_of_its_own(catalog: Catalog) -> None:
    alter_namespace(catalog, [], set={"k": "v", "gone": "1"})
    alter_namespace(catalog, [], unset=["gone"])
    assert catalog.describe_namespace([]).properties == {"k": "v"}


@nested
@applies(on_disk=True)
@pytest.mark.parametrize(
    "identifier",
    [
        pytest.param([], marks=applies(root_properties=True), id="root"),
        pytest.param(["ns"], id="child"),
    ],
)
def test_another_client_sees_altered_properties(
    catalog: Catalog, ns: list[str], identifier: list[str]
) -> None:
    alter_namespace(catalog.again(), identifier, set={"k": "v"})
    assert catalog.describe_namespace(identifier).properties == {"k": "v"}


@nested
def test_altering_a_missing_namespace_is_refused(catalog: Catalog) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        alter_namespace(catalog, ["missing"], set={"k": "v"})


@nested
def test_altering_a_table_as_a_namespace_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        alter_namespace(catalog, table, set={"k": "v"})


@applies(nested=False)
@pytest.mark.parametrize("identifier", [[], ["a"]], ids=["root", "child"])
def test_altering_a_namespace_is_unsupported_without_a_manifest(
    catalog: Catalog, identifier: list[str]
) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        alter_namespace(catalog, identifier, set={"k": "v"})


def test_altering_a_table_sets_and_unsets_properties(catalog: Catalog, home: list[str]) -> None:
    table = [*home, "t"]
    catalog.create_table(table, 1, properties={"keep": "1", "change": "2", "remove": "3"})
    alter_table(catalog, table, set={"change": "é", "add": "4"}, unset=["remove"])
    expected = {"keep": "1", "change": "é", "add": "4"}
    assert catalog.describe_table(table).properties == expected


def test_altering_a_table_returns_its_properties(catalog: Catalog, table: list[str]) -> None:
    assert alter_table(catalog, table, set={"k": "v"}) == {"k": "v"}


def test_altering_a_table_keeps_its_data(catalog: Catalog, table: list[str]) -> None:
    alter_table(catalog, table, set={"k": "v"})
    assert catalog.rows(table) == [1, 2, 3]


def test_altering_a_missing_table_is_refused(catalog: Catalog, home: list[str]) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        alter_table(catalog, [*home, "missing"], set={"k": "v"})


@nested
def test_altering_a_table_in_a_missing_namespace_is_refused(catalog: Catalog) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        alter_table(catalog, ["missing", "t"], set={"k": "v"})


def test_a_protected_table_cannot_be_dropped(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_table([*home, "t"])


def test_a_protected_table_cannot_be_overwritten(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.create_table([*home, "t"], 2, mode="overwrite")


def test_a_refused_overwrite_leaves_a_protected_table_alone(
    catalog: Catalog, home: list[str]
) -> None:
    catalog.create_table([*home, "t"], 1, properties=PROTECTED)
    with pytest.raises(LanceNamespaceError):
        catalog.create_table([*home, "t"], 2, mode="overwrite")
    assert catalog.rows([*home, "t"]) == [1]


def test_a_table_can_be_protected_later(catalog: Catalog, table: list[str]) -> None:
    alter_table(catalog, table, set=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_table(table)


def test_a_table_without_protection_can_be_dropped(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    alter_table(catalog, table, set=PROTECTED)
    alter_table(catalog, table, unset=["protected"])
    catalog.drop_table(table)
    assert catalog.tables(home) == []


@nested
@pytest.mark.parametrize("behavior", ["restrict", "cascade"])
def test_a_protected_namespace_cannot_be_dropped(catalog: Catalog, behavior: str) -> None:
    catalog.create_namespace(["a"], properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_namespace(["a"], behavior=behavior)


@nested
def test_a_protected_namespace_cannot_be_overwritten(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.create_namespace(["a"], mode="overwrite")


@nested
def test_a_namespace_without_protection_can_be_dropped(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties=PROTECTED)
    alter_namespace(catalog, ["a"], unset=["protected"])
    catalog.drop_namespace(["a"])
    assert catalog.namespaces([]) == []


@nested
def test_cascade_stops_at_a_protected_table(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "t"], 1, properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_namespace(ns, behavior="cascade")


@nested
@applies(deep=True)
def test_cascade_stops_at_a_protected_namespace(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_namespace([*ns, "child"], properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_namespace(ns, behavior="cascade")


@nested
def test_overwriting_a_namespace_stops_at_a_protected_table(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.create_table([*ns, "t"], 1, properties=PROTECTED)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.create_namespace(ns, mode="overwrite")


@nested
def test_a_cascade_that_was_stopped_has_dropped_nothing(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "a"], 1)
    catalog.create_table([*ns, "t"], 2, properties=PROTECTED)
    with pytest.raises(LanceNamespaceError):
        catalog.drop_namespace(ns, behavior="cascade")
    assert catalog.rows([*ns, "a"]) == [1]


def test_only_the_value_true_protects(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t"], 1, properties={"protected": "false"})
    catalog.drop_table([*home, "t"])
    assert catalog.tables(home) == []


@pytest.mark.parametrize("operation", ["ListTables", "DescribeTable", "CreateTable", "DropTable"])
def test_the_operations_of_every_catalog_are_listed(catalog: Catalog, operation: str) -> None:
    assert operation in catalog.plain.list_operations({}).operations


@pytest.mark.parametrize("operation", ["CreateNamespace", "DropNamespace", "RenameTable"])
def test_an_unsupported_operation_is_not_listed(catalog: Catalog, operation: str) -> None:
    listed = operation in catalog.plain.list_operations({}).operations
    assert listed is catalog.backend.nested
