"""Where tables may lie, and how their locations are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import lance
import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

from .kit import Catalog, applies, refused, write_lance

if TYPE_CHECKING:
    from pathlib import Path

    from .backends import Backend

anywhere = applies(register_anywhere=True)


@applies(extensions=True, remote=False)
def test_a_location_is_a_plain_absolute_path(catalog: Catalog, table: list[str]) -> None:
    assert catalog.location(table).startswith("/")


@applies(on_disk=True, folders=False)
def test_a_table_lies_below_the_root(catalog: Catalog, table: list[str]) -> None:
    assert catalog.directory(table).parent == catalog.root


@applies(folders=True)
def test_a_table_lies_in_the_folder_of_its_namespace(catalog: Catalog, table: list[str]) -> None:
    assert catalog.directory(table).parent.parent == catalog.root


def test_two_tables_never_share_a_location(catalog: Catalog, home: list[str]) -> None:
    locations = {catalog.create_table([*home, name], 1).location for name in "abc"}
    assert len(locations) == 3


def test_the_uri_of_a_table_opens_it(catalog: Catalog, table: list[str]) -> None:
    uri = catalog.describe_table(table, with_table_uri=True).table_uri
    assert lance.dataset(uri).count_rows() == 3


@applies(on_disk=True)
@pytest.mark.parametrize("name", ["a b", "é日本😀", "100%", "%41", "a#b", "a?b", "a$b", "it's"])
def test_the_root_may_have_any_name(backend: Backend, root: Path, name: str) -> None:
    odd = Catalog(backend.open(root / name), backend, root / name)
    odd.create_table(["t"], 1, 2)
    assert odd.rows(["t"]) == [1, 2]


Place = Callable[[Catalog, str], object]


def register_at(catalog: Catalog, location: str) -> object:
    return catalog.register_table(["r"], location)


def declare_at(catalog: Catalog, location: str) -> object:
    return catalog.declare_table(["r"], location=location)


each_way = pytest.mark.parametrize("place", [register_at, declare_at])


@anywhere
@each_way
@pytest.mark.parametrize(
    "location",
    [
        "",
        ".",
        "..",
        "../elsewhere",
        "a/../../elsewhere",
        "__manifest",
        "a/../__manifest",
        "__manifest/data",
        "/etc",
        "file:///etc",
        "s3://bucket/elsewhere",
    ],
)
def test_a_location_that_is_not_a_place_inside_the_root_is_refused(
    catalog: Catalog, ns: list[str], place: Place, location: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        place(catalog, location)


@anywhere
@applies(on_disk=True)
@each_way
def test_a_location_beside_the_root_with_a_similar_name_is_refused(
    catalog: Catalog, ns: list[str], place: Place
) -> None:
    beside = write_lance(catalog.root.with_name(catalog.root.name + "2"), 1)
    with refused(ErrorCode.INVALID_INPUT):
        place(catalog, str(beside))


@anywhere
@applies(on_disk=True, remote=False)
@each_way
def test_a_location_that_leaves_the_root_by_a_link_is_refused(
    catalog: Catalog, ns: list[str], place: Place
) -> None:
    outside = write_lance(catalog.root.with_name("outside"), 1)
    (catalog.root / "link").symlink_to(outside)
    with refused(ErrorCode.INVALID_INPUT):
        place(catalog, "link")


@anywhere
@each_way
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "{}/data",
        pytest.param("./{}", marks=applies(on_disk=True)),
        pytest.param("x/../{}/data", marks=applies(on_disk=True)),
    ],
)
def test_a_location_at_or_inside_another_table_is_refused(
    catalog: Catalog, table: list[str], place: Place, form: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        place(catalog, form.format(catalog.inside(catalog.location(table))))


@anywhere
@applies(on_disk=True)
@each_way
def test_a_location_around_another_table_is_refused(
    catalog: Catalog, home: list[str], place: Place
) -> None:
    write_lance(catalog.root / "around" / "inner", 1)
    catalog.register_table([*home, "inner"], "around/inner")
    with refused(ErrorCode.INVALID_INPUT):
        place(catalog, "around")


@anywhere
@applies(declare=True)
def test_two_tables_cannot_be_declared_at_one_location(
    catalog: Catalog, declared: list[str]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.declare_table(["r"], location=catalog.inside(catalog.location(declared)))


@anywhere
@applies(on_disk=True)
def test_a_location_whose_name_begins_like_another_tables_is_free(
    catalog: Catalog, home: list[str]
) -> None:
    write_lance(catalog.root / "place", 1)
    write_lance(catalog.root / "place2", 2)
    catalog.register_table([*home, "a"], "place")
    catalog.register_table([*home, "b"], "place2")
    assert catalog.rows([*home, "b"]) == [2]


@anywhere
def test_a_location_is_free_again_after_deregistering(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    location = catalog.deregister_table(table).location
    catalog.register_table([*home, "other"], catalog.inside(location))
    assert catalog.rows([*home, "other"]) == [1, 2, 3]


@applies(on_disk=True)
def test_opening_a_catalog_writes_nothing(untouched: Catalog) -> None:
    untouched.again()
    assert not untouched.root.exists()


@applies(on_disk=True)
def test_reading_an_empty_catalog_writes_nothing(untouched: Catalog) -> None:
    untouched.list_tables([])
    untouched.list_namespaces([])
    with pytest.raises(LanceNamespaceError):
        untouched.describe_table(["t"])
    assert not untouched.root.exists()
