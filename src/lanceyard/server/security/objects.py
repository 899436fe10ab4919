"""Objects: which namespaces and tables a request is about, wherever it names them.

Each function takes the fields of a request. One that does not name them as the protocol has it
raises `InvalidInputError`: then nobody knows what it is about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lanceyard import errors
from lanceyard.catalog.views import VIEW
from lanceyard.identifier import DELIMITER, Identifier

Said = Mapping[str, Any]
Objects = Callable[[Said], Iterable[Identifier]]

ROOT = Identifier()
KEEPING = ("create", "existok")
"""The modes of creating that leave alone what exists."""
DECLARE, DEREGISTER = "declare_table", "deregister_table"
CHANGES = ("create_table_version", "delete_table_versions")
STEPS = (DECLARE, DEREGISTER, *CHANGES)
"""What an operation of a batch can be."""


def root(_: Said) -> Iterable[Identifier]:
    """The root, whatever the request names."""
    return (ROOT,)


def named(said: Said) -> Iterable[Identifier]:
    """The object that a request names by its id."""
    return (_read(said.get("id")),)


def parent(said: Said) -> Iterable[Identifier]:
    """The namespace that it is in, or is to be in."""
    return (_read(said.get("id")).parent,)


def overwritten(said: Said) -> Iterable[Identifier]:
    """The object itself, if one of that name would give way to it."""
    mode = said.get("mode")
    if mode is None or (isinstance(mode, str) and mode.replace("_", "").lower() in KEEPING):
        return ()
    return named(said)


def root_if(field: str) -> Objects:
    """The root, if the request says something that reaches beyond the objects it names."""

    def reached(said: Said) -> Iterable[Identifier]:
        return () if said.get(field) in (None, {}) else (ROOT,)

    return reached


def destination(said: Said) -> Iterable[Identifier]:
    """The namespace that a table is to be in after it was renamed."""
    if said.get("new_namespace_id") is None:
        return parent(said)
    return (_read(said["new_namespace_id"]),)


def queried(said: Said) -> Iterable[Identifier]:
    """The table of a plan, which may be named in the query instead, or in both places."""
    query = said.get("query")
    inner = query.get("id") if isinstance(query, Mapping) else None
    if inner is None:
        return named(said)
    return [_read(names) for names in (said.get("id"), inner) if names is not None]


def bases(said: Said) -> Iterable[Identifier]:
    """The tables that a view is made of."""
    try:
        tables = json.loads(said["source_query"])["tables"]
        found = [_read(_split(base)) for base in tables.values()]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as cause:
        raise errors.InvalidInputError("source_query names no tables") from cause
    return found or (ROOT,)


def entries(said: Said) -> Iterable[Identifier]:
    """The tables of a batch of versions."""
    return [_read(entry.get("id")) for entry in _mappings(said.get("entries"))]


def declared_in(said: Said) -> Iterable[Identifier]:
    """The namespaces in which a batch declares tables."""
    return [_read(step.get("id")).parent for step in _steps(said, DECLARE)]


def adopting(said: Said) -> Iterable[Identifier]:
    """The root, if a batch declares what is more than a new and empty table."""
    for step in _steps(said, DECLARE):
        (properties,) = _mappings([step.get("properties") or {}])
        if step.get("location") is not None or VIEW in properties:
            yield ROOT


def changed(said: Said) -> Iterable[Identifier]:
    """The tables whose versions a batch creates and deletes."""
    return [_read(step.get("id")) for step in _steps(said, *CHANGES)]


def deregistered(said: Said) -> Iterable[Identifier]:
    """The tables that a batch deregisters."""
    return [_read(step.get("id")) for step in _steps(said, DEREGISTER)]


def _steps(said: Said, *kinds: str) -> Iterator[Said]:
    """What a batch does of some kinds. Each of its operations must be of a known one."""
    for operation in _mappings(said.get("operations")):
        given = {kind: operation[kind] for kind in STEPS if operation.get(kind) is not None}
        if not given:
            raise errors.InvalidInputError("an operation of a batch names nothing to do")
        yield from _mappings([step for kind, step in given.items() if kind in kinds], least=0)


def _mappings(said: Any, least: int = 1) -> list[Said]:
    if not isinstance(said, list) or len(said) < least:
        raise errors.InvalidInputError("a batch is a list of something")
    if not all(isinstance(each, Mapping) for each in said):
        raise errors.InvalidInputError("a batch is a list of objects")
    return said


def _split(base: Any) -> Any:
    return base.split(DELIMITER) if isinstance(base, str) else base


def _read(names: Any) -> Identifier:
    if names is None:
        return ROOT
    if not isinstance(names, list):
        raise errors.InvalidInputError("an identifier is a list of names")
    return Identifier.parse(names)
