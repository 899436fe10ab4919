"""A write: tasks write fragments, the driver commits them once.

What a task needs is looked up before, so tasks never ask the catalog. A commit carries an id, by
which it is found again if its reply is lost.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.spark.batches import ToLance
from lanceyard.spark.commits import WRITE, find_write, land
from lanceyard.spark.options import Options
from lanceyard.spark.reference import Place, TableReference, open_table
from lanceyard.spark.types import check_append, lance_schema
from lanceyard.spark.worker import spare_imports

if TYPE_CHECKING:
    from lance import LanceDataset, LanceOperation
    from lance.fragment import FragmentMetadata

ATTEMPTS = 20


@dataclass
class Written(WriterCommitMessage):
    """The fragments that a task wrote."""

    fragments: list[str] = field(default_factory=list)
    schema: Any = None
    """Of new content: Lance's own schema, whose field ids the fragments refer to."""
    location: str = ""
    base: int | None = None
    """The version of the table that the fragments were written for."""
    query: str | None = None
    """The streaming query that the task belonged to."""


@dataclass(frozen=True)
class Write:
    """Rows on their way into a table."""

    reference: TableReference
    place: Place
    base: int | None
    """The version that was there before; None for a table that is being made."""
    replaces: bool
    arriving: StructType
    arrow: bytes
    """The schema of what is written, in a form that survives pickling whole."""
    settings: Mapping[str, Any]
    id: str

    @classmethod
    def begin(cls, schema: StructType, options: Options, *, overwrite: bool) -> Self:
        """Look up or declare the table, and check that the rows fit it.

        Raises
        ------
        LanceNamespaceError
            The schema does not fit the table, or the table may not be written so.
        """
        from lanceyard.namespace import datasets

        reference = options.reference
        found = reference.find()
        exists = found is not None and not found.is_empty
        replaces = exists and _replaces(found, options, overwrite=overwrite)
        if not exists and options.if_missing == "fail":
            raise errors.TableNotFoundError(f"table {reference} was not found, and if_missing=fail")
        base = open_table(found) if found is not None and exists else None
        if base is None or replaces:
            written = lance_schema(schema, options.columns_as)
        else:
            written = check_append(schema, datasets.schema(base))
        return cls(
            reference=reference,
            place=found or reference.claim(),
            base=None if base is None else int(base.version),
            replaces=replaces,
            arriving=schema,
            arrow=written.serialize().to_pybytes(),
            settings=_settings(options),
            id=options.write_id or uuid.uuid4().hex,
        )

    def write(self, batches: Iterable[pa.RecordBatch], query: str | None = None) -> Written:
        """Write the rows of a task as fragments that no version holds yet."""
        from lance.fragment import write_fragments

        spare_imports()
        written = Written(location=self.place.location, base=self.base, query=query)
        rows = iter(batches)
        first = next((batch for batch in rows if batch.num_rows), None)
        if first is None:
            return written
        failures: list[Exception] = []
        stream = self._converted(chain([first], rows), failures)
        try:
            done: Any = write_fragments(
                pa.RecordBatchReader.from_batches(self.schema, stream),
                open_table(self.place, self.base) if self.adds else self.place.location,
                schema=self.schema,
                mode=self._mode,
                return_transaction=True,
                storage_options=self.place.options,
                **self.settings,
            ).operation
        except OSError as cause:
            raise (failures[0] if failures else self._failed(cause)) from cause
        written.fragments = [json.dumps(fragment.to_json()) for fragment in done.fragments]
        written.schema = getattr(done, "new_schema", None)
        return written

    def commit(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        """Land what all tasks wrote, at once.

        Raises
        ------
        ConcurrentModificationError
            Another writer was faster, and nothing was written.
        """
        from lance import LanceOperation

        messages = list(messages)
        fragments = fragments_of(messages)
        if self.adds and not fragments:
            return
        self.reference.require_still(self.place)
        properties = {WRITE: self.id}
        try:
            if self.adds:
                self._append(LanceOperation.Append(fragments), properties)
            elif self.replaces:
                content = self.content(messages)
                land(open_table(self.place), content, properties, self.place, retries=20)
            else:
                content = self.content(messages)
                stable = bool(self.settings.get("enable_stable_row_ids"))
                place = self.place
                land(place.location, content, properties, place, retries=0, stable_row_ids=stable)
        except (OSError, RuntimeError, ValueError) as cause:
            if not self.has_landed():
                raise self._uncommitted(cause) from cause
        self.reference.require_still(self.place)

    def _append(self, added: LanceOperation.Append, properties: dict[str, str]) -> None:
        from lance.commit import CommitConflictError

        meant = Written(base=self.base)
        for attempt in range(ATTEMPTS):
            latest = open_table(self.place)
            if not fits(self.place, meant, latest):
                raise errors.ConcurrentModificationError(
                    f"table {self.reference} got other columns while it was written, and nothing "
                    "was added; run the job again"
                )
            try:
                land(latest, added, properties, self.place, retries=20)
            except CommitConflictError:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return

    def abort(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        """Delete what tasks wrote, unless a version holds it.

        Spark calls this also when `commit` has failed, and then it may have landed all the same.
        A name that was declared stays declared: tasks that Spark has not killed yet may still
        write there.
        """
        from lanceyard.namespace import datasets

        if not self._may_have_landed():
            datasets.discard(self.place.location, fragments_of(messages))

    def content(self, messages: Iterable[WriterCommitMessage | None]) -> LanceOperation.Overwrite:
        """What all tasks wrote, as the whole content of the table."""
        from lance import LanceOperation

        messages = list(messages)
        known = [m.schema for m in messages if isinstance(m, Written) and m.schema is not None]
        return LanceOperation.Overwrite(known[0] if known else self.schema, fragments_of(messages))

    def has_landed(self) -> bool:
        """Whether a version of the table holds this write."""
        now = self.reference.find()
        if now is None or now.is_empty:
            return False
        return find_write(now, self.id, self.base or 0) is not None

    def _may_have_landed(self) -> bool:
        try:
            return self.has_landed()
        except errors.LanceNamespaceError:
            return True

    @property
    def adds(self) -> bool:
        """Whether rows are added to those that are there."""
        return self.base is not None and not self.replaces

    @property
    def schema(self) -> pa.Schema:
        """The schema of what is written."""
        return pa.ipc.read_schema(pa.py_buffer(self.arrow))

    @property
    def _mode(self) -> str:
        if self.adds:
            return "append"
        return "overwrite" if self.replaces else "create"

    def _converted(
        self, batches: Iterable[pa.RecordBatch], failures: list[Exception]
    ) -> Iterator[pa.RecordBatch]:
        """Batches in Lance's types; Lance would hide what fails here in an error of its own."""
        convert = ToLance(self.arriving, self.schema)
        for batch in batches:
            try:
                yield convert(batch)
            except Exception as failure:
                failures.append(failure)
                raise

    def _uncommitted(self, cause: Exception) -> errors.LanceNamespaceError:
        from lance.commit import CommitConflictError

        now = self.reference.find()
        was_made = self.base is None and now is not None and not now.is_empty
        if was_made or isinstance(cause, CommitConflictError):
            return errors.ConcurrentModificationError(
                f"another writer was faster, and nothing was written to table {self.reference}; "
                f"run the job again: {cause}"
            )
        return errors.InternalError(f"cannot commit to table {self.reference}: {cause}")

    def _failed(self, cause: OSError) -> errors.LanceNamespaceError:
        return errors.storage_failure(f"writing table {self.reference}", cause)


def fragments_of(messages: Iterable[WriterCommitMessage | None]) -> list[FragmentMetadata]:
    """The fragments of all tasks that have finished."""
    from lance.fragment import FragmentMetadata

    done = [message for message in messages if isinstance(message, Written)]
    return [FragmentMetadata.from_json(text) for message in done for text in message.fragments]


def fits(place: Place, message: Written, now: LanceDataset) -> bool:
    """Whether fragments can be added to a version, be it another than they were written for.

    They name columns by number, so the numbers must mean the same columns.
    """
    if message.base == now.version:
        return True
    try:
        before = message.schema or open_table(place, message.base).lance_schema
    except (OSError, ValueError):
        return False
    numbered: dict[str, Any] = {repr(each): each for each in now.lance_schema.fields()}
    known = {repr(column) for column in before.fields()}
    # Where a fragment lacks a column, Lance reads nulls.
    new = [column for text, column in numbered.items() if text not in known]
    return known <= numbered.keys() and all(column.to_arrow().nullable for column in new)


def _replaces(place: Place | None, options: Options, *, overwrite: bool) -> bool:
    mode = options.if_exists or ("overwrite" if overwrite else "append")
    if mode == "fail":
        raise errors.TableAlreadyExistsError(
            f"table {options.reference} exists already, and if_exists=fail"
        )
    if mode == "overwrite" and place is not None and place.is_protected:
        raise errors.protected(Identifier(options.reference.table))
    return mode == "overwrite"


def _settings(options: Options) -> dict[str, Any]:
    asked = {
        "data_storage_version": options.file_format_version,
        "max_rows_per_file": options.max_rows_per_file,
        "max_bytes_per_file": options.max_bytes_per_file,
        "enable_stable_row_ids": options.enable_stable_row_ids or None,
    }
    return {name: value for name, value in asked.items() if value is not None}
