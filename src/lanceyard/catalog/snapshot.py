"""Rows of a catalog, indexed in memory: the state reads answer from and writes are checked on."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from lanceyard.catalog.base import Page
from lanceyard.catalog.ranges import NONE, Ranges
from lanceyard.catalog.versions import split_version_id, version_id
from lanceyard.catalog.views import VIEW, bases
from lanceyard.identifier import DELIMITER

NAMESPACE = "namespace"
TABLE = "table"
TABLE_VERSION = "table_version"


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

    @property
    def base_objects(self) -> tuple[str, ...]:
        """The object ids of the tables that this one, a view, is made of."""
        return bases(self.properties) if self.metadata and VIEW in self.metadata else ()

    @property
    def version(self) -> tuple[str, int] | None:
        """The table and the number, if this is the row of a table's version."""
        return split_version_id(self.object_id) if self.object_type == TABLE_VERSION else None


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
    gone: Mapping[str, Ranges] = MappingProxyType({})
    """Versions that go, by the object id of their table: too many to be named one by one."""
    moved: Mapping[str, str] = MappingProxyType({})
    """Tables whose other versions go along with their table to a new object id."""

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.removed or self.added or self.gone or self.moved)


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
    Of a table's versions the numbers are kept, and the row of the latest.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        """Index rows; of several with one object id the first counts."""
        self._rows: dict[str, Row] = {}
        self._children: dict[str, Children] = {"": Children()}
        self._tables: list[str] | None = None
        self._locations: Counter[str] | None = None
        self._deep: set[str] = set()
        self._versions: dict[str, Ranges] = {}
        self._latest: dict[str, Row] = {}
        self._views: defaultdict[str, set[str]] = defaultdict(set)
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        tops: defaultdict[str, int] = defaultdict(int)
        for row in rows:
            version = row.version
            if version is not None:
                table, number = version
                numbers[table].append(number)
                if number >= tops[table]:
                    tops[table] = number
                    self._latest[table] = row
            elif row.object_id not in self._rows:
                self._rows[row.object_id] = row
                for base in row.base_objects:
                    self._views[base].add(row.object_id)
                names = self._names_beside(row)
                if names is not None:
                    names.append(row.object_id.rpartition(DELIMITER)[2])
        self._versions = {table: Ranges.of(found) for table, found in numbers.items()}
        for children in self._children.values():
            children.namespaces.sort()
            children.tables.sort()

    def __len__(self) -> int:
        return len(self._rows) + sum(numbers.size for numbers in self._versions.values())

    def versions(self, table: str) -> Ranges:
        """The numbers of a table's versions."""
        return self._versions.get(table, NONE)

    def latest(self, table: str) -> Row | None:
        """The row of a table's latest version; None if it was not read, or there is none."""
        return self._latest.get(table)

    def has_read(self, row: Row) -> None:
        """Keep the row of a version that is the latest of its table."""
        version = row.version
        if version is not None and self.versions(version[0]).last == version[1]:
            self._latest[version[0]] = row

    def holds(self, row: Row) -> bool:
        """Whether there is a row, hidden or not, of the same object id."""
        version = row.version
        if version is not None:
            return self.versions(version[0]).has(version[1])
        return row.object_id in self._rows

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

    def views(self, table: str) -> Collection[str]:
        """The object ids of the views that are made of a table."""
        return self._views.get(table, ())

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
        for table, numbers in edit.gone.items():
            self._forget(table, numbers)
        moving = [
            (target, self._versions.pop(table, NONE), self._latest.pop(table, None))
            for table, target in edit.moved.items()
        ]
        for target, numbers, latest in moving:
            self._versions[target] = numbers
            if latest is not None and numbers.last is not None:
                object_id = version_id(target, numbers.last)
                self._latest[target] = latest._replace(object_id=object_id)
        for row in edit.added.values():
            self._add(row)

    def _forget(self, table: str, numbers: Ranges) -> None:
        kept = self.versions(table).minus(numbers)
        if kept.last != self.versions(table).last:
            self._latest.pop(table, None)
        self._versions[table] = kept
        if not kept:
            del self._versions[table]

    def _add_version(self, row: Row, table: str, number: int) -> None:
        numbers = self.versions(table)
        if number >= (numbers.last or 0):
            self._latest[table] = row
        self._versions[table] = numbers.with_range(number, number + 1)

    def _add(self, row: Row) -> None:
        version = row.version
        if version is not None:
            self._add_version(row, *version)
            return
        self._rows[row.object_id] = row
        for base in row.base_objects:
            self._views[base].add(row.object_id)
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
        version = row.version
        if version is not None:
            self._forget(version[0], Ranges.of([version[1]]))
            return
        self._rows.pop(row.object_id, None)
        for base in row.base_objects:
            self._views[base].discard(row.object_id)
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
