"""Rows of a catalog, indexed in memory: the state reads answer from and writes are checked on."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lanceyard.catalog.base import Page
from lanceyard.identifier import DELIMITER

NAMESPACE = "namespace"
TABLE = "table"


class Row(NamedTuple):
    """One row of a manifest, as document 000 describes it."""

    object_id: str
    object_type: str
    location: str | None = None
    metadata: str | None = None

    @property
    def properties(self) -> dict[str, str]:
        """The metadata column as properties; what others wrote into it that is no text, as JSON."""
        if not self.metadata:
            return {}
        try:
            found = json.loads(self.metadata)
        except ValueError:
            return {}
        if not isinstance(found, dict):
            return {}
        return {k: v if isinstance(v, str) else json.dumps(v) for k, v in found.items()}


def encode_properties(properties: Mapping[str, str]) -> str | None:
    """Properties as the metadata column holds them: JSON, or null when there are none."""
    return json.dumps(dict(properties), ensure_ascii=False, sort_keys=True) if properties else None


def parent_id(object_id: str) -> str:
    """The object id of the namespace that contains an object; ``""`` is the root."""
    return object_id.rpartition(DELIMITER)[0]


class Edit(NamedTuple):
    """What a change does to rows."""

    removed: Mapping[str, Row]
    """Rows that go, by object id."""
    added: Mapping[str, Row]
    """Rows that come, by object id; a row in both, by `origin`, is rewritten in place."""
    origin: Mapping[str, str]
    """For an added row that carries on an old one (a rename, new properties): its old object id."""


class Children:
    """The names below one namespace, each kind sorted."""

    __slots__ = ("namespaces", "tables")

    def __init__(self) -> None:
        """Start with none."""
        self.namespaces: list[str] = []
        self.tables: list[str] = []

    def of(self, object_type: str) -> list[str] | None:
        """The list of a kind of object; None for kinds that are not listed."""
        return {NAMESPACE: self.namespaces, TABLE: self.tables}.get(object_type)


class Snapshot:
    """One state of a catalog: rows by object id, sorted children by parent.

    Rows whose parent is missing (the reference writes such) are kept, and hidden from every read.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        """Index rows; of several with one object id the first counts."""
        self._rows: dict[str, Row] = {}
        self._children: dict[str, Children] = {"": Children()}
        self._tables: list[str] | None = None
        self._locations: Counter[str] | None = None
        self._deep: set[str] = set()
        for row in rows:
            if row.object_id not in self._rows:
                self._rows[row.object_id] = row
                names = self._names_beside(row)
                if names is not None:
                    names.append(row.object_id.rpartition(DELIMITER)[2])
        for children in self._children.values():
            children.namespaces.sort()
            children.tables.sort()

    def __len__(self) -> int:
        return len(self._rows)

    def raw(self, object_id: str) -> Row | None:
        """A row, hidden or not."""
        return self._rows.get(object_id)

    def row(self, object_id: str) -> Row | None:
        """A row whose whole chain of parents exists."""
        row = self._rows.get(object_id)
        return row if row is not None and self.has_namespace(parent_id(object_id)) else None

    def has_namespace(self, object_id: str) -> bool:
        """Whether a namespace and all above it exist; the root, ``""``, always does."""
        while object_id:
            row = self._rows.get(object_id)
            if row is None or row.object_type != NAMESPACE:
                return False
            object_id = parent_id(object_id)
        return True

    def children(self, parent: str, object_type: str, page: Page) -> list[str]:
        """A page of the names of one kind directly below a namespace."""
        children = self._children.get(parent)
        return _cut(children.of(object_type) or [], page) if children else []

    def all_tables(self, page: Page) -> list[str]:
        """A page of the object ids of all tables that are not hidden."""
        if self._tables is None:
            self._tables = sorted(
                r.object_id for r in self._rows.values() if r.object_type == TABLE
            )
        found: list[str] = []
        for object_id in _tail(self._tables, page.after):
            if self.has_namespace(parent_id(object_id)):
                found.append(object_id)
                if len(found) == page.limit:
                    break
        return found

    def descendants(self, object_id: str) -> Iterator[Row]:
        """Every row below a namespace, however deep."""
        children = self._children.get(object_id)
        if children is None:
            return
        prefix = object_id + DELIMITER if object_id else ""
        for name in (*children.tables, *children.namespaces):
            yield self._rows[prefix + name]
        for name in tuple(children.namespaces):
            yield from self.descendants(prefix + name)

    def rows(self) -> Iterator[Row]:
        """All rows, the hidden ones too."""
        return iter(self._rows.values())

    def is_occupied(self, path: str) -> bool:
        """Whether the location of a table, hidden or not, equals, contains or is inside a path."""
        if self._locations is None:
            self._locations = Counter(r.location for r in self._rows.values() if r.location)
            self._deep = {location for location in self._locations if "/" in location}
        parts = path.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        if any(self._locations[location] for location in above):
            return True
        return any(location.startswith(f"{path}/") for location in self._deep)

    def apply(self, edit: Edit) -> None:
        """Move on to the state after an edit that was committed."""
        for row in edit.removed.values():
            self._remove(row)
        for row in edit.added.values():
            self._add(row)

    def _add(self, row: Row) -> None:
        self._rows[row.object_id] = row
        names = self._names_beside(row)
        if names is not None:
            insort(names, row.object_id.rpartition(DELIMITER)[2])
        if self._tables is not None and row.object_type == TABLE:
            insort(self._tables, row.object_id)
        if self._locations is not None and row.location:
            self._locations[row.location] += 1
            if "/" in row.location:
                self._deep.add(row.location)

    def _remove(self, row: Row) -> None:
        self._rows.pop(row.object_id, None)
        names = self._names_beside(row)
        if names is not None:
            _discard(names, row.object_id.rpartition(DELIMITER)[2])
        if self._tables is not None and row.object_type == TABLE:
            _discard(self._tables, row.object_id)
        if self._locations is not None and row.location:
            self._locations[row.location] -= 1
            if not self._locations[row.location]:
                del self._locations[row.location]
                self._deep.discard(row.location)

    def _names_beside(self, row: Row) -> list[str] | None:
        parent = parent_id(row.object_id)
        children = self._children.get(parent)
        if children is None:
            children = self._children[parent] = Children()
        return children.of(row.object_type)


