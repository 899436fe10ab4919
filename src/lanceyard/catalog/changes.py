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
from lanceyard.catalog.ranges import Ranges
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
    deleted: int = 0
    """How many versions were removed."""
    parts: tuple[Outcome, ...] = ()
    """What each of several changes did."""


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
    versions: tuple[tuple[int, str], ...] = ()
    """The versions that lie there, where versions are rows: number and metadata."""

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
            _remove_table(draft, existing)
        draft.add(row)
        for number, metadata in self.versions:
            draft.add_version(self.object_id, number, metadata)
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
        _remove_table(draft, row)
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
        draft.move_versions(self.object_id, self.target)
        return Outcome(moved, (row,))


@dataclass(frozen=True)
class AddVersion(Change):
    """Add the next version to a table, put-if-absent.

    One that leaves a gap was built upon a manifest that was never committed here.
    """

    location: str = ""
    number: int = 0
    metadata: str = ""

    def apply(self, draft: Draft) -> Outcome:
        row = _require_table(draft, self.identifier)
        if row.location != self.location:
            raise errors.ConcurrentModificationError(f"table {self.identifier} was moved meanwhile")
        last = draft.versions(self.object_id).last
        if last is not None and self.number <= last:
            raise errors.version_exists(self.identifier, self.number, last)
        if last is not None and self.number > last + 1:
            raise errors.ConcurrentModificationError(
                f"table {self.identifier} is at version {last}, so version {self.number} builds "
                "upon something that was written past the catalog: open it anew and try again"
            )
        return Outcome(draft.add_version(self.object_id, self.number, self.metadata))


@dataclass(frozen=True)
class AdoptVersions(Change):
    """Add the versions that lie in a table's directory, as far as they are newer than its own."""

    location: str = ""
    versions: tuple[tuple[int, str], ...] = ()
    """Number and metadata."""

    def apply(self, draft: Draft) -> Outcome:
        row = _require_table(draft, self.identifier)
        last = draft.versions(self.object_id).last or 0
        if row.location == self.location:
            for number, metadata in self.versions:
                if number > last:
                    draft.add_version(self.object_id, number, metadata)
        return Outcome(row)


@dataclass(frozen=True)
class PublishVersions(Change):
    """Say that manifests have their final names now, of versions that are still there."""

    location: str = ""
    versions: tuple[tuple[int, str], ...] = ()
    """Number and metadata."""

    def apply(self, draft: Draft) -> Outcome:
        row = draft.raw(self.object_id)
        if row is not None and row.location == self.location:
            for number, metadata in self.versions:
                if draft.versions(self.object_id).has(number):
                    draft.rewrite_version(self.object_id, number, metadata)
        return Outcome(row)


@dataclass(frozen=True)
class RemoveVersions(Change):
    """Remove versions of a table, as far as they are there."""

    ranges: tuple[tuple[int, int], ...] = ()
    must_exist: bool = False

    def apply(self, draft: Draft) -> Outcome:
        row = _require_table(draft, self.identifier)
        wanted = Ranges(self.ranges)
        missing = wanted.minus(draft.versions(self.object_id))
        if self.must_exist and missing:
            raise errors.version_not_found(self.identifier, missing[0][0])
        return Outcome(row, deleted=draft.remove_versions(self.object_id, wanted))


@dataclass(frozen=True)
class RequireLatest(Change):
    """Change nothing, and demand that a table's latest version still is a certain one."""

    number: int = 0

    def apply(self, draft: Draft) -> Outcome:
        row = _require_table(draft, self.identifier)
        last = draft.versions(self.object_id).last or 0
        if last != self.number:
            raise errors.ConcurrentModificationError(
                f"table {self.identifier} is at version {last} now, not {self.number}"
            )
        return Outcome(row)


@dataclass(frozen=True)
class Together(Change):
    """Several changes, all of them or none."""

    changes: tuple[Change, ...] = ()

    def apply(self, draft: Draft) -> Outcome:
        trial = draft.copy()
        parts: list[Outcome] = []
        conflicts: dict[str, errors.ConcurrentModificationError] = {}
        for change in self.changes:
            try:
                parts.append(change.apply(trial))
            except errors.ConcurrentModificationError as conflict:
                conflicts.setdefault(change.object_id, conflict)
        if conflicts:
            raise _as_one(conflicts)
        draft.take(trial)
        return Outcome(gone=tuple(row for part in parts for row in part.gone), parts=tuple(parts))

    def to_json(self) -> str:
        return json.dumps(
            {
                "change": type(self).__name__,
                "object_id": self.object_id,
                "changes": [change.to_json() for change in self.changes],
            }
        )


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
        _remove_table(draft, row)
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
        AddVersion,
        AdoptVersions,
        PublishVersions,
        RemoveVersions,
        RequireLatest,
        Together,
    )
}
LISTS = ("unset", "tables", "versions", "ranges")


def from_json(text: str) -> Change:
    """Read a change that another process wrote with `to_json`."""
    data: dict[str, Any] = json.loads(text)
    for name in LISTS:
        if name in data:
            data[name] = tuple(tuple(i) if isinstance(i, list) else i for i in data[name])
    if "changes" in data:
        data["changes"] = tuple(map(from_json, data["changes"]))
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
        _remove_table(draft, row)
    return tuple(row for row in rows if row.object_type == TABLE)


def _remove_table(draft: Draft, row: Row) -> None:
    """Remove the row of a table, or of a namespace, and those of its versions."""
    draft.remove_versions(row.object_id, draft.versions(row.object_id))
    draft.remove(row)


def _as_one(
    conflicts: Mapping[str, errors.ConcurrentModificationError],
) -> errors.ConcurrentModificationError:
    """One error for those of several tables; it names all of them."""
    first = next(iter(conflicts.values()))
    if len(conflicts) == 1:
        return first
    names = ", ".join(str(Identifier.from_object_id(table)) for table in conflicts)
    return type(first)(f"tables {names} were changed by others; the first says: {first}")
