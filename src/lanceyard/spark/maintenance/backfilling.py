"""Back-filling: a column, new or not, computed fragment by fragment where the fragments lie."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lanceyard import errors
from lanceyard.spark import planning
from lanceyard.spark.commits import WRITE, find_write, land
from lanceyard.spark.maintenance.grafting import added, numbers_of, replaced
from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.maintenance.records import Record, Records
from lanceyard.spark.maintenance.reports import TablePlan
from lanceyard.spark.maintenance.values import SQL_TYPES, Expressions, Values
from lanceyard.spark.maintenance.work import Landing, Work, files_of, is_conflict
from lanceyard.spark.reference import Place, TableReference, open_table

if TYPE_CHECKING:
    from lance import LanceDataset

NEW = "__lanceyard_new_"
"""What the new values of an existing column are called until they take its place."""


class Compute(Task):
    """The values of some fragments. A fragment that was finished before is not computed again."""

    def __init__(
        self,
        place: Place,
        version: int,
        key: str,
        fragments: Mapping[int, str],
        names: Mapping[str, str],
        *,
        batch_size: int | None = None,
    ) -> None:
        """Compute for fragments of a version, by what they are made of."""
        self._place = place._replace(managed=None)
        self._version = version
        self._key = key
        self._fragments = dict(fragments)
        self._names = dict(names)
        self._batch_size = batch_size

    def run(self, shared: Any) -> list[Record]:
        values, text = shared
        schema = pa.ipc.read_schema(pa.py_buffer(text))
        records = Records(self._place, self._key)
        dataset = open_table(self._place, self._version)
        found = []
        for number, made_of in self._fragments.items():
            before = records.find(number, made_of)
            found.append(before or records.note(self._record(dataset, number, values, schema)))
        return found

    def _record(
        self, dataset: LanceDataset, number: int, values: Values, schema: pa.Schema
    ) -> Record:
        transform, reads = values.transform(self._names, schema)
        failures: list[Exception] = []
        if hasattr(transform, "func"):
            transform.func = _telling(transform.func, failures)
        fragment: Any = dataset.get_fragment(number)
        try:
            merged, after = fragment.merge_columns(transform, reads, self._batch_size)
        except (OSError, RuntimeError, ValueError) as cause:
            raise (failures[0] if failures else cause) from None
        before = fragment.metadata.to_json()["files"]
        (file,) = [each for each in merged.to_json()["files"] if each not in before]
        numbers = numbers_of(after, schema.names)
        return Record(number, self._fragments[number], file, numbers)


class Backfilling(Work):
    """A column for all fragments, or for those that lack it; all of them land in one version."""

    def __init__(
        self,
        reference: TableReference,
        place: Place,
        values: Values,
        *,
        only_missing: bool = False,
        batch_size: int | None = None,
        tasks: int | None = None,
        restart: bool = False,
    ) -> None:
        """Compute values for a table; `restart` forgets what an earlier run has computed."""
        super().__init__(reference, place)
        self._values = values
        self._only_missing = only_missing
        self._batch_size = batch_size
        self._tasks = tasks
        self._salt = uuid.uuid4().hex if restart else ""
        self._columns: pa.Schema | None = None
        self._is_new = True
        self._finished: dict[tuple[int, str], Record] = {}
        self._resumed, self._is_resumed = 0, False
        self._planned = TablePlan(str(reference))
        self._version: int | None = None

    def plan(self) -> Sequence[Task]:
        dataset = open_table(self.place)
        if self._columns is None:
            self._read_columns(dataset)
        version, made_of = int(dataset.version), files_of(dataset)
        nothing = [Compute(self.place, version, self._key, {}, self._names)]
        if self._is_done(dataset):
            self._describe([], 0)
            return nothing
        wanted = {number: made_of[number] for number in self._wanted(dataset)}
        self._resume(wanted)
        left = {n: made for n, made in wanted.items() if (n, made) not in self._finished}
        extents = [each for each in planning.extents(dataset) if each.fragment in left]
        pieces = planning.plan(extents, parallelism=self._tasks, divisible=False)
        self._describe(extents, len(pieces))
        tasks = [
            Compute(self.place, version, self._key, part, self._names, batch_size=self._batch_size)
            for part in ({n: left[n] for n in piece.fragments} for piece in pieces)
        ]
        # All may have been computed by a run that did not live to commit it.
        return tasks or (nothing if wanted or self._is_new else [])

    def describe(self) -> TablePlan:
        return self._planned

    def land(self, results: Sequence[list[Record]]) -> Landing:
        for record in (record for found in results for record in found):
            self._finished[record.fragment, record.made_of] = record
        dataset = open_table(self.place)
        if self._is_done(dataset):
            self._records.forget()
            return Landing.DONE
        made_of = files_of(dataset)
        wanted = self._wanted(dataset)
        if any((number, made_of[number]) not in self._finished for number in wanted):
            return Landing.CONFLICT  # fragments came, or were changed
        records = {n: self._finished[n, made_of[n]] for n in wanted}
        if not self._commit(dataset, records):
            return Landing.CONFLICT
        self._version = int(open_table(self.place).version)
        self._records.forget()
        return Landing.DONE

    def tell(self) -> str:
        names = ", ".join(self._columns.names if self._columns is not None else ())
        resumed = f", {self._resumed:,} of them by an earlier run" if self._resumed else ""
        return f"{names} of {len(self._finished):,} fragments{resumed}"

    @property
    def shared(self) -> Any:
        assert self._columns is not None
        fields = [f.with_name(self._names[f.name]) for f in self._columns]
        return self._values, pa.schema(fields).serialize().to_pybytes()

    @property
    def version(self) -> int | None:
        return self._version

    @property
    def _names(self) -> dict[str, str]:
        assert self._columns is not None
        return {name: name if self._is_new else NEW + name for name in self._columns.names}

    @property
    def _key(self) -> str:
        said = f"{self._values.fingerprint} {self._columns} {self._only_missing}{self._salt}"
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    @property
    def _records(self) -> Records:
        return Records(self.place, self._key)

    def _read_columns(self, dataset: LanceDataset) -> None:
        """Learn what is computed, and whether the table has it already."""
        made = self._values.schema(dataset)
        existing = [name for name in made.names if name in dataset.schema.names]
        if existing and len(existing) < len(made.names):
            raise errors.InvalidInputError(
                f"table {self.reference} has {', '.join(existing)} already, but not all of "
                f"{', '.join(made.names)}: fill new columns and existing ones one after the other"
            )
        self._is_new = not existing
        fields = [
            dataset.schema.field(name) if existing else made.field(name).with_nullable(True)
            for name in made.names
        ]
        self._columns = pa.schema([_checked(f, made.field(f.name), self._values) for f in fields])

    def _resume(self, wanted: Mapping[int, str]) -> None:
        """Take over what an earlier run has computed, once."""
        if not self._is_resumed:
            found = self._records.all_of(wanted.items())
            self._finished |= {(each.fragment, each.made_of): each for each in found}
            self._resumed, self._is_resumed = len(found), True

    def _wanted(self, dataset: LanceDataset) -> list[int]:
        """The fragments that values are wanted for."""
        found = [each.fragment for each in planning.extents(dataset) if each.rows]
        if self._is_new or not self._only_missing:
            return found
        assert self._columns is not None
        numbers = set(numbers_of(dataset.lance_schema, self._columns.names))
        present = {
            fragment.fragment_id
            for fragment in dataset.get_fragments()
            if any(numbers & set(file["fields"]) for file in fragment.metadata.to_json()["files"])
        }
        return [number for number in found if number not in present]

    def _describe(self, extents: Sequence[planning.Extent], tasks: int) -> None:
        assert self._columns is not None
        what = f"{'add' if self._is_new else 'fill'} {', '.join(self._columns.names)}"
        if self._resumed:
            what += f", {self._resumed:,} fragments are computed already"
        size = sum(each.size for each in extents)
        self._planned = TablePlan(str(self.reference), tasks, len(extents), size, what)

    def _is_done(self, dataset: LanceDataset) -> bool:
        """Whether an earlier run has landed, and nothing came since that is wanted, too."""
        return self._has_landed() and not (self._only_missing and self._wanted(dataset))

    def _has_landed(self) -> bool:
        """Whether a version holds what a run computed that perhaps could not tell any more."""
        run = self._records.run()
        if run is None:
            return False
        try:
            return find_write(self.place, run.id, run.version) is not None
        except errors.TableVersionNotFoundError as cause:
            raise errors.InvalidTableStateError(
                f"whether an earlier run of this back-fill of table {self.reference} landed is no "
                "longer known, since versions were removed: look, and say restart=True to have it "
                "computed anew"
            ) from cause

    def _commit(self, dataset: LanceDataset, records: Mapping[int, Record]) -> bool:
        """Land all values; False if others were faster."""
        assert self._columns is not None
        run = self._records.begin(int(dataset.version))
        retries = 0 if self._is_new else 20
        try:
            if not dataset.get_fragments():
                dataset.add_columns(self._columns)
                return True
            graft = added if self._is_new else replaced
            operation = graft(dataset, self.place, self._columns, records)
            land(dataset, operation, {WRITE: run.id}, self.place, retries=retries)
        except (OSError, RuntimeError) as cause:
            if is_conflict(cause):
                return False
            if not self._has_landed():
                raise
        return True


def _checked(field: pa.Field, made: pa.Field, values: Values) -> pa.Field:
    """A column as it will be. Raises `InvalidInputError` for values that cannot become that."""
    if not isinstance(values, Expressions):
        return field
    if field.type != made.type and field.type not in SQL_TYPES:
        raise errors.InvalidInputError(
            f"column {field.name!r} is {field.type}, and the expression gives {made.type}: "
            "cast it, or use a function"
        )
    if not field.nullable:
        raise errors.InvalidInputError(
            f"column {field.name!r} has no nulls, and an expression cannot promise that: "
            "use a function"
        )
    return field


def _telling(function: Callable[..., Any], failures: list[Exception]) -> Callable[..., Any]:
    """A function whose errors are kept: Lance would hide them in one of its own."""

    def told(batch: pa.RecordBatch) -> Any:
        try:
            return function(batch)
        except Exception as failure:
            failures.append(failure)
            raise

    return told
