"""ListTableVersions and DescribeTableVersion, and what becomes of versions with their table."""

from __future__ import annotations

import time

import pytest
from lance_namespace.errors import ErrorCode

from .kit import (
    NOWHERE,
    TABLE_REMOVALS,
    Act,
    Catalog,
    applies,
    as_staged,
    each,
    each_naming,
    manifest_name,
    refused,
    remove,
    stage,
    versions_in,
)

ours = applies(extensions=True)

READS: dict[str, Act] = {
    "list_table_versions": lambda catalog, table: catalog.list_table_versions(table),
    "describe_table_version": lambda catalog, table: catalog.describe_table_version(table),
    "describe_table_version_1": lambda catalog, table: catalog.describe_table_version(
        table, version=1
    ),
}
CHANGES: dict[str, Act] = {
    "create_table_version": lambda catalog, table: catalog.create_table_version(table, **NOWHERE),
    "batch_create_table_versions": lambda catalog, table: catalog.create_table_versions(
        {"id": table, **NOWHERE}
    ),
    "batch_delete_table_versions": lambda catalog, table: catalog.delete_table_versions(
        table, (0, -1)
    ),
}
OPERATIONS = READS | CHANGES


@each(OPERATIONS)
def test_a_missing_table_is_refused(catalog: Catalog, home: list[str], act: Act) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, [*home, "missing"])


@applies(nested=True)
@each(OPERATIONS)
def test_a_table_in_a_missing_namespace_is_refused(catalog: Catalog, act: Act) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        act(catalog, ["missing", "t"])


@applies(nested=True)
@each(OPERATIONS)
def test_a_namespace_has_no_versions(catalog: Catalog, ns: list[str], act: Act) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ns)


@each(OPERATIONS)
def test_a_table_without_a_name_is_refused(catalog: Catalog, act: Act) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, [])


@pytest.mark.parametrize("version", [3, 2**63, 2**64 - 1])
def test_describing_a_missing_version_is_refused(
    catalog: Catalog, history: list[str], version: int
) -> None:
    """003, DescribeTableVersion: error code 11 (TableVersionNotFound)."""
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.describe_table_version(history, version=version)


def test_describing_version_zero_is_refused(catalog: Catalog, table: list[str]) -> None:
    """004, Table Version: numbers start from 1."""
    with refused(ErrorCode.INVALID_INPUT):
        catalog.describe_table_version(table, version=0)


def test_creating_version_zero_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(table, **NOWHERE | {"version": 0})


@each_naming
def test_versions_are_listed_latest_first(catalog: Catalog, history: list[str]) -> None:
    """004, Version Operations: ordered from latest to oldest."""
    assert catalog.versions(history) == [2, 1]


@each_naming
@pytest.mark.parametrize(("descending", "listed"), [(False, [1, 2]), (True, [2, 1])])
def test_the_order_of_versions_may_be_asked_for(
    catalog: Catalog, history: list[str], descending: bool, listed: list[int]
) -> None:
    assert catalog.versions(history, descending=descending) == listed


def test_the_latest_version_is_the_first_of_the_list(catalog: Catalog, long: list[str]) -> None:
    """004, External Manifest Store: get_latest_version is a listing with limit 1."""
    assert catalog.versions(long, limit=1) == [5]


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 5, 9])
def test_paging_yields_every_version_once_and_in_order(
    catalog: Catalog, long: list[str], limit: int, descending: bool
) -> None:
    pages: list[list[int]] = []
    token = None
    while token is not None or not pages:
        page = catalog.list_table_versions(
            long, limit=limit, page_token=token, descending=descending
        )
        pages.append([each.version for each in page.versions])
        token = page.page_token
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert [number for page in pages for number in page] == sorted(range(1, 6), reverse=descending)


@pytest.mark.parametrize("limit", [5, None])
def test_the_last_page_of_versions_has_no_token(
    catalog: Catalog, long: list[str], limit: int | None
) -> None:
    assert not catalog.list_table_versions(long, limit=limit).page_token


def test_a_version_created_while_paging_does_not_repeat_others(
    catalog: Catalog, long: list[str]
) -> None:
    first = catalog.list_table_versions(long, limit=2)
    catalog.create_table_version(long, **stage(catalog.directory(long), 6))
    assert catalog.versions(long, limit=9, page_token=first.page_token) == [3, 2, 1]


