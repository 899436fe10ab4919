"""Compaction: small fragments become large ones, and deleted rows go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.namespace import datasets
from lanceyard.spark import planning
from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.maintenance.reports import TablePlan
from lanceyard.spark.maintenance.work import Landing, Work, is_conflict
from lanceyard.spark.reference import Place, TableReference, open_table

if TYPE_CHECKING:
    from lance.optimize import CompactionTask, RewriteResult


def check_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options that Lance knows: it would not complain about others. Raises `InvalidInputError`."""
    from lance.optimize import CompactionOptions

    known = CompactionOptions.__annotations__
    for name in options:
        if name not in known:
            raise errors.InvalidInputError(
                f"compaction has no option {name!r}: there are {', '.join(sorted(known))}"
            )
    return options


class Compact(Task):
    """The rewriting of some neighbouring fragments."""

    def __init__(self, place: Place, part: CompactionTask) -> None:
        """Be one part of a plan of Lance's."""
        self._place = place._replace(managed=None)
        self._part = part

    def run(self, shared: Any) -> RewriteResult:
        return self._part.execute(open_table(self._place, int(self._part.read_version)))


class Compaction(Work):
    """The compaction of a table.

    Groups of fragments are independent of each other: where others changed some of them, the rest
    lands all the same.
    """

    def __init__(self, reference: TableReference, place: Place, options: Mapping[str, Any]) -> None:
        """Compact as `lance.optimize.CompactionOptions` say."""
        super().__init__(reference, place)
        self._options: Any = dict(options)
        self._planned = 0
        self._parts: Sequence[CompactionTask] = ()
        self._removed = self._added = 0
        self._version: int | None = None

    def plan(self) -> list[Task]:
        from lance.optimize import Compaction as Lance

        dataset = open_table(self.place)
        self._planned = int(dataset.version)
        self._parts = Lance.plan(dataset, self._options).tasks
        return [Compact(self.place, part) for part in self._parts]

    def describe(self) -> TablePlan:
        found = [planning.extent(each) for part in self._parts for each in part.fragments]
        size = sum(each.size for each in found)
        what = f"rewrite {len(found):,} fragments in {len(self._parts):,} groups"
        return TablePlan(str(self.reference), len(self._parts), len(found), size, what)

    def land(self, results: Sequence[RewriteResult]) -> Landing:
        if self._commit(results):
            return Landing.DONE
        for result in results:
            if len(results) == 1 or not self._commit([result]):
                datasets.discard(self.place.location, result.new_fragments)
        return Landing.CONFLICT

    def tell(self) -> str:
        return f"{self._removed:,} fragments became {self._added:,}"

    @property
    def version(self) -> int | None:
        return self._version

    def _commit(self, results: Sequence[RewriteResult]) -> bool:
        """Land some groups; False if others changed one of them, or its indexes."""
        from lance.optimize import Compaction as Lance

        # At the version that was planned, so that Lance sees what was committed since.
        dataset = open_table(self.place).checkout_version(self._planned)
        try:
            done = Lance.commit(dataset, list(results), self._options)
        except (OSError, RuntimeError) as cause:
            if is_conflict(cause):
                return False
            raise
        self._removed += done.fragments_removed
        self._added += done.fragments_added
        self._version = int(open_table(self.place).version)
        return True
