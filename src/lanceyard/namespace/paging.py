"""Paging: one page of a sorted list, and the token for the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lanceyard.catalog.base import Page

FETCH = 1_000


def cut(fetch: Callable[[Page], list[str]], page: Page) -> tuple[list[str], str | None]:
    """A page and its token, which is the last name, or None on the last page.

    One name more than asked for is fetched, to know whether there is another page.
    """
    if page.limit is None:
        return fetch(page), None
    names = fetch(Page(page.after, page.limit + 1, last_is_a_hint=True))
    if len(names) <= page.limit:
        return names, None
    return names[: page.limit], names[page.limit - 1]


def among(names: Iterable[str]) -> Callable[[Page], list[str]]:
    """A listing of names that are all known already."""
    known = sorted(names)

    def fetch(page: Page) -> list[str]:
        return [n for n in known if page.after is None or n > page.after][: page.limit]

    return fetch


def keep(
    fetch: Callable[[Page], list[str]], wanted: Callable[[str], bool]
) -> Callable[[Page], list[str]]:
    """A listing without the names that are not wanted, fetched in parts until a page is full."""

    def filtered(page: Page) -> list[str]:
        found: list[str] = []
        after = page.after
        while True:
            names = fetch(Page(after, FETCH))
            found += [name for name in names if wanted(name)]
            if len(names) < FETCH or (page.limit is not None and len(found) >= page.limit):
                return found[: page.limit]
            after = names[-1]

    return filtered
