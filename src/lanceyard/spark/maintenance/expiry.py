"""Expiry: old versions go, with the files that only they refer to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from lanceyard import errors
from lanceyard.catalog.ranges import Ranges
from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.maintenance.reports import TablePlan, readable
from lanceyard.spark.maintenance.scope import tables_below
from lanceyard.spark.maintenance.work import Landing, Work
from lanceyard.spark.reference import Place, TableReference, open_table

if TYPE_CHECKING:
    from lanceyard.yard import Yard

AGE = timedelta(days=14)
"""How old a version must be to go, unless said; Lance's own default."""


class Expired(NamedTuple):
    """What went."""

    versions: tuple[int, ...]
    size: int
    failed: int = 0
    """Files that could not be deleted; sweep tries it again."""


class Expire(Task):
    """The removal of some versions, by Lance; those with tags or branches stay."""

    def __init__(self, place: Place, versions: Sequence[int]) -> None:
        """Remove versions."""
        self._place = place._replace(managed=None)
        self._versions = list(versions)

    def run(self, shared: Any) -> Expired:
        dataset = open_table(self._place)
        done = dataset.cleanup_old_versions(
            versions=self._versions, error_if_tagged_old_versions=False
        )
        # What somebody tagged meanwhile is still there.
        left = {int(version["version"]) for version in dataset.versions()}
        gone = tuple(number for number in self._versions if number not in left)
        failed = int(done.failed_deletes)
        if failed and not gone:
            raise PermissionError(f"{failed:,} files could not be deleted: permission denied?")
        return Expired(gone, int(done.bytes_removed), failed)


@dataclass(frozen=True)
class Kept:
    """What a catalog itself still wants to show."""

    since: datetime | None = None
    """All that anybody could see since then,"""
    tagged: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """and the versions of tagged states, by the locations of their tables."""

    @classmethod
    def by(cls, yard: Yard | None, *, keep_history: bool) -> Self:
        """What a catalog keeps: its tagged states and, unless told otherwise, its recent ones.

        Raises
        ------
        UnsupportedOperationError
            The catalog does not tell from here.
        """
        if yard is None:
            return cls()
        states = yard.states()
        recent = [state.at for state in states if not state.tags]
        tagged: dict[str, set[int]] = defaultdict(set)
        for tag in (tag for state in states for tag in state.tags):
            for location, version in _versions_at(yard.as_of(tag)):
                tagged[location].add(version)
        frozen = {location: frozenset(found) for location, found in tagged.items()}
        return cls(min(recent, default=None) if keep_history else None, frozen)


class Expiry(Work):
    """The expiry of the old versions of a table."""

    def __init__(
        self,
        reference: TableReference,
        place: Place,
        *,
        older_than: timedelta,
        keep: int,
        kept: Kept | None,
    ) -> None:
        """Let versions go that were replaced long ago; the newest `keep` stay in any case."""
        super().__init__(reference, place)
        if place.managed is not None and kept is None:
            raise errors.UnsupportedOperationError(
                f"the catalog of table {reference} keeps versions, and does not tell from here "
                "which of them it still needs: run this where the catalog lies"
            )
        self._kept = (kept if place.managed is not None else None) or Kept()
        self._older_than = older_than
        self._keep = keep
        self._doomed: list[int] = []
        self._planned = TablePlan(str(reference))
        self._expired = Expired((), 0)

    def plan(self) -> Sequence[Task]:
        dataset = open_table(self.place)
        self._doomed = self._chosen(dataset.versions(), set(_tagged(dataset)))
        if not self._doomed:
            return []
        told = dataset.explain_cleanup_old_versions(
            versions=self._doomed, error_if_tagged_old_versions=False
        )
        self._planned = TablePlan(
            str(self.reference),
            1,
            0,
            int(told.stats.bytes_removed),
            f"remove {len(self._doomed):,} versions",
        )
        return [Expire(self.place, self._doomed)]

    def describe(self) -> TablePlan:
        return self._planned

    def land(self, results: Sequence[Expired]) -> Landing:
        (self._expired,) = results
        if self.place.managed is not None and self._expired.versions:
            # Whoever dies before this leaves rows without files, which repair removes.
            ranges = [
                {"start_version": first, "end_version": last}
                for first, last in Ranges.of(self._expired.versions)
            ]
            managed = self.place.managed.for_pylance()
            managed["namespace_client"].batch_delete_table_versions(
                {"id": managed["table_id"], "ranges": ranges}
            )
        return Landing.DONE

    def tell(self) -> str:
        told = f"{len(self._expired.versions):,} versions went, {readable(self._expired.size)}"
        failed = self._expired.failed
        return f"{told}; {failed:,} files could not be deleted" if failed else told

    def _chosen(self, versions: Sequence[Mapping[str, Any]], tagged: set[int]) -> list[int]:
        """The versions that were replaced long ago, and that nobody named."""
        limit = datetime.now(UTC) - self._older_than
        if self._kept.since is not None:
            limit = min(limit, self._kept.since)
        spared = tagged | self._kept.tagged.get(self.place.location, frozenset())
        known = sorted((int(v["version"]), _moment(v)) for v in versions)
        replaced = {number: after for (number, _), (_, after) in pairwise(known)}
        newest = {number for number, _ in known[-self._keep :]}
        return [
            number
            for number, _ in known
            if number not in newest and number not in spared and replaced[number] < limit
        ]


def _moment(version: Mapping[str, Any]) -> datetime:
    return cast("datetime", version["timestamp"]).astimezone(UTC)


def _tagged(dataset: Any) -> list[int]:
    from lanceyard.namespace import datasets

    return [int(tag["version"]) for tag in datasets.list_tags(dataset).values()]


def _versions_at(past: Yard) -> list[tuple[str, int]]:
    """Where the tables of a state lie, and the versions they are at."""
    found = []
    for table in tables_below(past):
        described = past.namespace.describe_table(
            {"id": list(table), "load_detailed_metadata": True, "check_declared": True}  # type: ignore[arg-type]
        )
        if described.version is not None:
            found.append((str(described.location), int(described.version)))
    return found
