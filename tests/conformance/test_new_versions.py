"""CreateTableVersion: a staged manifest becomes a version, unless there is one."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from lanceyard.errors import TableVersionAlreadyExistsError

from .kit import (
    Catalog,
    applies,
    as_staged,
    each_naming,
    manifest_name,
    refused,
    second_name,
    stage,
    versions_in,
)

ours = applies(extensions=True)
managed = applies(managed=True)


@each_naming
def test_a_created_version_is_the_latest(catalog: Catalog, history: list[str]) -> None:
    catalog.create_table_version(history, **stage(catalog.directory(history), 3))
    assert catalog.versions(history) == [3, 2, 1]


@each_naming
def test_creating_gives_the_staged_manifest_its_final_name(
    catalog: Catalog, history: list[str]
) -> None:
    staged = stage(catalog.directory(history), 3)
    path = catalog.file(staged["manifest_path"])
    content = path.read_bytes()
    created = catalog.create_table_version(history, **staged)
    final = path.with_name(path.name.partition("-")[0])
    assert (catalog.file(created.manifest_path), final.read_bytes()) == (final, content)
    assert not path.exists()


@each_naming
def test_creating_returns_what_describing_returns(catalog: Catalog, history: list[str]) -> None:
    created = catalog.create_table_version(history, **stage(catalog.directory(history), 3))
    assert catalog.describe_table_version(history, version=3) == created


@applies(on_disk=True)
def test_another_client_sees_a_created_version(catalog: Catalog, history: list[str]) -> None:
    created = catalog.create_table_version(history, **stage(catalog.directory(history), 3))
    assert catalog.again().describe_table_version(history) == created


@pytest.mark.parametrize(
    "left_out", ["manifest_size", pytest.param("e_tag", marks=applies(keeps_e_tags=True))]
)
def test_what_a_request_leaves_out_is_read_from_the_manifest(
    catalog: Catalog, history: list[str], left_out: str
) -> None:
    staged = stage(catalog.directory(history), 3)
    told = staged.pop(left_out)
    assert getattr(catalog.create_table_version(history, **staged), left_out) == told


@managed
def test_a_version_keeps_its_metadata(catalog: Catalog, history: list[str]) -> None:
    staged = stage(catalog.directory(history), 3)
    catalog.create_table_version(history, **staged, metadata={"k": "é"})
    assert catalog.again().describe_table_version(history, version=3).metadata == {"k": "é"}


@pytest.mark.parametrize("scheme", ["V1", "V2", None])
def test_a_naming_scheme_may_be_told(
    catalog: Catalog, history: list[str], scheme: str | None
) -> None:
    staged = stage(catalog.directory(history), 3)
    assert catalog.create_table_version(history, **staged, naming_scheme=scheme).version == 3


def test_an_unknown_naming_scheme_is_refused(catalog: Catalog, history: list[str]) -> None:
    staged = stage(catalog.directory(history), 3)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(history, **staged, naming_scheme="V3")


@ours
@each_naming
@pytest.mark.parametrize("version", [1, 2])
def test_creating_an_existing_version_is_a_conflict(
    catalog: Catalog, history: list[str], version: int
) -> None:
    """004, External Manifest Store: put_if_not_exists. 003 says 12, which clients misread."""
    old = catalog.manifest(history, version)
    staged = stage(catalog.directory(history), version, like=3 - version)
    with pytest.raises(TableVersionAlreadyExistsError) as conflict:
        catalog.create_table_version(history, **staged)
    assert conflict.value.code == ErrorCode.CONCURRENT_MODIFICATION
    assert catalog.manifest(history, version) == old


@ours
@applies(on_disk=True)
def test_of_two_clients_the_first_creates_a_version(catalog: Catalog, history: list[str]) -> None:
    first, second = (stage(catalog.directory(history), 3, like=number) for number in (1, 2))
    other = catalog.again()
    created = catalog.create_table_version(history, **first)
    with pytest.raises(TableVersionAlreadyExistsError):
        other.create_table_version(history, **second)
    assert other.describe_table_version(history, version=3) == created


@managed
def test_a_version_that_leaves_a_gap_is_a_conflict(catalog: Catalog, history: list[str]) -> None:
    with refused(ErrorCode.CONCURRENT_MODIFICATION):
        catalog.create_table_version(history, **stage(catalog.directory(history), 4))
    assert catalog.versions(history) == [2, 1]


@applies(managed=False)
def test_where_versions_are_files_one_may_leave_a_gap(catalog: Catalog, history: list[str]) -> None:
    catalog.create_table_version(history, **stage(catalog.directory(history), 4))
    assert catalog.versions(history) == [4, 2, 1]


@ours
@each_naming
def test_the_same_request_again_returns_the_same_answer(
    catalog: Catalog, history: list[str]
) -> None:
    """By its ETag, or what it was made of: the staged manifest is gone."""
    staged = stage(catalog.directory(history), 3)
    created = catalog.create_table_version(history, **staged)
    assert catalog.create_table_version(history, **staged) == created


@ours
@applies(on_disk=True)
def test_the_same_request_again_may_come_from_another_client(
    catalog: Catalog, history: list[str]
) -> None:
    staged = stage(catalog.directory(history), 3)
    created = catalog.create_table_version(history, **staged)
    assert catalog.again().create_table_version(history, **staged) == created


@ours
def test_the_same_request_again_may_find_its_staged_manifest(
    catalog: Catalog, history: list[str]
) -> None:
    """Whoever carried it out crashed before the staged manifest was deleted."""
    staged = stage(catalog.directory(history), 3)
    path = catalog.file(staged["manifest_path"])
    kept = second_name(path, "kept")
    created = catalog.create_table_version(history, **staged)
    kept.rename(path)
    assert catalog.create_table_version(history, **staged) == created


@ours
def test_the_same_request_again_succeeds_after_others_went_on(
    catalog: Catalog, history: list[str]
) -> None:
    staged = stage(catalog.directory(history), 3)
    created = catalog.create_table_version(history, **staged)
    catalog.create_table_version(history, **stage(catalog.directory(history), 4))
    assert catalog.create_table_version(history, **staged) == created


@ours
def test_another_request_whose_staged_manifest_is_gone_is_a_conflict(
    catalog: Catalog, history: list[str]
) -> None:
    mine, others = (stage(catalog.directory(history), 3, like=number) for number in (1, 2))
    catalog.create_table_version(history, **others)
    catalog.file(mine["manifest_path"]).unlink()
    with pytest.raises(TableVersionAlreadyExistsError):
        catalog.create_table_version(history, **mine)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f"{manifest_name(3)}-gone", id="missing"),
        pytest.param("3.manifest-gone", id="missing_counting_up"),
        pytest.param(f"{manifest_name(3)}-{'x' * 300}", id="too_long"),
        pytest.param(f"{'9' * 5_000}.manifest-gone", id="no_number"),
        pytest.param(f"{manifest_name(3)}-\0", id="no_file_name"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_staged_manifest_that_is_not_there_is_refused(
    catalog: Catalog, history: list[str], name: str
) -> None:
    path = str(versions_in(catalog.directory(history))).lstrip("/") + "/" + name
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(history, version=3, manifest_path=path)


@each_naming
def test_a_staged_manifest_of_another_version_is_refused(
    catalog: Catalog, history: list[str]
) -> None:
    staged = stage(catalog.directory(history), 4)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(history, **staged | {"version": 3})
    assert catalog.versions(history) == [2, 1]


@pytest.mark.parametrize("name", ["data", "3", "3.txn-1", "3.manifest", "x.manifest-1"])
def test_a_file_that_is_no_staged_manifest_is_refused(
    catalog: Catalog, history: list[str], name: str
) -> None:
    staged = stage(catalog.directory(history), 3)
    path = catalog.file(staged["manifest_path"])
    odd = path.rename(path.with_name(name))
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(history, **as_staged(odd, 3))


def test_a_published_manifest_is_no_staged_one(catalog: Catalog, history: list[str]) -> None:
    path = versions_in(catalog.directory(history)) / manifest_name(2)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(history, **as_staged(path, 2))


def test_a_manifest_that_is_staged_in_another_table_is_refused(
    catalog: Catalog, history: list[str]
) -> None:
    catalog.create_table(["other"], 1)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table_version(history, **stage(catalog.directory(["other"]), 3))
