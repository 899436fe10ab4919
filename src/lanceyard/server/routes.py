"""Routes: from the path of a request to the operation it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from lanceyard import errors
from lanceyard.rest.protocol import Operation
from lanceyard.server.dialects import Dialect

LATER = re.compile(rb"[A-Z][A-Za-z]+V[0-9]+")
"""An operation in a version of its own, as document 002 names it."""


class Match(NamedTuple):
    """An operation, and the fields of its request that the path names."""

    operation: Operation
    fields: Mapping[str, str]
    dialect: type[Dialect] | None
    """What is spoken on this route, whoever the client is; one is made for each request."""


class _Target(NamedTuple):
    operation: Operation
    names: tuple[str, ...]
    dialect: type[Dialect] | None


@dataclass
class _Node:
    operations: dict[str, _Target] = field(default_factory=dict)
    literals: dict[str, _Node] = field(default_factory=dict)
    variable: _Node | None = None


class Routes:
    """The routes of a server, by method and path.

    The path is taken as it was sent, because a name may contain what is a delimiter once decoded.
    Slashes that are doubled, or at the end, count for nothing.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        """Serve operations."""
        self._root = _Node()
        for operation in operations:
            self.add(operation, operation.method, operation.segments)

    def add(
        self,
        operation: Operation,
        method: str,
        segments: Iterable[str],
        dialect: type[Dialect] | None = None,
    ) -> None:
        """Serve an operation at a path."""
        node, names = self._root, []
        for segment in segments:
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.literals.setdefault(segment, _Node())
        node.operations[method] = _Target(operation, tuple(names), dialect)

    def find(self, method: str, raw_path: bytes) -> Match | frozenset[str]:
        """The operation at a path; where there is none, the methods that have one there.

        Raises `InvalidInputError` for a path that is not UTF-8, and `UnsupportedOperationError` for
        an operation in a version that is not known.
        """
        segments = [part for part in raw_path.split(b"/") if part]
        found = self._walk(self._root, segments, 0, ())
        if found is None:
            if len(segments) == 1 and LATER.fullmatch(segments[0]):
                raise errors.UnsupportedOperationError(f"no operation {segments[0].decode()}")
            return frozenset()
        node, values = found
        if method not in node.operations:
            return frozenset(node.operations)
        operation, names, dialect = node.operations[method]
        fields = dict(zip(names, map(_decoded, values), strict=True))
        return Match(operation, fields, dialect)

    def _walk(
        self, node: _Node, segments: list[bytes], at: int, values: tuple[bytes, ...]
    ) -> tuple[_Node, tuple[bytes, ...]] | None:
        if at == len(segments):
            return (node, values) if node.operations else None
        literal = node.literals.get(segments[at].decode("ascii", "replace"))
        if literal is not None:
            found = self._walk(literal, segments, at + 1, values)
            if found is not None:
                return found
        if node.variable is None:
            return None
        return self._walk(node.variable, segments, at + 1, (*values, segments[at]))


def _decoded(raw: bytes) -> str:
    """A part of a path. pylance's client writes a space as a plus, and a plus as ``%2B``."""
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError as cause:
        raise errors.InvalidInputError("the path is not UTF-8") from cause
