"""Lists: the names of a namespace that a principal may see, page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lanceyard import errors
from lanceyard.identifier import DELIMITER, Identifier
from lanceyard.namespace.requests import read_page, read_request
from lanceyard.rest.protocol import Operation
from lanceyard.server.security.grants import Rights
from lanceyard.server.security.objects import ROOT
from lanceyard.server.security.roles import Role

FETCH = 1_000
NAMES = {"ListNamespaces": "namespaces", "ListTables": "tables", "ListAllTables": "tables"}
"""The operations that list objects, and where their answers have the names."""

Call = Callable[[dict[str, Any]], Any]


def is_restricted(rights: Rights, operation: Operation, said: Mapping[str, Any]) -> bool:
    """Whether an operation is a list of which a principal may see a part only."""
    return operation.name in NAMES and not rights.has(Role.READER, _listed(operation, said))


def list_visible(rights: Rights, operation: Operation, said: Mapping[str, Any], call: Call) -> Any:
    """A page of the names that a principal may see, in the order that the namespace has them.

    A page is as full as it would be if there were no other names, and its token is the last name
    on it. `call` carries the operation out; it is asked for more until the page is full and one
    name beyond it is known.
    """
    asked = read_request(operation.request, said)
    page = read_page(asked.page_token, asked.limit)  # type: ignore[attr-defined]
    shows = _filter(rights, operation, _listed(operation, said))
    field, token = NAMES[operation.name], page.after
    found: list[str] = []
    while True:
        answer = call({**said, "limit": FETCH, "page_token": token})
        found += filter(shows, getattr(answer, field))
        if page.limit is not None and len(found) > page.limit:
            found, last = found[: page.limit], found[page.limit - 1]
            return operation.response(**{field: found, "page_token": last})
        if not answer.page_token:
            return operation.response(**{field: found})
        if answer.page_token == token:
            raise errors.InternalError("the catalog gives the same page for ever")
        token = answer.page_token


def _listed(operation: Operation, said: Mapping[str, Any]) -> Identifier:
    return ROOT if operation.name == "ListAllTables" else Identifier.parse(said.get("id"))


def _filter(rights: Rights, operation: Operation, listed: Identifier) -> Callable[[str], bool]:
    """Namespaces are seen on the way to a role; tables only where there is one."""
    if operation.name == "ListNamespaces":
        return lambda name: rights.reaches((*listed, name))
    if operation.name == "ListTables":
        return lambda name: rights.has(Role.READER, (*listed, name))
    return lambda name: rights.has(Role.READER, tuple(name.split(DELIMITER)))
