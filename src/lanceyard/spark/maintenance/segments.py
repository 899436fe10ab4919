"""Segments of an index: each is built by one task on some fragments, and all land at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lanceyard.spark import planning
from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.maintenance.work import files_of, is_conflict
from lanceyard.spark.reference import Place, open_table

if TYPE_CHECKING:
    from lance import LanceDataset


@dataclass(frozen=True)
class Definition:
    """What an index is: all of its segments are built so."""

    name: str
    column: str
    kind: str
    """As pylance calls it."""
    options: Mapping[str, Any] = field(default_factory=dict)


class BuildSegment(Task):
    """A segment that no version knows yet. What all segments share is the model of the vectors."""

    def __init__(
        self, place: Place, version: int, definition: Definition, fragments: Sequence[int]
    ) -> None:
        """Build on some fragments of a version."""
        self._place = place._replace(managed=None)
        self._version = version
        self._definition = definition
        self._fragments = tuple(fragments)

    def run(self, shared: Any) -> Any:
        model = (shared or {}).get(self._definition.name, {})
        options = {**self._definition.options, **model}
        dataset = open_table(self._place, self._version)
        return dataset.create_index_uncommitted(
            column=self._definition.column,
            index_type=self._definition.kind,
            name=self._definition.name,
            replace=True,
            fragment_ids=list(self._fragments),
            **{k: v for k, v in options.items() if k != "target_partition_size" or not model},
        )


class Segments:
    """The segments of one index that were built and have not landed."""

    def __init__(self, place: Place, definition: Definition) -> None:
        """Have none yet."""
        self.definition = definition
        self._place = place
        self._version = 0
        self._pieces: list[tuple[int, ...]] = []
        self._built: list[tuple[Any, dict[int, str]]] = []
        self._files: dict[int, str] = {}

    def plan(self, dataset: LanceDataset, wanted: Iterable[int], tasks: int | None) -> list[Task]:
        """Tasks for those fragments of the newest version that no built segment covers.

        A segment stays good for as long as the files of its fragments are what they were.
        """
        self._version = int(dataset.version)
        self._files = files_of(dataset)
        self._built = [each for each in self._built if self._is_good(each[1])]
        covered = {number for _, files in self._built for number in files}
        chosen = set(wanted) - covered
        found = [each for each in planning.extents(dataset) if each.fragment in chosen]
        pieces = planning.plan(found, parallelism=tasks, divisible=False)
        self._pieces = [piece.fragments for piece in pieces]
        return [
            BuildSegment(self._place, self._version, self.definition, piece)
            for piece in self._pieces
        ]

    def land(self, built: Sequence[Any]) -> bool:
        """Commit all segments as one index; False if others changed what they are built on."""
        for segment, piece in zip(built[: len(self._pieces)], self._pieces, strict=True):
            self._built.append((segment, {number: self._files[number] for number in piece}))
        self._pieces = []
        # At the version that was planned, so that Lance sees what was committed since.
        dataset = open_table(self._place).checkout_version(self._version)
        try:
            dataset.commit_existing_index_segments(
                self.definition.name, self.definition.column, [each for each, _ in self._built]
            )
        except (OSError, RuntimeError) as cause:
            if is_conflict(cause):
                return False
            raise
        return True

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self._built)

    def _is_good(self, files: Mapping[int, str]) -> bool:
        return all(self._files.get(number) == made_of for number, made_of in files.items())
