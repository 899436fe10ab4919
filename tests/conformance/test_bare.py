"""The old layout (001): a table is a directory with `_versions` in it."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import TABLE_READS, Act, Catalog, applies, each, read, refused, write_lance

pytestmark = applies(mode="bare")


def test_a_directory_with_versions_is_a_table(catalog: Catalog) -> None:
    write_lance(catalog.root / "t", 4)
    assert catalog.rows(["t"]) == [4]


def test_directories_with_versions_are_listed(catalog: Catalog) -> None:
    for name in ("b", "a"):
        write_lance(catalog.root / name, 1)
    assert catalog.tables([]) == ["a", "b"]


@pytest.mark.parametrize("inside", ["", "data", "data/_versions"])
@each(TABLE_READS)
def test_a_directory_without_versions_is_no_table(catalog: Catalog, inside: str, act: Act) -> None:
    """001: it should be treated as non-existent."""
    (catalog.root / "t" / inside).mkdir(parents=True)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ["t"])


@pytest.mark.parametrize("inside", ["", "data", "data/_versions"])
def test_a_directory_without_versions_is_not_listed(catalog: Catalog, inside: str) -> None:
    """001: empty directories or directories without `_versions` should not be listed."""
    (catalog.root / "t" / inside).mkdir(parents=True)
    assert catalog.tables([]) == []


@pytest.mark.parametrize("name", ["__manifest", "t.lance", "a$b"])
def test_the_directories_of_other_layouts_are_not_listed(catalog: Catalog, name: str) -> None:
    write_lance(catalog.root / name, 1)
    assert catalog.tables([]) == []


def test_a_plain_file_is_not_listed(catalog: Catalog) -> None:
    catalog.root.mkdir()
    (catalog.root / "t").write_text("no directory")
    assert catalog.tables([]) == []


def test_a_created_table_lies_in_a_directory_of_its_name(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1)
    assert catalog.directory(["t"]) == catalog.root / "t"


def test_a_table_created_by_a_writer_is_seen_at_once(catalog: Catalog) -> None:
    assert catalog.tables([]) == []
    write_lance(catalog.root / "t", 1)
    assert catalog.tables([]) == ["t"]


def test_declaring_is_unsupported(catalog: Catalog) -> None:
    """A directory without `_versions` is no table, so a name cannot be reserved."""
    with refused(ErrorCode.UNSUPPORTED):
        catalog.declare_table(["t"])


def test_creating_over_a_directory_with_versions_is_refused(catalog: Catalog) -> None:
    write_lance(catalog.root / "t", 4)
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.create_table(["t"], 1)


def test_deregistering_leaves_a_marker(catalog: Catalog) -> None:
    catalog.left_over(["t"], 1)
    assert (catalog.root / "t" / ".lance-deregistered").is_file()


def test_deregistering_keeps_the_data(catalog: Catalog) -> None:
    assert read(catalog.left_over(["t"], 1)) == [1]


def test_dropping_deletes_the_directory(catalog: Catalog) -> None:
    write_lance(catalog.root / "t", 4)
    catalog.drop_table(["t"])
    assert not (catalog.root / "t").exists()


def test_dropping_spares_a_directory_without_versions(catalog: Catalog) -> None:
    kept = catalog.root / "t" / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.drop_table(["t"])
    assert kept.exists()


def test_versions_that_do_not_open_have_no_details(catalog: Catalog) -> None:
    versions = catalog.root / "t" / "_versions"
    versions.mkdir(parents=True)
    (versions / "1.manifest").write_text("no manifest")
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.describe_table(["t"], load_detailed_metadata=True)
