"""Indexing: an index of any kind on a column, built in segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.namespace.content.fields import find_column
from lanceyard.namespace.content.index_kinds import KINDS, IndexKind, read_kind, sub_vectors
from lanceyard.namespace.content.indexes import indexes_of
from lanceyard.namespace.requests import CreateIndexRequest
from lanceyard.spark import planning
from lanceyard.spark.maintenance.jobs import Nothing, Task
from lanceyard.spark.maintenance.models import Train
from lanceyard.spark.maintenance.reports import TablePlan
from lanceyard.spark.maintenance.segments import Definition, Segments
from lanceyard.spark.maintenance.work import Landing, Work
from lanceyard.spark.reference import Place, TableReference, open_table

if TYPE_CHECKING:
    from lance import LanceDataset


class Indexing(Work):
    """A new index, or one in place of another of its name.

    A model of vectors is trained once, by a task of its own; all segments share it.
    """

    def __init__(
        self,
        reference: TableReference,
        place: Place,
        column: str,
        kind: str,
        *,
        name: str | None = None,
        replace: bool = False,
        tasks: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Index a column; `parameters` are those of CreateTableIndex."""
        super().__init__(reference, place)
        self._kind = read_kind(kind, KINDS, "index")
        self._column = column
        self._name = name or f"{column}_idx"
        self._replace = replace
        self._tasks = tasks
        self._options = read_parameters(self._kind, column, parameters or {})
        self._segments: Segments | None = None
        self._model: dict[str, Any] | None = {} if self._kind.is_scalar else None
        self._planned = TablePlan(str(reference))
        self._covered = 0
        self._version: int | None = None

    def plan(self) -> Sequence[Task]:
        dataset = open_table(self.place)
        self._check_name(dataset)
        if self._segments is None:
            self._segments = Segments(self.place, self._define(dataset))
        fragments = [each.fragment for each in planning.extents(dataset) if each.rows]
        self._covered = len(fragments)
        if not fragments:
            raise errors.InvalidInputError(f"table {self.reference} has no rows to index")
        tasks = self._segments.plan(dataset, fragments, self._tasks)
        self._planned = self._described(dataset, len(tasks))
        if self._model is None:
            definition = self._segments.definition
            return [Train(self.place, int(dataset.version), definition)]
        # After a conflict, all segments may be good as they are.
        return tasks or [Nothing()]

    def describe(self) -> TablePlan:
        return self._planned

    def land(self, results: Sequence[Any]) -> Landing:
        assert self._segments is not None
        if self._model is None:
            (self._model,) = results
            return Landing.NEXT
        if not self._segments.land(results):
            return Landing.CONFLICT
        self._version = int(open_table(self.place).version)
        return Landing.DONE

    def tell(self) -> str:
        count = 0 if self._segments is None else self._segments.count
        return (
            f"index {self._name} ({self._kind.name} on {self._column}) of {self._covered:,} "
            f"fragments in {count:,} segments"
        )

    @property
    def shared(self) -> Any:
        return {self._name: self._model} if self._model else None

    @property
    def version(self) -> int | None:
        return self._version

    def _check_name(self, dataset: LanceDataset) -> None:
        """Refuse a name that is taken, perhaps since a moment ago."""
        if self._name in indexes_of(dataset) and not self._replace:
            raise errors.TableIndexAlreadyExistsError(
                f"table {self.reference} has an index {self._name!r} already: refresh it, or say "
                "replace=True"
            )

    def _define(self, dataset: LanceDataset) -> Definition:
        """The index, once the column is known to be right."""
        field = find_column(dataset, self._column)
        options = dict(self._options)
        if "num_sub_vectors" in self._kind.parameters:
            options.setdefault("num_sub_vectors", sub_vectors(field.kind, options.get("num_bits")))
        return Definition(self._name, field.path, pylance_name(self._kind), options)

    def _described(self, dataset: LanceDataset, tasks: int) -> TablePlan:
        found = planning.extents(dataset)
        what = f"build index {self._name} ({self._kind.name} on {self._column})"
        size = sum(each.size for each in found)
        return TablePlan(str(self.reference), tasks, len(found), size, what)


def read_parameters(kind: IndexKind, column: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of CreateTableIndex, as pylance takes them.

    Raises
    ------
    InvalidInputError
        There is no such parameter, or it has no effect on this kind.
    """
    unknown = sorted(parameters.keys() - CreateIndexRequest.model_fields.keys())
    if unknown:
        raise errors.InvalidInputError(f"an index has no parameter {unknown[0]!r}")
    return kind.options(CreateIndexRequest(column=column, index_type=kind.name, **parameters))


def pylance_name(kind: IndexKind) -> str:
    """The kind in the words of pylance."""
    return "INVERTED" if kind.name == "FTS" else kind.name
