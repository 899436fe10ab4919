"""Listing: what is in a catalog, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from lanceyard.identifier import Identifier
from lanceyard.yard.names import write_name

if TYPE_CHECKING:
    from lanceyard.namespace import Namespace

PAGE = 1_000


class Found(NamedTuple):
    """A namespace or a table of a catalog."""

    identifier: Identifier
    is_table: bool

    @property
    def name(self) -> str:
        """Its name as people write it, with those of the namespaces above it."""
        return write_name(self.identifier)

    @property
    def kind(self) -> str:
        """``table`` or ``namespace``."""
        return "table" if self.is_table else "namespace"


def namespaces_in(namespace: Namespace, parent: Identifier) -> Iterator[str]:
    """The names of the namespaces directly below one."""
    return _names(namespace, "list_namespaces", "namespaces", parent)


def tables_in(namespace: Namespace, parent: Identifier) -> Iterator[str]:
    """The names of the tables directly below a namespace."""
    return _names(namespace, "list_tables", "tables", parent)


def children(namespace: Namespace, parent: Identifier) -> list[Found]:
    """What is directly below a namespace, by name."""
    found = [Found(parent.child(name), False) for name in namespaces_in(namespace, parent)]
    found += [Found(parent.child(name), True) for name in tables_in(namespace, parent)]
    return sorted(found)


def walk(namespace: Namespace, top: Identifier) -> Iterator[Found]:
    """All that is below a namespace; what is in a namespace comes right after it."""
    for found in children(namespace, top):
        yield found
        if not found.is_table:
            yield from walk(namespace, found.identifier)


def draw(namespace: Namespace, top: Identifier) -> str:
    """All that is below a namespace, as a tree."""
    return "\n".join([write_name(top) or ".", *_branches(namespace, top)])


def _branches(namespace: Namespace, top: Identifier) -> Iterator[str]:
    below = children(namespace, top)
    for found in below:
        last = found is below[-1]
        yield f"{'└── ' if last else '├── '}{found.identifier.name}"
        if not found.is_table:
            indent = "    " if last else "│   "
            yield from (indent + line for line in _branches(namespace, found.identifier))


def _names(namespace: Namespace, operation: str, field: str, parent: Identifier) -> Iterator[str]:
    token = None
    while True:
        request = {"id": list(parent), "page_token": token, "limit": PAGE}
        page = getattr(namespace, operation)(request)
        yield from getattr(page, field)
        token = page.page_token
        if token is None:
            return
