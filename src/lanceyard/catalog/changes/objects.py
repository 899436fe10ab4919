"""Changes to namespaces and tables, as the operations make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lanceyard import errors
from lanceyard.catalog.base import altered, is_protected
from lanceyard.catalog.changes.change import Change, Outcome
from lanceyard.catalog.changes.rules import (
    refuse_bases,
    refuse_overlap,
    remove_table,
    remove_tree,
    require_bases,
    require_parent,
    require_table,
)
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, Row, encode_properties
from lanceyard.catalog.views import VIEW, rebased
from lanceyard.identifier import Identifier


@dataclass(frozen=True)
class CreateNamespace(Change):
    """Add a namespace; with `replace` the one of that name goes first, with all below it."""

    properties: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False

    def depends_on(self) -> tuple[str, ...] | None:
        return None if self.replace else (self.object_id,)

    def apply(self, draft: Draft) -> Outcome:
        require_parent(draft, self.identifier)
        existing = draft.row(self.object_id)
        gone: tuple[Row, ...] = ()
        if existing is not None:
            if existing.object_type != NAMESPACE or not self.replace:
                raise errors.namespace_exists(
                    self.identifier, as_table=existing.object_type != NAMESPACE
                )
            gone = remove_tree(draft, existing)
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
        return Outcome(row, remove_tree(draft, row))


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
        if self.replace or self.chosen or VIEW in self.properties:
            return None
        return (self.object_id,)

    def apply(self, draft: Draft) -> Outcome:
        require_parent(draft, self.identifier)
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
        require_bases(draft, row)
        if existing is not None:
            remove_table(draft, existing)
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
        row = require_table(draft, self.identifier)
        if self.location is not None and row.location != self.location:
            raise errors.ConcurrentModificationError(f"table {self.identifier} was moved meanwhile")
        if not self.keep and is_protected(row.properties):
            raise errors.protected(self.identifier)
        refuse_bases(draft, [row])
        remove_table(draft, row)
        return Outcome(row, (row,))


@dataclass(frozen=True)
class MoveTable(Change):
    """Give a table's row another object id and, if one is given, another location."""

    target: str = ""
    location: str | None = None
    new_location: str | None = None

    def apply(self, draft: Draft) -> Outcome:
        row = require_table(draft, self.identifier)
        target = Identifier.from_object_id(self.target)
        require_parent(draft, target)
        taken = draft.row(self.target)
        if taken is not None:
            raise errors.table_exists(target, f"a {taken.object_type} of that name exists")
        if self.location is not None and row.location != self.location:
            raise errors.ConcurrentModificationError(f"table {self.identifier} was moved meanwhile")
        moved = row._replace(object_id=self.target, location=self.new_location or row.location)
        draft.replace(row, moved)
        draft.move_versions(self.object_id, self.target)
        for view in draft.views(self.object_id):
            properties = rebased(view.properties, self.object_id, self.target)
            draft.replace(view, view._replace(metadata=encode_properties(properties)))
        return Outcome(moved, (row,))


@dataclass(frozen=True)
class AlterProperties(Change):
    """Put and unset properties of a namespace or table."""

    object_type: str = TABLE
    put: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    def apply(self, draft: Draft) -> Outcome:
        if self.object_type == TABLE:
            row = require_table(draft, self.identifier)
        else:
            found = draft.row(self.object_id)
            if found is None or found.object_type != NAMESPACE:
                raise errors.namespace_not_found(self.identifier)
            row = found
        properties = altered(row.properties, self.put, self.unset)
        new = row._replace(metadata=encode_properties(properties))
        draft.replace(row, new)
        return Outcome(new)
