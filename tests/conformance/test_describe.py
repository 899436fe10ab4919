"""DescribeTable and TableExists."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import (
    TABLE_OPERATIONS,
    TABLE_READS,
    Act,
    Catalog,
    Identifier,
    applies,
    each,
    refused,
    write_lance,
)


@pytest.fixture
def history(catalog: Catalog, table: list[str]) -> list[str]:
    """A table with versions 1 and 2, the first tagged `first`, and a branch `side`."""
    dataset = catalog.append(table, 4)
    dataset.tags.create("first", 1)
    dataset.create_branch("side")
    return table


@applies(extensions=True)
def test_describing_returns_location_and_properties_and_nothing_else(
    catalog: Catalog, table: list[str]
) -> None:
    described = catalog.describe_table(table).model_dump(exclude_none=True)
    assert described.pop("managed_versioning", False) is catalog.backend.managed
    assert bool(described.pop("storage_options", False)) is catalog.backend.remote
    assert sorted(described) == ["location", "properties"]


@applies(extensions=True)
def test_a_table_created_without_properties_has_none(catalog: Catalog, table: list[str]) -> None:
    assert catalog.describe_table(table).properties == {}


def test_the_uri_of_a_table_is_given_on_request(catalog: Catalog, table: list[str]) -> None:
    assert catalog.describe_table(table, with_table_uri=True).table_uri


def test_details_hold_the_name_and_the_namespace(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    described = catalog.describe_table(table, load_detailed_metadata=True)
    assert (described.table, described.namespace) == ("t", home)


def test_details_hold_the_version(catalog: Catalog, history: list[str]) -> None:
    assert catalog.describe_table(history, load_detailed_metadata=True).version == 2


def test_details_hold_the_schema(catalog: Catalog, table: list[str]) -> None:
    """003, DescribeTable: the Arrow schema of the table."""
    schema = catalog.describe_table(table, load_detailed_metadata=True).var_schema
    assert schema is not None
    assert [(field.name, field.type.type) for field in schema.fields] == [("n", "int64")]


@pytest.mark.parametrize("part", ["stats", "metadata"])
def test_details_hold_statistics_and_metadata(
    catalog: Catalog, table: list[str], part: str
) -> None:
    assert getattr(catalog.describe_table(table, load_detailed_metadata=True), part) is not None


@pytest.mark.parametrize("fields", [{"check_declared": True}, {"load_detailed_metadata": True}])
def test_a_table_with_data_is_not_only_declared(
    catalog: Catalog, table: list[str], fields: dict[str, bool]
) -> None:
    assert catalog.describe_table(table, **fields).is_only_declared is False


@applies(declare=True)
@pytest.mark.parametrize("fields", [{"check_declared": True}, {"load_detailed_metadata": True}])
def test_a_declared_table_is_only_declared(
    catalog: Catalog, declared: list[str], fields: dict[str, bool]
) -> None:
    assert catalog.describe_table(declared, **fields).is_only_declared is True


@applies(declare=True)
def test_a_declared_table_written_by_a_client_is_not_only_declared(
    catalog: Catalog, declared: list[str]
) -> None:
    write_lance(catalog.directory(declared), 1)
    assert catalog.describe_table(declared, check_declared=True).is_only_declared is False


@applies(declare=True)
def test_a_declared_table_has_no_version_and_no_schema(
    catalog: Catalog, declared: list[str]
) -> None:
    described = catalog.describe_table(declared, load_detailed_metadata=True)
    assert (described.version, described.var_schema) == (None, None)


@applies(declare=True)
def test_a_declared_table_has_no_first_version(catalog: Catalog, declared: list[str]) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.describe_table(declared, version=1)


@pytest.mark.parametrize("detailed", [None, True])
def test_a_version_can_be_described(
    catalog: Catalog, history: list[str], detailed: bool | None
) -> None:
    described = catalog.describe_table(history, version=1, load_detailed_metadata=detailed)
    assert described.version == 1


@pytest.mark.parametrize("detailed", [None, True])
def test_a_missing_version_is_not_found(
    catalog: Catalog, history: list[str], detailed: bool | None
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.describe_table(history, version=999, load_detailed_metadata=detailed)


def test_a_tag_names_a_version(catalog: Catalog, history: list[str]) -> None:
    assert catalog.describe_table(history, tag="first").version == 1


def test_a_missing_tag_is_not_found(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.TABLE_TAG_NOT_FOUND):
        catalog.describe_table(history, tag="missing")


def test_a_branch_can_be_described(catalog: Catalog, history: list[str]) -> None:
    assert catalog.describe_table(history, branch="side").version == 2


def test_a_missing_branch_is_not_found(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.TABLE_BRANCH_NOT_FOUND):
        catalog.describe_table(history, branch="missing")


def test_asking_for_a_version_and_a_tag_is_refused(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.describe_table(history, version=1, tag="first")


def test_an_existing_version_exists(catalog: Catalog, history: list[str]) -> None:
    catalog.table_exists(history, version=1)


def test_a_missing_version_does_not_exist(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.table_exists(history, version=999)


@each(TABLE_READS)
def test_a_missing_table_is_not_found(catalog: Catalog, home: list[str], act: Act) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, [*home, "missing"])


@applies(nested=True)
@each(TABLE_READS)
@pytest.mark.parametrize("parent", [["missing"], ["ns", "missing"], ["missing", "child"]], ids=str)
def test_a_table_in_a_missing_namespace_is_refused_for_the_namespace(
    catalog: Catalog, ns: list[str], act: Act, parent: list[str]
) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        act(catalog, [*parent, "t"])


@applies(nested=True)
@each(TABLE_READS)
def test_a_namespace_is_no_table(catalog: Catalog, ns: list[str], act: Act) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ns)


@applies(nested=False)
@each(TABLE_OPERATIONS)
def test_tables_in_child_namespaces_are_unsupported_without_a_manifest(
    catalog: Catalog, act: Act
) -> None:
    """003, Lance Table Identification: only single-level identifiers are supported in V1."""
    with refused(ErrorCode.UNSUPPORTED):
        act(catalog, ["ns", "t"])


@pytest.mark.parametrize("identifier", [[], None], ids=["empty", "null"])
@each(TABLE_READS)
def test_the_root_is_no_table(catalog: Catalog, act: Act, identifier: Identifier) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, identifier)


@applies(listing=True)
def test_a_directory_that_is_no_lance_table_can_be_described(catalog: Catalog) -> None:
    foreign = catalog.root / "x.lance"
    foreign.mkdir(parents=True)
    (foreign / "readme.txt").write_text("no Lance table")
    assert catalog.directory(["x"]) == foreign


@applies(listing=True)
def test_a_directory_that_is_no_lance_table_has_no_details(catalog: Catalog) -> None:
    foreign = catalog.root / "x.lance"
    foreign.mkdir(parents=True)
    (foreign / "readme.txt").write_text("no Lance table")
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.describe_table(["x"], load_detailed_metadata=True)
