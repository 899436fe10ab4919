"""The streaming sink: every batch lands exactly once.

Spark repeats a batch when it cannot know that it was committed. So the commit that adds the rows of
a batch names the query and the batch, and before a batch is committed the history of the table is
asked for it. The commit lands only on the version that was asked; if another writer was faster,
history is asked again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lanceyard import errors
from lanceyard.spark.commits import WRITE, history, land
from lanceyard.spark.options import Options
from lanceyard.spark.reference import Place, TableReference, open_table
from lanceyard.spark.write import Write, Written, fits, fragments_of

if TYPE_CHECKING:
    from lance import LanceDataset

QUERY = "lance.streaming.queryId"
BATCH = "lance.streaming.epochId"
"""Transaction properties; Java lance-spark uses the same."""
BEGIN = "lanceyard.stream."
"""Configuration of the table: before which version a query had written nothing."""
ATTEMPTS = 50


class LanceStreamWriter(DataSourceStreamArrowWriter):
    """Adds micro-batches to a table or, in output mode *complete*, replaces its content."""

    def __init__(self, schema: StructType, options: Options, *, overwrite: bool) -> None:
        """Begin a write; Spark constructs one for the tasks of a batch, and one for its commit."""
        self._options = options
        self._write = Write.begin(schema, replace(options, if_exists=None), overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._write.write(iterator, self._options.query_id or _running_query())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        written = [message for message in messages if isinstance(message, Written)]
        query = next((message.query for message in written if message.query), None)
        if query is None:
            if not fragments_of(written):
                return
            raise errors.InvalidInputError(
                f"batch {batchId} for table {self._table} does not tell its query, so that it "
                "could be written twice: set option query_id"
            )
        for attempt in range(ATTEMPTS):
            try:
                self._commit(written, query, batchId)
            except _OvertakenError:
                time.sleep(random.uniform(0, 0.01 * 2 ** min(attempt, 6)))
            else:
                self._table.require_still(self._write.place)
                return
        raise errors.ConcurrentModificationError(
            f"other writers kept committing to table {self._table}; batch {batchId} was not written"
        )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        # A batch may have landed although its commit failed, and Spark will run it again. Nothing
        # tells whether the files are needed, so repair deletes them when they are old.
        return

    @property
    def _table(self) -> TableReference:
        return self._write.reference

    def _commit(self, written: list[Written], query: str, batch: int) -> None:
        """Land a batch on the version that was asked for it, unless that knows it already."""
        place = self._table.claim()
        if place.is_empty:
            self._create(place, written)
        dataset = open_table(place)
        if self._is_done(dataset, query, batch):
            return
        if not all(self._fits(message, place, dataset) for message in written):
            raise errors.ConcurrentModificationError(
                f"table {self._table} was created or replaced by another writer while batch "
                f"{batch} was written; restart the query to run the batch again"
            )
        properties = {QUERY: query, BATCH: str(batch), WRITE: self._write.id}
        self._add(dataset, written, properties)

    def _fits(self, message: Written, place: Place, dataset: LanceDataset) -> bool:
        """Whether fragments refer to the columns of the table as it is now."""
        if message.location != place.location:
            return False
        if self._write.replaces or not message.fragments:
            return True
        return fits(place, message, dataset)

    def _is_done(self, dataset: LanceDataset, query: str, batch: int) -> bool:
        """Whether a version of the table holds a batch, or a later one of its query.

        A query that is new to the table is noted in its configuration: nothing of it lies before
        that version, so that history need not be searched, and old parts of it may be gone.
        """
        begun = dataset.config().get(BEGIN + query)
        try:
            for commit in history(dataset, int(begun or 0)):
                properties = commit.transaction_properties or {}
                if properties.get(QUERY) == query:
                    return int(properties[BATCH]) >= batch
        except errors.TableVersionNotFoundError as cause:
            if begun is not None:
                return self._is_unknown_done(cause, query, batch)
        if begun is None:
            with _overtaking():
                dataset.update_config({BEGIN + query: str(dataset.version)})
        return False

    def _is_unknown_done(self, cause: Exception, query: str, batch: int) -> bool:
        if self._options.on_unknown_batch == "fail":
            raise errors.TableVersionNotFoundError(
                f"cannot tell whether batch {batch} of query {query} was already written to table "
                f"{self._table}: {cause}. Look, then set option on_unknown_batch to skip or write"
            ) from cause
        return self._options.on_unknown_batch == "skip"

    def _create(self, place: Place, written: list[Written]) -> None:
        """Make the table, without rows: they come when the query is noted, as later ones do."""
        from lance import LanceOperation

        empty = LanceOperation.Overwrite(self._write.content(written).new_schema, [])
        try:
            properties = {WRITE: self._write.id}
            stable = bool(self._write.settings.get("enable_stable_row_ids"))
            land(place.location, empty, properties, place, retries=0, stable_row_ids=stable)
        except OSError as cause:
            if self._table.claim().is_empty:
                raise errors.InternalError(f"cannot create table {self._table}: {cause}") from cause
            raise _OvertakenError from cause

    def _add(
        self, dataset: LanceDataset, written: list[Written], properties: dict[str, str]
    ) -> None:
        from lance import LanceOperation

        operation: LanceOperation.BaseOperation
        if self._write.replaces:
            operation = self._write.content(written)
        else:
            # An Append would land after any other commit, so also after the same batch.
            kept = [fragment.metadata for fragment in dataset.get_fragments()]
            new = fragments_of(written)
            operation = LanceOperation.Merge([*kept, *new], dataset.lance_schema)
        with _overtaking():
            land(dataset, operation, properties, self._write.place, retries=0)


class _OvertakenError(Exception):
    """Another writer was faster: look again."""


@contextmanager
def _overtaking() -> Iterator[None]:
    from lance.commit import CommitConflictError

    try:
        yield
    except CommitConflictError as cause:
        raise _OvertakenError from cause
    except OSError as cause:
        if "Incompatible transaction" not in str(cause):
            raise
        raise _OvertakenError from cause


def _running_query() -> str | None:
    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty("sql.streaming.queryId")
    return None if found is None else str(found)
