"""Refreshing: indexes that do not cover all fragments get segments for the new ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.namespace.content.fields import canonical_path, find_field
from lanceyard.namespace.content.index_kinds import find_kind
from lanceyard.namespace.content.indexes import indexes_of
from lanceyard.spark import planning
from lanceyard.spark.maintenance.indexing import pylance_name
from lanceyard.spark.maintenance.jobs import Nothing, Task
from lanceyard.spark.maintenance.reports import TablePlan
from lanceyard.spark.maintenance.segments import Definition, Segments
from lanceyard.spark.maintenance.work import Landing, Work, is_conflict
from lanceyard.spark.reference import Place, TableReference, open_table

if TYPE_CHECKING:
    from lance import LanceDataset

_TEXT = (
    "base_tokenizer",
    "language",
    "with_position",
    "max_token_length",
    "lower_case",
    "stem",
    "remove_stop_words",
    "custom_stop_words",
    "ascii_folding",
    "min_ngram_length",
    "max_ngram_length",
    "prefix_only",
)
"""What an index on words says of itself, and its next segment must be told."""
_COMPRESSED = ("PQ", "RQ")
"""Kinds whose model pylance does not give out: Lance itself adds to them, on the driver."""


class Refreshing(Work):
    """All indexes of a table, or some, made to cover the fragments that came since."""

    def __init__(
        self,
        reference: TableReference,
        place: Place,
        names: Collection[str] | None = None,
        tasks: int | None = None,
    ) -> None:
        """Refresh the indexes of these names, or all."""
        super().__init__(reference, place)
        self._names = names
        self._tasks = tasks
        self._segments: dict[str, Segments] = {}
        self._order: list[tuple[str, int]] = []
        self._by_lance: list[str] = []
        self._models: dict[str, Any] = {}
        self._planned = TablePlan(str(reference))
        self._done: set[str] = set()
        self._version: int | None = None

    def plan(self) -> Sequence[Task]:
        dataset = open_table(self.place)
        stale = {name: each for name, each in self._uncovered(dataset).items() if each}
        self._by_lance, self._order = [], []
        tasks: list[Task] = []
        for name, fragments in stale.items():
            definition = self._define(dataset, indexes_of(dataset)[name])
            if definition is None:
                self._by_lance.append(name)
                continue
            segments = self._segments.get(name)
            if segments is None or segments.definition != definition:
                segments = self._segments[name] = Segments(self.place, definition)
            planned = segments.plan(dataset, fragments, self._tasks)
            self._order.append((name, len(planned)))
            tasks += planned
        extents = {each.fragment: each for each in planning.extents(dataset)}
        touched = {number for fragments in stale.values() for number in fragments}
        size = sum(extents[number].size for number in touched)
        what = f"refresh {', '.join(sorted(stale))}"
        self._planned = TablePlan(str(self.reference), len(tasks), len(touched), size, what)
        return tasks or ([Nothing()] if stale else [])

    def describe(self) -> TablePlan:
        return self._planned

    def land(self, results: Sequence[Any]) -> Landing:
        conflicts, start = 0, 0
        for name, count in self._order:
            is_landed = self._segments[name].land(results[start : start + count])
            start += count
            conflicts += not is_landed
            if is_landed:
                self._segments.pop(name)
                self._done.add(name)
        if self._by_lance and not self._extend():
            conflicts += 1
        self._version = int(open_table(self.place).version)
        return Landing.CONFLICT if conflicts else Landing.DONE

    def tell(self) -> str:
        return f"refreshed {', '.join(sorted(self._done)) or 'nothing'}"

    @property
    def shared(self) -> Any:
        return self._models or None

    @property
    def version(self) -> int | None:
        return self._version

    def _uncovered(self, dataset: LanceDataset) -> dict[str, list[int]]:
        """The fragments with rows that each index does not cover."""
        found = indexes_of(dataset)
        missing = sorted(set(self._names or ()) - found.keys())
        if missing:
            raise errors.TableIndexNotFoundError(
                f"table {self.reference} has no index {missing[0]!r}"
            )
        numbers = [each.fragment for each in planning.extents(dataset) if each.rows]
        wanted = found if self._names is None else self._names
        uncovered = {}
        for name in sorted(wanted):
            covered = {n for segment in found[name].segments for n in segment.fragment_ids}
            uncovered[name] = [number for number in numbers if number not in covered]
        return uncovered

    def _define(self, dataset: LanceDataset, index: Any) -> Definition | None:
        """An index by what it says of itself; None if Lance has to add to it."""
        kind = find_kind(index.index_type)
        if kind is None or kind.name.endswith(_COMPRESSED) or kind.name in ("RTREE", "MINHASHLSH"):
            return None
        details: dict[str, Any] = index.details
        options: dict[str, Any] = {}
        if kind.name == "FTS":
            options = {name: details[name] for name in _TEXT if details.get(name) is not None}
        if not kind.is_scalar:
            options["metric"] = details["metric_type"]
            hnsw = details.get("hnsw") or {}
            if hnsw:
                options |= {
                    "m": hnsw["max_connections"],
                    "ef_construction": hnsw["construction_ef"],
                }
            centroids = dataset.get_ivf_model(index.name).centroids
            self._models[index.name] = {
                "ivf_centroids": centroids,
                "num_partitions": len(centroids),
            }
        (path,) = index.field_names
        field = dataset.lance_schema.field(path)
        column = find_field(dataset, path).path if field is not None else canonical_path([path])
        return Definition(index.name, column, pylance_name(kind), options)

    def _extend(self) -> bool:
        """Let Lance add to indexes; False if others changed them meanwhile."""
        try:
            open_table(self.place).optimize.optimize_indices(
                num_indices_to_merge=0, index_names=self._by_lance
            )
        except (OSError, RuntimeError) as cause:
            if is_conflict(cause):
                return False
            raise
        self._done |= set(self._by_lance)
        return True
