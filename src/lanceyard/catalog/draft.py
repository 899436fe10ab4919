"""Drafts: edits on top of a snapshot, on which changes are checked one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from lanceyard.catalog.ranges import NONE, Ranges
from lanceyard.catalog.snapshot import (
    NAMESPACE,
    TABLE,
    TABLE_VERSION,
    Edit,
    Row,
    Snapshot,
    parent_id,
)
from lanceyard.catalog.versions import version_id
from lanceyard.identifier import DELIMITER


class Draft:
    """A snapshot with edits laid over it, so that several changes can be checked in a row."""

    def __init__(self, base: Snapshot) -> None:
        """Start without edits."""
        self._base = base
        self._removed: dict[str, Row] = {}
        self._added: dict[str, Row] = {}
        self._origin: dict[str, str] = {}
        self._gone: dict[str, Ranges] = {}
        self._moved: dict[str, str] = {}
        self._numbers: dict[str, Ranges] = {}
        self._written: dict[str, Ranges] = {}

    def copy(self) -> Draft:
        """A draft with the same edits, to try more on."""
        other = Draft(self._base)
        other.take(self)
        return other

    def take(self, other: Draft) -> None:
        """Have the edits of another draft of the same snapshot instead of our own."""
        self._removed, self._added = dict(other._removed), dict(other._added)
        self._origin, self._gone = dict(other._origin), dict(other._gone)
        self._moved, self._numbers = dict(other._moved), dict(other._numbers)
        self._written = dict(other._written)

    @property
    def edit(self) -> Edit:
        """All edits so far as one."""
        return Edit(self._removed, self._added, self._origin, self._gone, self._moved)

    def versions(self, table: str) -> Ranges:
        """The numbers of a table's versions."""
        return self._numbers[table] if table in self._numbers else self._base.versions(table)

    def add_version(self, table: str, number: int, metadata: str) -> Row:
        """Add a version to a table."""
        row = Row(version_id(table, number), TABLE_VERSION, None, metadata)
        self._added[row.object_id] = row
        self._numbers[table] = self.versions(table).with_range(number, number + 1)
        self._written[table] = self._written.get(table, NONE).with_range(number, number + 1)
        return row

    def rewrite_version(self, table: str, number: int, metadata: str) -> None:
        """Say something else of a version that was there before these edits.

        It stays as it was if its table was moved by them; nothing depends on when it is done.
        """
        object_id = version_id(table, number)
        if table in self._moved.values() or object_id in self._added:
            return
        row = Row(object_id, TABLE_VERSION, None, metadata)
        self._removed[object_id] = self._added[object_id] = row
        self._origin[object_id] = object_id

    def remove_versions(self, table: str, numbers: Ranges) -> int:
        """Remove versions of a table, and return how many there were."""
        present = self.versions(table).common(numbers)
        written = self._written.get(table, NONE).common(present)
        for number in written.ascending():
            del self._added[version_id(table, number)]
        self._undo_rewrites(table, present)
        before = present.minus(written)
        if before:
            source = self._source(table)
            self._gone[source] = self._gone.get(source, NONE).union(before)
        self._written[table] = self._written.get(table, NONE).minus(written)
        self._numbers[table] = self.versions(table).minus(present)
        return present.size

    def move_versions(self, table: str, target: str) -> None:
        """Let all versions of a table follow it to another object id."""
        numbers, written = self.versions(table), self._written.pop(table, NONE)
        for number in written.ascending():
            row = self._added.pop(version_id(table, number))
            object_id = version_id(target, number)
            self._added[object_id] = row._replace(object_id=object_id)
        self._undo_rewrites(table, numbers)
        if numbers.minus(written):
            self._moved[self._source(table)] = target
        self._numbers[table], self._numbers[target] = NONE, numbers
        self._written[target] = written

    def _source(self, table: str) -> str:
        """The object id under which the base has the versions of a table."""
        return next((old for old, new in self._moved.items() if new == table), table)

    def _undo_rewrites(self, table: str, numbers: Ranges) -> None:
        for object_id in [i for i, origin in self._origin.items() if i == origin]:
            version = self._added[object_id].version
            if version is not None and version[0] == table and numbers.has(version[1]):
                del self._added[object_id], self._origin[object_id], self._removed[object_id]

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
        for row in list(self._added.values()):
            if row.object_id.startswith(prefix) and row.object_type != TABLE_VERSION:
                yield row
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

    def views(self, table: str) -> list[Row]:
        """The rows of the views that are made of a table, sorted."""
        before = (self.raw(name) for name in self._base.views(table))
        found = {row.object_id: row for row in (*before, *self._added.values()) if row is not None}
        return sorted(row for row in found.values() if table in row.base_objects)

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
