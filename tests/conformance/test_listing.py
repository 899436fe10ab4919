"""ListTables, ListNamespaces and ListAllTables: order, levels and paging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, refused

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ["B", "a", "a-b", "a.b", "a10", "a2", "ab"]
"""In the order of their code points, which is also the order of their UTF-8 bytes."""

NARROW = ["_", "a", "a0", "a00", "a10", "a2", "ab"]
"""The same for backends that cannot hold any name."""

Page = tuple[list[str], str | None]


@dataclass(frozen=True)
class Listing:
    """One of the listings of the root, and how its items come and go."""

    page: Callable[..., Page]
    add: Callable[[Catalog, str], object]
    remove: Callable[[Catalog, str], object]

    def filled(self, catalog: Catalog, names: list[str]) -> None:
        for name in names:
            self.add(catalog, name)

    def pages(self, catalog: Catalog, limit: int) -> list[list[str]]:
        """Every page from the first to the one without a token."""
        names, token = self.page(catalog, limit=limit)
        pages = [names]
        while token is not None:
            names, token = self.page(catalog, limit=limit, page_token=token)
            pages.append(names)
        return pages


@pytest.fixture
def names(catalog: Catalog) -> list[str]:
    """Names in the order in which they are listed."""
    return NAMES if catalog.backend.any_name else NARROW


def tables_page(catalog: Catalog, **fields: Any) -> Page:
    response = catalog.list_tables([], **fields)
    return response.tables, response.page_token


def all_tables_page(catalog: Catalog, **fields: Any) -> Page:
    response = catalog.list_all_tables(**fields)
    return response.tables, response.page_token


def namespaces_page(catalog: Catalog, **fields: Any) -> Page:
    response = catalog.list_namespaces([], **fields)
    return response.namespaces, response.page_token


def add_table(catalog: Catalog, name: str) -> object:
    declare = catalog.backend.declare
    return catalog.declare_table([name]) if declare else catalog.create_table([name], 1)


def drop_table(catalog: Catalog, name: str) -> object:
    return catalog.drop_table([name])


def create_namespace(catalog: Catalog, name: str) -> object:
    return catalog.create_namespace([name])


def drop_namespace(catalog: Catalog, name: str) -> object:
    return catalog.drop_namespace([name])


TABLES = Listing(tables_page, add_table, drop_table)
ALL_TABLES = Listing(all_tables_page, add_table, drop_table)
NAMESPACES = Listing(namespaces_page, create_namespace, drop_namespace)

each_listing = pytest.mark.parametrize(
    "listing",
    [
        pytest.param(TABLES, id="ListTables"),
        pytest.param(ALL_TABLES, id="ListAllTables"),
        pytest.param(NAMESPACES, id="ListNamespaces", marks=applies(nested=True)),
    ],
)


@each_listing
def test_names_are_listed_in_code_point_order(
    catalog: Catalog, listing: Listing, names: list[str]
) -> None:
    listing.filled(catalog, names[::-1])
    assert listing.page(catalog) == (names, None)


@applies(any_name=True)
@each_listing
def test_names_beyond_ascii_are_listed_in_code_point_order(
    catalog: Catalog, listing: Listing
) -> None:
    names = ["z", "é", "日本", "\uffee", "😀"]
    listing.filled(catalog, names[::-1])
    assert listing.page(catalog) == (names, None)


@each_listing
@pytest.mark.parametrize("limit", [1, 3, 7])
def test_paging_yields_every_name_once_and_in_order(
    catalog: Catalog, listing: Listing, names: list[str], limit: int
) -> None:
    listing.filled(catalog, names)
    assert [name for page in listing.pages(catalog, limit) for name in page] == names


@each_listing
def test_every_page_but_the_last_is_full(
    catalog: Catalog, listing: Listing, names: list[str]
) -> None:
    listing.filled(catalog, names)
    assert [len(page) for page in listing.pages(catalog, 3)] == [3, 3, 1]


@each_listing
@pytest.mark.parametrize("limit", [3, None])
def test_the_last_page_has_no_token(
    catalog: Catalog, listing: Listing, names: list[str], limit: int | None
) -> None:
    listing.filled(catalog, names[:3])
    assert listing.page(catalog, limit=limit) == (names[:3], None)


@each_listing
def test_an_empty_listing_has_no_token(catalog: Catalog, listing: Listing) -> None:
    assert listing.page(catalog, limit=5) == ([], None)


@each_listing
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(catalog: Catalog, listing: Listing, limit: int) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        listing.page(catalog, limit=limit)


@each_listing
@pytest.mark.parametrize(
    ("token", "rest"),
    [("a", 2), ("a1", 4), ("A'; --", 0), ("\U0010ffff", 7)],
)
def test_a_token_means_start_after_this_name(
    catalog: Catalog, listing: Listing, names: list[str], token: str, rest: int
) -> None:
    listing.filled(catalog, names)
    assert listing.page(catalog, page_token=token) == (names[rest:], None)


@each_listing
def test_paging_goes_on_after_its_last_name_was_dropped(catalog: Catalog, listing: Listing) -> None:
    listing.filled(catalog, ["a", "b", "c", "d"])
    _, token = listing.page(catalog, limit=2)
    listing.remove(catalog, "b")
    assert listing.page(catalog, limit=2, page_token=token) == (["c", "d"], None)


@each_listing
def test_names_created_while_paging_do_not_repeat_or_hide_others(
    catalog: Catalog, listing: Listing
) -> None:
    listing.filled(catalog, ["b", "d", "f"])
    first, token = listing.page(catalog, limit=2)
    listing.filled(catalog, ["a", "c"])
    rest, _ = listing.page(catalog, limit=9, page_token=token)
    assert first + rest == ["b", "d", "f"]


@each_listing
def test_a_name_created_ahead_of_the_page_is_seen(catalog: Catalog, listing: Listing) -> None:
    listing.filled(catalog, ["a", "b", "d"])
    _, token = listing.page(catalog, limit=2)
    listing.add(catalog, "c")
    assert listing.page(catalog, limit=9, page_token=token) == (["c", "d"], None)


@applies(on_disk=True)
@each_listing
def test_paging_is_steady_while_another_client_creates_and_drops(
    catalog: Catalog, listing: Listing, names: list[str]
) -> None:
    listing.filled(catalog, names)
    other = catalog.again()
    seen, token = listing.page(catalog, limit=2)
    while token is not None:
        listing.remove(other, seen[-1])
        listing.add(other, f"00{len(seen)}")
        page, token = listing.page(catalog, limit=2, page_token=token)
        seen += page
    assert seen == names


@each_listing
def test_a_dropped_name_is_not_listed(catalog: Catalog, listing: Listing) -> None:
    listing.filled(catalog, ["a", "b"])
    listing.remove(catalog, "a")
    assert listing.page(catalog) == (["b"], None)


@applies(nested=True)
def test_tables_and_namespaces_are_listed_apart(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table(["t"], 1)
    assert (catalog.namespaces([]), catalog.tables([])) == (ns, ["t"])


@applies(nested=True, deep=True)
@pytest.mark.parametrize("parent", ["ns", "é", "日本", "o'brien", "a%", "a_", "😀"])
def test_a_listing_holds_its_own_level_only(catalog: Catalog, parent: str) -> None:
    catalog.create_namespace([parent])
    catalog.create_namespace([parent, "child"])
    catalog.create_namespace([parent, "child", "grandchild"])
    catalog.declare_table([parent, "t"])
    catalog.declare_table([parent, "child", "t2"])
    assert catalog.namespaces([parent]) + catalog.tables([parent]) == ["child", "t"]


@applies(nested=True)
@pytest.mark.parametrize(
    ("asked", "other"),
    [
        ("a", "ab"),
        ("a_", "ab"),
        pytest.param("a%", "ab", marks=applies(any_name=True)),
        pytest.param(
            "x') OR starts_with(object_id, 'secret", "secret", marks=applies(any_name=True)
        ),
    ],
)
def test_a_namespace_does_not_list_what_is_in_another(
    catalog: Catalog, asked: str, other: str
) -> None:
    catalog.create_namespace([asked])
    catalog.create_namespace([other])
    catalog.declare_table([other, "t"])
    assert catalog.tables([asked]) == []


@applies(nested=True, deep=True)
def test_all_tables_are_listed_with_their_whole_identifier(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_namespace([*ns, "child"])
    for identifier in (["z"], [*ns, "t"], [*ns, "child", "t"], ["a"]):
        catalog.declare_table(identifier)
    assert catalog.list_all_tables().tables == ["a", "ns$child$t", "ns$t", "z"]


@applies(nested=True)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_paging_through_all_tables_crosses_namespaces(catalog: Catalog, limit: int) -> None:
    for parent in ("m", "n"):
        catalog.create_namespace([parent])
        catalog.declare_table([parent, "t"])
    first = "m!" if catalog.backend.any_name else "l"
    catalog.declare_table([first])
    pages = ALL_TABLES.pages(catalog, limit)
    assert [name for page in pages for name in page] == [first, "m$t", "n$t"]


@applies(declare=True)
@pytest.mark.parametrize(
    ("fields", "listed"),
    [({}, 1), ({"include_declared": True}, 1), ({"include_declared": False}, 0)],
    ids=["default", "included", "left_out"],
)
def test_declared_tables_are_left_out_only_on_request(
    catalog: Catalog, declared: list[str], fields: dict[str, bool], listed: int
) -> None:
    *home, name = declared
    assert catalog.list_tables(home, **fields).tables == [name] * listed


@applies(declare=True)
def test_declared_tables_are_left_out_of_all_tables_on_request(catalog: Catalog) -> None:
    catalog.declare_table(["d"])
    catalog.create_table(["t"], 1)
    assert catalog.list_all_tables(include_declared=False).tables == ["t"]


@applies(declare=True)
def test_pages_without_declared_tables_are_full(catalog: Catalog) -> None:
    for name in ("a", "b"):
        catalog.declare_table([name])
    for name in ("c", "d", "e"):
        catalog.create_table([name], 1)
    assert catalog.list_tables([], limit=2, include_declared=False).tables == ["c", "d"]


@applies(declare=True)
def test_a_declared_table_that_was_filled_is_no_longer_left_out(
    catalog: Catalog, home: list[str], declared: list[str]
) -> None:
    catalog.create_table(declared, 1)
    assert catalog.list_tables(home, include_declared=False).tables == ["d"]
