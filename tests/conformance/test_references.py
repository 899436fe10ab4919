"""Tags and branches of tables, and going back to a version."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, refused

ours = applies(extensions=True)


@pytest.fixture
def tagged(catalog: Catalog, history: list[str]) -> list[str]:
    """A table with versions 1 and 2 and a tag `first` on 1."""
    catalog.do("create_table_tag", history, tag="first", version=1)
    return history


@pytest.fixture
def branched(catalog: Catalog, history: list[str]) -> list[str]:
    """A table with versions 1 and 2 and a branch `side` that began at 2 and has a 3."""
    catalog.do("create_table_branch", history, name="side")
    catalog.insert(history, 5, branch="side")
    return history


def tags(catalog: Catalog, table: list[str], **fields: object) -> dict[str, int]:
    """The tags of a table and the versions they name."""
    found = catalog.do("list_table_tags", table, **fields).tags
    return {name: tag.version for name, tag in found.items()}


def test_a_tag_names_a_version(catalog: Catalog, table: list[str]) -> None:
    version = catalog.open(table).version
    catalog.do("create_table_tag", table, tag="good", version=version)
    assert catalog.do("get_table_tag_version", table, tag="good").version == version
    assert catalog.open(table, version="good").version == version


def test_tags_are_listed_with_their_versions(catalog: Catalog, tagged: list[str]) -> None:
    catalog.do("create_table_tag", tagged, tag="second", version=2)
    assert tags(catalog, tagged) == {"first": 1, "second": 2}


@ours
def test_a_listed_tag_tells_the_size_of_its_manifest(catalog: Catalog, tagged: list[str]) -> None:
    (tag,) = catalog.do("list_table_tags", tagged).tags.values()
    assert tag.manifest_size == catalog.describe_table_version(tagged, version=1).manifest_size


@ours
@pytest.mark.parametrize("operation", ["list_table_tags", "list_table_branches"])
def test_tags_and_branches_are_listed_in_pages(
    catalog: Catalog, history: list[str], operation: str
) -> None:
    for name in "abcde":
        catalog.do("create_table_tag", history, tag=name, version=1)
        catalog.do("create_table_branch", history, name=name)
    found: list[str] = []
    token = None
    while True:
        page = catalog.do(operation, history, limit=2, page_token=token)
        names = getattr(page, operation.rpartition("_")[2])
        found += names
        token = page.page_token
        assert len(names) <= 2
        if token is None:
            break
    assert found == list("abcde")


@ours
@pytest.mark.parametrize("operation", ["list_table_tags", "list_table_branches"])
def test_a_page_of_no_tags_or_branches_is_refused(
    catalog: Catalog, history: list[str], operation: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do(operation, history, limit=0)


def test_a_tag_can_be_moved(catalog: Catalog, tagged: list[str]) -> None:
    catalog.do("update_table_tag", tagged, tag="first", version=2)
    assert tags(catalog, tagged) == {"first": 2}


def test_a_deleted_tag_is_gone_and_its_version_is_not(catalog: Catalog, tagged: list[str]) -> None:
    catalog.do("delete_table_tag", tagged, tag="first")
    assert tags(catalog, tagged) == {}
    assert catalog.count(tagged, version=1) == 3


def test_a_tag_that_exists_is_not_created(catalog: Catalog, tagged: list[str]) -> None:
    with refused(ErrorCode.TABLE_TAG_ALREADY_EXISTS):
        catalog.do("create_table_tag", tagged, tag="first", version=2)
    assert tags(catalog, tagged) == {"first": 1}


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("get_table_tag_version", {}),
        ("update_table_tag", {"version": 1}),
        ("delete_table_tag", {}),
    ],
    ids=["get", "update", "delete"],
)
def test_a_tag_that_is_missing_is_told(
    catalog: Catalog, tagged: list[str], operation: str, fields: dict[str, int]
) -> None:
    with refused(ErrorCode.TABLE_TAG_NOT_FOUND):
        catalog.do(operation, tagged, tag="nope", **fields)


@pytest.mark.parametrize("operation", ["create_table_tag", "update_table_tag"])
def test_a_tag_cannot_name_a_version_that_is_missing(
    catalog: Catalog, tagged: list[str], operation: str
) -> None:
    tag = "first" if operation.startswith("update") else "other"
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.do(operation, tagged, tag=tag, version=99)
    assert tags(catalog, tagged) == {"first": 1}


@ours
@pytest.mark.parametrize("name", ["", "with space", "../up", "a:b"])
def test_a_tag_of_a_bad_name_is_refused(catalog: Catalog, history: list[str], name: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_table_tag", history, tag=name, version=1)


@ours
def test_a_tag_may_name_a_version_of_a_branch(catalog: Catalog, branched: list[str]) -> None:
    catalog.do("create_table_tag", branched, tag="there", version=3, branch="side")
    found = catalog.do("get_table_tag_version", branched, tag="there")
    assert (found.version, found.branch) == (3, "side")
    assert catalog.do("list_table_tags", branched).tags["there"].branch == "side"


def test_a_branch_begins_with_the_rows_of_the_table(catalog: Catalog, table: list[str]) -> None:
    catalog.do("create_table_branch", table, name="side")
    catalog.insert(table, 4, branch="side")
    assert catalog.count(table, branch="side") == 4
    assert catalog.rows(table) == [1, 2, 3]


@ours
def test_a_branch_may_begin_at_an_earlier_version(catalog: Catalog, history: list[str]) -> None:
    catalog.do("create_table_branch", history, name="old", from_version=1)
    assert catalog.count(history, branch="old") == 3


@ours
def test_a_branch_may_begin_at_another_branch(catalog: Catalog, branched: list[str]) -> None:
    catalog.do("create_table_branch", branched, name="more", from_branch="side")
    assert catalog.count(branched, branch="more") == 5
    found = catalog.do("list_table_branches", branched).branches["more"]
    assert (found.parent_branch, found.parent_version) == ("side", 3)


def test_branches_are_listed_with_where_they_began(catalog: Catalog, branched: list[str]) -> None:
    (name, branch), *others = catalog.do("list_table_branches", branched).branches.items()
    assert (name, branch.parent_version, branch.parent_branch) == ("side", 2, None)
    assert branch.create_at > 0
    assert not others


@ours
def test_a_branch_that_exists_is_not_created(catalog: Catalog, branched: list[str]) -> None:
    with refused(ErrorCode.TABLE_BRANCH_ALREADY_EXISTS):
        catalog.do("create_table_branch", branched, name="side", from_version=1)
    assert catalog.count(branched, branch="side") == 5


@ours
@pytest.mark.parametrize("name", ["main", "with space", "a//b", "../up"])
def test_a_branch_of_a_bad_name_is_refused(catalog: Catalog, history: list[str], name: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_table_branch", history, name=name)


@ours
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"from_version": 99}, ErrorCode.TABLE_VERSION_NOT_FOUND),
        ({"from_branch": "nope"}, ErrorCode.TABLE_BRANCH_NOT_FOUND),
    ],
    ids=["version", "branch"],
)
def test_a_branch_cannot_begin_at_what_is_missing(
    catalog: Catalog, history: list[str], fields: dict[str, object], code: ErrorCode
) -> None:
    with refused(code):
        catalog.do("create_table_branch", history, name="side", **fields)
    assert catalog.do("list_table_branches", history).branches == {}


def test_a_deleted_branch_is_gone(catalog: Catalog, branched: list[str]) -> None:
    catalog.do("delete_table_branch", branched, name="side")
    assert catalog.do("list_table_branches", branched).branches == {}
    assert catalog.rows(branched) == [1, 2, 3, 4]


@ours
def test_a_missing_branch_cannot_be_deleted(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.TABLE_BRANCH_NOT_FOUND):
        catalog.do("delete_table_branch", history, name="nope")


@ours
def test_the_main_branch_cannot_be_deleted(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("delete_table_branch", history, name="main")


@ours
def test_a_branch_that_a_tag_needs_is_kept(catalog: Catalog, branched: list[str]) -> None:
    catalog.do("create_table_tag", branched, tag="there", version=3, branch="side")
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.do("delete_table_branch", branched, name="side")
    assert catalog.count(branched, branch="side") == 5


def test_a_restored_version_is_the_latest_one(catalog: Catalog, history: list[str]) -> None:
    catalog.do("restore_table", history, version=1)
    assert catalog.rows(history) == [1, 2, 3]
    assert catalog.versions(history) == [3, 2, 1]


@ours
def test_a_version_of_a_branch_is_restored_there(catalog: Catalog, branched: list[str]) -> None:
    catalog.do("restore_table", branched, version=2, branch="side")
    assert catalog.count(branched, branch="side") == 4
    assert catalog.versions(branched) == [2, 1]


@ours
@pytest.mark.parametrize("version", [0, 99])
def test_a_missing_version_cannot_be_restored(
    catalog: Catalog, history: list[str], version: int
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.do("restore_table", history, version=version)
    assert catalog.versions(history) == [2, 1]
