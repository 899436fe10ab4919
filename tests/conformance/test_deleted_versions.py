"""BatchDeleteTableVersions: versions are forgotten by ranges, and data stays."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import (
    Catalog,
    applies,
    each_naming,
    refused,
    stage,
)

ours = applies(extensions=True)


@each_naming
def test_deleted_versions_are_counted_and_gone(catalog: Catalog, history: list[str]) -> None:
    assert catalog.delete_table_versions(history, (1, 2)) == 1
    assert catalog.versions(history) == [2]


@each_naming
def test_the_manifest_of_a_deleted_version_is_gone(catalog: Catalog, history: list[str]) -> None:
    """003, BatchDeleteTableVersions: the manifest files are deleted."""
    path = catalog.file(catalog.describe_table_version(history, version=1).manifest_path)
    catalog.delete_table_versions(history, (1, 2))
    assert not path.exists()


def test_a_deleted_version_cannot_be_described(catalog: Catalog, history: list[str]) -> None:
    catalog.delete_table_versions(history, (1, 2))
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.describe_table_version(history, version=1)


@pytest.mark.parametrize(
    ("ranges", "left"),
    [
        pytest.param([(0, -1)], [], marks=applies(outlives_versions=True)),
        ([(0, 3)], [5, 4, 3]),
        ([(2, 4)], [5, 4, 1]),
        ([(4, -1)], [3, 2, 1]),
        ([(1, 2), (3, 4)], [5, 4, 2]),
        ([(1, 3), (2, 4)], [5, 4]),
        ([(3, 3)], [5, 4, 3, 2, 1]),
        ([(0, 0)], [5, 4, 3, 2, 1]),
        ([(6, 9)], [5, 4, 3, 2, 1]),
        ([(4, 2**62)], [3, 2, 1]),
        ([], [5, 4, 3, 2, 1]),
    ],
    ids=str,
)
def test_a_range_has_its_start_and_not_its_end(
    catalog: Catalog, long: list[str], ranges: list[tuple[int, int]], left: list[int]
) -> None:
    """004, Version Cleanup: `start_version` is inclusive, `end_version` exclusive, -1 for all."""
    assert catalog.delete_table_versions(long, *ranges) == 5 - len(left)
    assert catalog.versions(long) == left


@pytest.mark.parametrize("ends", [(3, 2), (-1, 2), (-1, -1), (1, -2), (2, 0)], ids=str)
def test_an_inverted_or_negative_range_is_refused(
    catalog: Catalog, history: list[str], ends: tuple[int, int]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.delete_table_versions(history, (1, 2), ends)
    assert catalog.versions(history) == [2, 1]


def test_deleting_versions_deletes_no_data(catalog: Catalog, history: list[str]) -> None:
    """004, Version Cleanup: only metadata records, not the actual table data files."""
    data = catalog.directory(history) / "data"
    before = sorted(data.iterdir())
    catalog.delete_table_versions(history, (0, -1))
    assert sorted(data.iterdir()) == before


@applies(outlives_versions=True)
def test_a_table_without_its_versions_is_still_there(catalog: Catalog, history: list[str]) -> None:
    catalog.delete_table_versions(history, (0, -1))
    catalog.table_exists(history)


@pytest.mark.parametrize("said", [None, "true", "True"])
def test_missing_versions_are_skipped(
    catalog: Catalog, history: list[str], said: str | None
) -> None:
    context = {} if said is None else {"context": {"ignore_missing": said}}
    assert catalog.delete_table_versions(history, (2, 9), **context) == 1


@ours
@each_naming
@pytest.mark.parametrize("said", ["false", "False"])
def test_missing_versions_are_refused_on_request(
    catalog: Catalog, history: list[str], said: str
) -> None:
    """003, BatchDeleteTableVersions: error code 11, depending on `ignore_missing`."""
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.delete_table_versions(history, (2, 4), context={"ignore_missing": said})
    assert catalog.versions(history) == [2, 1]


@ours
@pytest.mark.parametrize("ends", [(1, 3), (0, 3), (0, -1), (2, -1)], ids=str)
def test_no_version_is_missing_from_all_of_them(
    catalog: Catalog, history: list[str], ends: tuple[int, int]
) -> None:
    deleted = catalog.delete_table_versions(history, ends, context={"ignore_missing": "false"})
    assert deleted == 3 - max(ends[0], 1)


def test_a_deleted_version_may_be_created_again(catalog: Catalog, history: list[str]) -> None:
    catalog.delete_table_versions(history, (2, 3))
    created = catalog.create_table_version(history, **stage(catalog.directory(history), 2))
    assert catalog.describe_table_version(history) == created


@applies(rename=True, on_disk=True)
def test_a_version_that_was_created_again_is_the_new_one(
    catalog: Catalog, history: list[str]
) -> None:
    """Also once the client that created the first one has told what became of it."""
    other = catalog.again()
    catalog.create_table_version(history, **stage(catalog.directory(history), 3, like=2))
    other.delete_table_versions(history, (3, 4))
    created = other.create_table_version(history, **stage(catalog.directory(history), 3))
    catalog.rename_table(history, "new")
    assert other.describe_table_version(["new"]).e_tag == created.e_tag
