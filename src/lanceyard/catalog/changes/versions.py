"""Changes to versions of tables, where those are rows."""

from __future__ import annotations

from dataclasses import dataclass

from lanceyard import errors
from lanceyard.catalog.changes.change import Change, Outcome
from lanceyard.catalog.changes.rules import require_table
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.ranges import Ranges


@dataclass(frozen=True)
class AddVersion(Change):
    """Add the next version to a table, put-if-absent.

    One that leaves a gap was built upon a manifest that was never committed here.
    """

    location: str = ""
    number: int = 0
    metadata: str = ""

    def apply(self, draft: Draft) -> Outcome:
        row = require_table(draft, self.identifier)
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
        row = require_table(draft, self.identifier)
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
        row = require_table(draft, self.identifier)
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
        row = require_table(draft, self.identifier)
        last = draft.versions(self.object_id).last or 0
        if last != self.number:
            raise errors.ConcurrentModificationError(
                f"table {self.identifier} is at version {last} now, not {self.number}"
            )
        return Outcome(row)