class Draft:
    """A snapshot with edits laid over it, so that several changes can be checked in a row."""

    def __init__(self, base: Snapshot) -> None:
        """Start without edits."""
        self._base = base
        self._removed: dict[str, Row] = {}
        self._added: dict[str, Row] = {}
        self._origin: dict[str, str] = {}

    @property
    def edit(self) -> Edit:
        """All edits so far as one."""
        return Edit(self._removed, self._added, self._origin)

    def row(self, object_id: str) -> Row | None:
        """A row whose whole chain of parents exists."""
        row = self.raw(object_id)
        return row if row is not None and self.has_namespace(parent_id(object_id)) else None

    def has_namespace(self, object_id: str) -> bool:
        """Whether a namespace and all above it exist."""
        while object_id:
            row = self.raw(object_id)
            if row is None or row.object_type != NAMESPACE:
                return False
            object_id = parent_id(object_id)
        return True

    def descendants(self, object_id: str) -> Iterator[Row]:
        """Every row below a namespace, however deep."""
        prefix = object_id + DELIMITER
        yield from [r for r in self._added.values() if r.object_id.startswith(prefix)]
        for row in self._base.descendants(object_id):
            if row.object_id not in self._removed and row.object_id not in self._added:
                yield row

    def tables(self) -> Iterator[Row]:
        """Every table, the hidden ones too."""
        for row in self._added.values():
            if row.object_type == TABLE:
                yield row
        for row in self._base.rows():
            gone = row.object_id in self._removed or row.object_id in self._added
            if row.object_type == TABLE and not gone:
                yield row

    def add(self, row: Row) -> None:
        """Add a row. A hidden one of the same object id, which nobody could see, gives way."""
        hidden = self._base.raw(row.object_id)
        if hidden is not None:
            self._removed.setdefault(row.object_id, hidden)
        self._added[row.object_id] = row

    def remove(self, row: Row) -> None:
        """Remove a row that `row` or `descendants` gave."""
        self._origin.pop(row.object_id, None)
        if self._added.pop(row.object_id, None) is None:
            self._removed[row.object_id] = row

    def replace(self, old: Row, new: Row) -> None:
        """Let a row be carried on by another, its unknown columns included."""
        origin = self._origin.get(old.object_id, old.object_id)
        fresh = old.object_id in self._added and old.object_id not in self._origin
        self.remove(old)
        self.add(new)
        if not fresh:
            self._origin[new.object_id] = origin

    def raw(self, object_id: str) -> Row | None:
        """A row, hidden or not."""
        if object_id in self._added:
            return self._added[object_id]
        return None if object_id in self._removed else self._base.raw(object_id)


def _tail(names: list[str], after: str | None) -> Iterator[str]:
    start = 0 if after is None else bisect_right(names, after)
    return (names[i] for i in range(start, len(names)))


def _cut(names: list[str], page: Page) -> list[str]:
    start = 0 if page.after is None else bisect_right(names, page.after)
    return names[start : None if page.limit is None else start + page.limit]


def _discard(names: list[str], name: str) -> None:
    at = bisect_left(names, name)
    if at < len(names) and names[at] == name:
        del names[at]
