"""Changes: what writers do to the rows of a catalog, and the rules that each is checked by.

A change is plain data, so that one process can carry it out for another, and it is checked on the
very state it is committed to: what holds here holds in the catalog.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from lanceyard import errors
from lanceyard.catalog.base import altered, is_protected
from lanceyard.catalog.snapshot import (
    NAMESPACE,
    TABLE,
    Draft,
    Row,
    encode_properties,
    parent_id,
)
from lanceyard.identifier import Identifier


class Outcome(NamedTuple):
    """What a change did, as its caller needs to know it."""

    row: Row | None = None
    """The row that is there now, or that was removed."""
    gone: tuple[Row, ...] = ()
    """Tables that no longer are in the catalog, whose files their caller may delete."""


@dataclass(frozen=True)
class Change(ABC):
    """One writer's wish, and the rule for it."""

    object_id: str

    @abstractmethod
    def apply(self, draft: Draft) -> Outcome:
        """Check the change on a draft and carry it out there.

        Raises the error of document 003, and then leaves the draft as it was.
        """

    def depends_on(self) -> tuple[str, ...] | None:
        """The object ids that `apply` asks for, besides those above them; None for all rows."""
        return None

    @property
    def identifier(self) -> Identifier:
        """The object the change is about."""
        return Identifier.from_object_id(self.object_id)

    def to_json(self) -> str:
        """The change as text, for `from_json` in another process."""
        return json.dumps({"change": type(self).__name__, **asdict(self)})


@dataclass(frozen=True)
class CreateNamespace(Change):
    """Add a namespace; with `replace` the one of that name goes first, with all below it."""

    properties: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False

    def depends_on(self) -> tuple[str, ...] | None:
        return None if self.replace else (self.object_id,)

    def apply(self, draft: Draft) -> Outcome:
        _require_parent(draft, self.identifier)
        existing = draft.row(self.object_id)
        gone: tuple[Row, ...] = ()
        if existing is not None:
            if existing.object_type != NAMESPACE or not self.replace:
                raise errors.namespace_exists(
                    self.identifier, as_table=existing.object_type != NAMESPACE
                )
            gone = _remove_tree(draft, existing)
        row = Row(self.object_id, NAMESPACE, None, encode_properties(self.properties))
        draft.add(row)
        return Outcome(row, gone)


@dataclass(frozen=True)
class DropNamespace(Change):
    """Remove a namespace; with `cascade` all below it goes too."""

    cascade: bool = False

    def apply(self, draft: Draft) -> Outcome:
        row = draft.row(self.object_id)
        if row is None or row.object_type != NAMESPACE:
            raise errors.namespace_not_found(self.identifier)
        if not self.cascade and next(draft.descendants(self.object_id), None) is not None:
            raise errors.namespace_not_empty(self.identifier)
        return Outcome(row, _remove_tree(draft, row))


@dataclass(frozen=True)
class PutTable(Change):
    """Add a table at a location; with `replace` the row of that name gives way."""

    location: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False
    chosen: bool = False
    """The location was chosen by the caller, and may be somebody else's."""

    def depends_on(self) -> tuple[str, ...] | None:
        return None if self.replace or self.chosen else (self.object_id,)

    def apply(self, draft: Draft) -> Outcome:
        _require_parent(draft, self.identifier)
        existing = draft.row(self.object_id)
        if existing is not None:
            if existing.object_type == NAMESPACE:
                raise errors.table_exists(self.identifier, "a namespace of that name exists")
            if not self.replace:
                raise errors.table_exists(self.identifier)
            if is_protected(existing.properties):
                raise errors.protected(self.identifier)
        if self.chosen:
            self._refuse_taken_location(draft)
        row = Row(self.object_id, TABLE, self.location, encode_properties(self.properties))
        if existing is not None:
            draft.remove(existing)
        draft.add(row)
        return Outcome(row, () if existing is None else (existing,))

    def _refuse_taken_location(self, draft: Draft) -> None:
        for other in draft.tables():
            if other.location and other.object_id != self.object_id:
                refuse_overlap(
                    self.location, other.location, Identifier(other.object_id.split("$"))
                )


@dataclass(frozen=True)
class RemoveTable(Change):
    """Remove a table's row, if it still is at the location the caller saw."""

    location: str | None = None
    """Where the table was seen; None for anywhere."""
    keep: bool = False
    """The files stay (a deregistration, which protection does not refuse)."""

    def apply(self, draft: Draft) -> Outcome:
        row = _require_table(draft, self.identifier)
        if self.location is not None and row.location != self.location:
            raise errors.ConcurrentModificationError(f"table {self.identifier} was moved meanwhile")
        if not self.keep and is_protected(row.properties):
            raise errors.protected(self.identifier)
        draft.remove(row)
        return Outcome(row, (row,))


@dataclass(frozen=True)
class MoveTable(Change):
    """Give a table's row another object id and, if one is given, another location."""

    target: str = ""
    location: str | None = None
    new_location: str | None = None

    def apply(self, draft: Draft) -> Outcome:
        row = _require_table(draft, self.identifier)
        target = Identifier.from_object_id(self.target)
        _require_parent(draft, target)
        taken = draft.row(self.target)
        if taken is not None:
            raise errors.table_exists(target, f"a {taken.object_type} of that name exists")
        if self.location is not None and row.location != self.location:
            raise errors.ConcurrentModificationError(f"table {self.identifier} was moved meanwhile")
        moved = row._replace(object_id=self.target, location=self.new_location or row.location)
        draft.replace(row, moved)
        return Outcome(moved, (row,))


