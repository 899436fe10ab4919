"""Versions of branches, each branch with numbers of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lance_namespace.errors import ErrorCode

from lanceyard.errors import TableVersionAlreadyExistsError

from .kit import (
    NOWHERE,
    Catalog,
    applies,
    manifest_name,
    refused,
    stage,
    versions_in,
)

ours = applies(extensions=True)


@pytest.fixture
def side(catalog: Catalog) -> list[str]:
    """A table with versions 1 and 2, and a branch `side` that has only version 2 so far."""
    catalog.create_table(["t"], 1, 2, 3)
    catalog.append(["t"], 4).create_branch("side")
    return ["t"]


def test_versions_of_a_branch_are_its_own(catalog: Catalog, side: list[str]) -> None:
    assert catalog.versions(side, branch="side") == [2]


def test_the_branch_main_is_the_table(catalog: Catalog, side: list[str]) -> None:
    assert catalog.versions(side, branch="main") == [2, 1]
    assert catalog.describe_table_version(side, branch="main") == catalog.describe_table_version(
        side
    )


def test_a_version_of_a_branch_lies_in_the_branch(catalog: Catalog, side: list[str]) -> None:
    version = catalog.describe_table_version(side, version=2, branch="side")
    folder = versions_in(catalog.directory(side), "side")
    assert catalog.file(version.manifest_path) == folder / manifest_name(2)


def test_a_version_that_only_the_table_has_is_missing_from_a_branch(
    catalog: Catalog, side: list[str]
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.describe_table_version(side, version=1, branch="side")


def test_the_same_version_on_two_branches_is_no_conflict(catalog: Catalog, side: list[str]) -> None:
    table = catalog.directory(side)
    catalog.create_table_version(side, **stage(table, 3))
    created = catalog.create_table_version(
        side, **stage(table, 3, like=2, branch="side"), branch="side"
    )
    assert catalog.versions(side, branch="side") == [3, 2]
    assert catalog.describe_table_version(side, branch="side") == created
    assert catalog.versions(side) == [3, 2, 1]


@ours
def test_creating_an_existing_version_of_a_branch_is_a_conflict(
    catalog: Catalog, side: list[str]
) -> None:
    (old,) = catalog.list_table_versions(side, branch="side").versions
    staged = stage(catalog.directory(side), 2, like=2, branch="side")
    catalog.file(staged["manifest_path"]).write_bytes(catalog.manifest(side, 1))
    with pytest.raises(TableVersionAlreadyExistsError):
        catalog.create_table_version(side, **staged, branch="side")
    assert catalog.list_table_versions(side, branch="side").versions == [old]


def test_deleting_versions_of_a_branch_keeps_those_of_the_table(
    catalog: Catalog, side: list[str]
) -> None:
    assert catalog.delete_table_versions(side, (0, -1), branch="side") == 1
    assert (catalog.versions(side, branch="side"), catalog.versions(side)) == ([], [2, 1])


@applies(outlives_versions=True)
def test_deleting_versions_of_the_table_keeps_those_of_a_branch(
    catalog: Catalog, side: list[str]
) -> None:
    catalog.delete_table_versions(side, (0, -1))
    assert (catalog.versions(side, branch="side"), catalog.versions(side)) == ([2], [])


def test_what_pylance_appends_to_a_branch_is_a_version_of_it(
    catalog: Catalog, history: list[str]
) -> None:
    branch = catalog.append(history, 5).create_branch("side")
    branch.delete("n = 1")
    assert catalog.versions(history, branch="side") == [4, 3]
    assert catalog.versions(history) == [3, 2, 1]


@ours
def test_a_branch_that_is_not_there_has_no_versions(catalog: Catalog, table: list[str]) -> None:
    """Pylance asks before it makes a branch."""
    assert catalog.versions(table, branch="missing") == []


BRANCH_OPERATIONS: dict[str, Callable[[Catalog, str], object]] = {
    "list": lambda catalog, name: catalog.list_table_versions(["t"], branch=name),
    "describe": lambda catalog, name: catalog.describe_table_version(["t"], branch=name),
    "create": lambda catalog, name: catalog.create_table_version(["t"], branch=name, **NOWHERE),
    "delete": lambda catalog, name: catalog.delete_table_versions(["t"], (0, -1), branch=name),
}


@pytest.mark.parametrize("name", ["", "../t", "a//b"])
@pytest.mark.parametrize("act", BRANCH_OPERATIONS.values(), ids=[*BRANCH_OPERATIONS])
def test_a_branch_that_is_no_path_below_the_table_is_refused(
    catalog: Catalog, act: Callable[[Catalog, str], object], name: str
) -> None:
    catalog.create_table(["t"], 1)
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, name)
