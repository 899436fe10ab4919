"""Changes that migration and repair make, to rows hidden or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lanceyard import errors
from lanceyard.catalog.changes.change import Change, Outcome
from lanceyard.catalog.changes.rules import add_namespaces, remove_table
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import TABLE, Row, encode_properties, parent_id


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
            if add_namespaces(draft, parent_id(object_id)):
                draft.add(Row(object_id, TABLE, location, encode_properties(properties)))
        return Outcome()


@dataclass(frozen=True)
class RestoreParents(Change):
    """Add the namespaces above an object that are missing."""

    def apply(self, draft: Draft) -> Outcome:
        if not add_namespaces(draft, parent_id(self.object_id)):
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
        remove_table(draft, row)
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