def test_paging_goes_on_after_its_last_version_was_deleted(
    catalog: Catalog, long: list[str]
) -> None:
    first = catalog.list_table_versions(long, limit=2)
    catalog.delete_table_versions(long, (3, 5))
    assert catalog.versions(long, limit=9, page_token=first.page_token) == [2, 1]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_versions_below_one_is_refused(
    catalog: Catalog, history: list[str], limit: int
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.list_table_versions(history, limit=limit)


@ours
@pytest.mark.parametrize("token", ["x", "-1", "1.5", "1 ", "²", "9" * 5_000], ids=lambda t: t[:3])
def test_a_token_that_is_no_version_is_refused(
    catalog: Catalog, history: list[str], token: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.list_table_versions(history, page_token=token)


@each_naming
def test_describing_no_version_describes_the_latest(catalog: Catalog, history: list[str]) -> None:
    latest = catalog.describe_table_version(history)
    assert latest == catalog.describe_table_version(history, version=2)


@each_naming
def test_listing_tells_of_versions_what_describing_tells(
    catalog: Catalog, history: list[str]
) -> None:
    described = [catalog.describe_table_version(history, version=number) for number in (2, 1)]
    assert catalog.list_table_versions(history).versions == described


@each_naming
def test_a_version_tells_where_its_manifest_lies(catalog: Catalog, history: list[str]) -> None:
    """As a path of the object store: nothing of it is encoded, and no slash leads."""
    version = catalog.describe_table_version(history, version=1)
    path = catalog.file(version.manifest_path)
    assert version.manifest_path[0] != "/"
    assert path.parent == versions_in(catalog.directory(history))
    told = as_staged(path, 1)
    assert (version.manifest_size, version.e_tag) == (told["manifest_size"], told["e_tag"])


@applies(any_name=True)
@pytest.mark.parametrize("name", ["a b", "50%", "%20", "é", "日本", "a#b", "a?b"])
def test_the_path_of_a_manifest_is_not_encoded(catalog: Catalog, name: str) -> None:
    catalog.create_table([name], 1)
    path = catalog.describe_table_version([name]).manifest_path
    assert catalog.file(path).is_file()


def test_a_version_tells_when_it_was_made(catalog: Catalog, table: list[str]) -> None:
    made = catalog.describe_table_version(table).timestamp_millis
    assert made is not None
    assert abs(made / 1000 - time.time()) < 600


def test_what_pylance_appends_is_a_version(catalog: Catalog, table: list[str]) -> None:
    catalog.append(table, 4)
    assert (catalog.versions(table), catalog.rows(table)) == ([2, 1], [1, 2, 3, 4])


@ours
def test_requests_about_versions_may_be_plain_dicts(catalog: Catalog, table: list[str]) -> None:
    client, this = catalog.plain, {"id": table}
    staged = stage(catalog.directory(table), 2)
    assert client.create_table_version(this | staged).version.version == 2
    assert client.describe_table_version(this | {"version": 2}).version.version == 2
    assert [each.version for each in client.list_table_versions(this).versions] == [2, 1]
    ranges = [{"start_version": 1, "end_version": 2}]
    assert client.batch_delete_table_versions(this | {"ranges": ranges}).deleted_count == 1
    staged = stage(catalog.directory(table), 3, like=2)
    assert client.batch_create_table_versions({"entries": [this | staged]}).versions[0].version == 3


@ours
@pytest.mark.parametrize("version", [-1, "one"])
def test_a_plain_dict_about_a_version_is_checked_like_a_model(
    catalog: Catalog, table: list[str], version: object
) -> None:
    request = {"id": table, "version": version}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.describe_table_version(request)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.create_table_version(NOWHERE | request)


@applies(declare=True)
def test_a_declared_table_has_no_versions(catalog: Catalog, declared: list[str]) -> None:
    assert catalog.versions(declared) == catalog.versions(declared, limit=1) == []


@applies(declare=True)
@pytest.mark.parametrize("fields", [{}, {"version": 1}], ids=["latest", "first"])
def test_describing_a_version_of_a_declared_table_is_refused(
    catalog: Catalog, declared: list[str], fields: dict[str, int]
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.describe_table_version(declared, **fields)


@applies(declare=True)
def test_deleting_versions_of_a_declared_table_deletes_none(
    catalog: Catalog, declared: list[str]
) -> None:
    assert catalog.delete_table_versions(declared, (0, -1)) == 0


@applies(declare=True)
def test_the_first_version_may_be_created_in_a_declared_table(
    catalog: Catalog, declared: list[str], table: list[str]
) -> None:
    staged = versions_in(catalog.directory(declared)) / f"{manifest_name(1)}-1"
    staged.parent.mkdir(parents=True)
    staged.write_bytes(catalog.manifest(table, 1))
    catalog.create_table_version(declared, **as_staged(staged, 1))
    assert catalog.versions(declared) == [1]
    assert catalog.describe_table(declared, check_declared=True).is_only_declared is False


@applies(declare=True)
def test_a_declared_table_that_was_filled_has_a_version(
    catalog: Catalog, declared: list[str]
) -> None:
    catalog.create_table(declared, 1)
    assert catalog.versions(declared) == [1]


@ours
@applies(declare=True)
def test_declaring_tells_whether_versions_are_managed(catalog: Catalog, home: list[str]) -> None:
    told = catalog.declare_table([*home, "d"]).managed_versioning
    assert bool(told) is catalog.backend.managed


@ours
@pytest.mark.parametrize("fields", [{}, {"load_detailed_metadata": True}], ids=["plain", "details"])
def test_describing_a_table_tells_whether_versions_are_managed(
    catalog: Catalog, table: list[str], fields: dict[str, bool]
) -> None:
    told = catalog.describe_table(table, **fields).managed_versioning
    assert bool(told) is catalog.backend.managed


@each(TABLE_REMOVALS)
def test_a_new_table_of_a_former_name_starts_afresh(
    catalog: Catalog, history: list[str], act: Act
) -> None:
    files = catalog.directory(history)
    act(catalog, history)
    remove(files)
    catalog.create_table(history, 1)
    assert catalog.versions(history) == [1]


def test_an_overwritten_table_has_the_versions_of_its_new_content(
    catalog: Catalog, history: list[str]
) -> None:
    version = catalog.create_table(history, 9, mode="overwrite").version
    assert catalog.versions(history)[0] == version
    assert catalog.rows(history) == [9]


@applies(nested=True)
def test_a_new_table_in_a_namespace_that_was_dropped_starts_afresh(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.create_table([*ns, "t"], 1)
    catalog.append([*ns, "t"], 2)
    catalog.drop_namespace(ns, behavior="cascade")
    catalog.create_namespace(ns)
    catalog.create_table([*ns, "t"], 1)
    assert catalog.versions([*ns, "t"]) == [1]


@applies(rename=True)
@pytest.mark.parametrize("target", [["new"], ["ns", "new"]], ids=["root", "ns"])
def test_a_renamed_table_keeps_its_versions(
    catalog: Catalog, ns: list[str], history: list[str], target: list[str]
) -> None:
    catalog.create_table_version(history, **stage(catalog.directory(history), 3))
    catalog.rename_table(history, "new", new_namespace_id=target[:-1])
    assert catalog.versions(target) == [3, 2, 1]
    path = catalog.describe_table_version(target, version=3).manifest_path
    assert catalog.file(path).parent == versions_in(catalog.directory(target))


@applies(rename=True)
def test_a_renamed_table_goes_on_with_its_next_version(
    catalog: Catalog, history: list[str]
) -> None:
    catalog.rename_table(history, "new")
    created = catalog.create_table_version(["new"], **stage(catalog.directory(["new"]), 3))
    assert catalog.describe_table_version(["new"]) == created


@applies(rename=True)
def test_a_new_table_of_a_renamed_ones_name_starts_afresh(
    catalog: Catalog, history: list[str]
) -> None:
    catalog.rename_table(history, "new")
    catalog.create_table(history, 1)
    assert (catalog.versions(history), catalog.versions(["new"])) == ([1], [2, 1])


def test_a_table_that_is_registered_again_has_its_versions(
    catalog: Catalog, history: list[str]
) -> None:
    listed = catalog.list_table_versions(history).versions
    location = catalog.deregister_table(history).location
    catalog.register_table(history, catalog.inside(location))
    again = catalog.list_table_versions(history).versions
    assert [each.manifest_path for each in again] == [each.manifest_path for each in listed]


@applies(register_anywhere=True)
def test_a_registered_table_has_the_versions_that_lie_there(
    catalog: Catalog, ns: list[str], history: list[str]
) -> None:
    location = catalog.deregister_table(history).location
    catalog.register_table([*ns, "r"], catalog.inside(location))
    assert catalog.versions([*ns, "r"]) == [2, 1]
    staged = stage(catalog.directory([*ns, "r"]), 3)
    assert catalog.create_table_version([*ns, "r"], **staged).version == 3


@applies(register_anywhere=True)
def test_overwriting_a_registration_brings_the_versions_that_lie_there(
    catalog: Catalog, history: list[str]
) -> None:
    location = catalog.left_over(["lost"], 7)
    catalog.register_table(history, catalog.inside(location), mode="overwrite")
    assert catalog.versions(history) == [1]


@applies(nested=True)
def test_a_table_may_be_named_like_a_version_of_a_former_table(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1)
    catalog.append(["t"], 2)
    catalog.drop_table(["t"])
    catalog.create_namespace(["t"])
    catalog.create_table(["t", "1"], 7)
    catalog.declare_table(["t", "2"])
    assert (catalog.tables(["t"]), catalog.rows(["t", "1"])) == (["1", "2"], [7])
    assert catalog.versions(["t", "1"]) == [1]
    catalog.drop_namespace(["t"], behavior="cascade")
    catalog.create_table(["t"], 8)
    assert catalog.versions(["t"]) == [1]


@applies(nested=True)
def test_a_version_is_neither_a_table_nor_a_namespace(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1)
    assert (catalog.tables([]), catalog.list_all_tables().tables) == (["t"], ["t"])
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.table_exists(["t", "1"])
