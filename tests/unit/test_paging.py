"""Paging: each name once, in order, whatever the size of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceyard.catalog.base import Page
from lanceyard.errors import InvalidInputError
from lanceyard.namespace import paging
from lanceyard.namespace.requests import read_page

names = st.lists(st.text(min_size=1), unique=True).map(sorted)


class Names:
    """A sorted list as a catalog fetches it."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.fetched = 0

    def __call__(self, page: Page) -> list[str]:
        found = [name for name in self.names if page.after is None or name > page.after]
        self.fetched += len(found[: page.limit])
        return found[: page.limit]


def walk(listing: Names, limit: int, *, keep: bool = False) -> list[list[str]]:
    fetch = paging.keep(listing, lambda name: "x" not in name) if keep else listing
    pages, token = paging.cut(fetch, Page(None, limit))
    found = [pages]
    while token is not None:
        page, token = paging.cut(fetch, Page(token, limit))
        found.append(page)
    return found


@given(names, st.integers(1, 7))
def test_pages_together_are_the_list(names: list[str], limit: int) -> None:
    pages = walk(Names(names), limit)
    assert [name for page in pages for name in page] == names
    assert all(len(page) == limit for page in pages[:-1])


@given(names, st.integers(1, 7))
def test_pages_without_unwanted_names_are_full_too(names: list[str], limit: int) -> None:
    pages = walk(Names(names), limit, keep=True)
    assert [name for page in pages for name in page] == [n for n in names if "x" not in n]
    assert all(len(page) == limit for page in pages[:-1])


def test_the_last_page_has_no_token_even_when_full() -> None:
    assert paging.cut(Names(["a", "b"]), Page(None, 2)) == (["a", "b"], None)


def test_the_token_is_the_last_name_of_the_page() -> None:
    assert paging.cut(Names(["a", "b", "c"]), Page(None, 2)) == (["a", "b"], "b")


def test_without_a_limit_everything_is_one_page() -> None:
    assert paging.cut(Names(["a", "b"]), Page("a")) == (["b"], None)


def test_one_name_more_than_asked_for_is_fetched() -> None:
    listing = Names([f"{i:04d}" for i in range(1_000)])
    paging.cut(listing, Page(None, 10))
    assert listing.fetched == 11


def test_unwanted_names_are_passed_over_in_parts() -> None:
    listing = Names([f"x{i:04d}" for i in range(2_500)] + ["y", "z"])
    fetch = paging.keep(listing, lambda name: not name.startswith("x"))
    assert paging.cut(fetch, Page(None, 1)) == (["y"], "y")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        read_page(None, limit)


@pytest.mark.parametrize("token", ["anything", "$", " ", "ü"])
def test_any_text_is_a_token(token: str) -> None:
    assert read_page(token, 1) == Page(token, 1)


@pytest.mark.parametrize("token", [None, ""])
def test_no_token_starts_at_the_beginning(token: str | None) -> None:
    assert read_page(token, None) == Page()