@dataclass(frozen=True)
class AlterProperties(Change):
    """Put and unset properties of a namespace or table."""

    object_type: str = TABLE
    put: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    def apply(self, draft: Draft) -> Outcome:
        if self.object_type == TABLE:
            row = _require_table(draft, self.identifier)
        else:
            found = draft.row(self.object_id)
            if found is None or found.object_type != NAMESPACE:
                raise errors.namespace_not_found(self.identifier)
            row = found
        properties = altered(row.properties, self.put, self.unset)
        new = row._replace(metadata=encode_properties(properties))
        draft.replace(row, new)
        return Outcome(new)


@dataclass(frozen=True)
class AdoptTables(Change):
    """Add tables that lie at locations inside the root already, as far as nothing is in the way.

    Namespaces above them that are missing are added too. It succeeds also if it adds nothing.
    """

    tables: tuple[tuple[str, str, Mapping[str, str]], ...] = ()
    """Object ids, locations and properties."""

    def apply(self, draft: Draft) -> Outcome:
        taken = {row.location.split("/")[0] for row in draft.tables() if row.location}
        for object_id, location, properties in self.tables:
            if location.split("/")[0] in taken or draft.raw(object_id) is not None:
                continue
            if _add_namespaces(draft, parent_id(object_id)):
                draft.add(Row(object_id, TABLE, location, encode_properties(properties)))
        return Outcome()


@dataclass(frozen=True)
class RestoreParents(Change):
    """Add the namespaces above an object that are missing."""

    def apply(self, draft: Draft) -> Outcome:
        if not _add_namespaces(draft, parent_id(self.object_id)):
            raise errors.namespace_exists(self.identifier.parent, as_table=True)
        return Outcome(draft.row(self.object_id))


@dataclass(frozen=True)
class DiscardRow(Change):
    """Remove a row, hidden or not, if it still says that a table is at a location."""

    location: str | None = None

    def apply(self, draft: Draft) -> Outcome:
        row = draft.raw(self.object_id)
        if row is None or row.location != self.location:
            raise errors.ConcurrentModificationError(f"{self.identifier} was changed meanwhile")
        draft.remove(row)
        return Outcome(row, (row,))


@dataclass(frozen=True)
class RewriteRow(Change):
    """Write a row again, at another location if one is given; copies of it go."""

    location: str | None = None
    new_location: str | None = None

    def apply(self, draft: Draft) -> Outcome:
        row = draft.raw(self.object_id)
        if row is None or row.location != self.location:
            raise errors.ConcurrentModificationError(f"{self.identifier} was changed meanwhile")
        new = row._replace(location=self.new_location or row.location)
        draft.replace(row, new)
        return Outcome(new, (row,))


CHANGES = {
    change.__name__: change
    for change in (
        CreateNamespace,
        DropNamespace,
        PutTable,
        RemoveTable,
        MoveTable,
        AlterProperties,
        AdoptTables,
        RestoreParents,
        DiscardRow,
        RewriteRow,
    )
}


def from_json(text: str) -> Change:
    """Read a change that another process wrote with `to_json`."""
    data: dict[str, Any] = json.loads(text)
    if "unset" in data:
        data["unset"] = tuple(data["unset"])
    if "tables" in data:
        data["tables"] = tuple(map(tuple, data["tables"]))
    return CHANGES[data.pop("change")](**data)


def refuse_overlap(location: str, other: str, owner: Identifier) -> None:
    """Refuse a location that equals, contains or lies inside that of another table."""
    if f"{location}/".startswith(f"{other}/") or f"{other}/".startswith(f"{location}/"):
        raise errors.InvalidInputError(
            f"location {location!r} overlaps {other!r}, where table {owner} lives"
        )


def _require_parent(draft: Draft, identifier: Identifier) -> None:
    if not draft.has_namespace(parent_id(identifier.object_id)):
        raise errors.namespace_not_found(identifier.parent)


def _add_namespaces(draft: Draft, object_id: str) -> bool:
    """Add a namespace and those above it where they are missing; False if a table is in the way."""
    if not object_id:
        return True
    row = draft.raw(object_id)
    if row is not None and row.object_type != NAMESPACE:
        return False
    if not _add_namespaces(draft, parent_id(object_id)):
        return False
    if row is None:
        draft.add(Row(object_id, NAMESPACE))
    return True


def _require_table(draft: Draft, identifier: Identifier) -> Row:
    _require_parent(draft, identifier)
    row = draft.row(identifier.object_id)
    if row is None or row.object_type != TABLE:
        raise errors.table_not_found(identifier)
    return row


def _remove_tree(draft: Draft, top: Row) -> tuple[Row, ...]:
    rows = [top, *draft.descendants(top.object_id)]
    for row in rows:
        if is_protected(row.properties):
            raise errors.protected(Identifier.from_object_id(row.object_id))
    for row in rows:
        draft.remove(row)
    return tuple(row for row in rows if row.object_type == TABLE)
