"""The operations on the rows of a table: insert, merge, update, delete, count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    CountTableRowsRequest,
    CountTableRowsResponse,
    DeleteFromTableRequest,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    MergeInsertIntoTableRequest,
    MergeInsertIntoTableResponse,
    UpdateTableRequest,
    UpdateTableResponse,
)

from lanceyard import errors
from lanceyard.namespace import datasets
from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.content.sql import condition, whole
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import (
    AlterRequest,
    DeletedRows,
    InsertMode,
    read_choice,
    read_table_id,
    read_texts,
)
from lanceyard.namespace.tables import TableOperations, refuse_reserved

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset
    from lance.dataset import MergeInsertBuilder

TIMEOUT = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m|h)")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


class RowOperations(ContentOperations, TableOperations):
    """Insert into, merge into, update, delete from and count the rows of tables.

    Each change is one commit, or none: what fails leaves the table as it was.
    """

    @operation
    def insert_into_table(
        self, request: InsertIntoTableRequest, request_data: Any
    ) -> InsertIntoTableResponse:
        """Append an Arrow IPC stream to a table, or put it in place of all rows.

        The stream is bytes, a file, or an iterable of bytes, and is written as it is read. Columns
        that it leaves out are null.
        """
        import lance

        request = read_texts(InsertIntoTableRequest, request)
        mode = read_choice(InsertMode, request.mode, InsertMode.APPEND)
        stream = _CountedStream(request.id, request_data)
        with self._writing(request.id, branch=request.branch) as dataset:
            written = lance.write_dataset(stream.reader, dataset, mode=mode.value)
            return InsertIntoTableResponse(num_inserted_rows=stream.rows, version=written.version)

    @operation
    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, request_data: Any
    ) -> MergeInsertIntoTableResponse:
        """Merge an Arrow IPC stream into a table: rows are matched by the columns of `on`."""
        request = read_texts(MergeInsertIntoTableRequest, request)
        stream = _CountedStream(request.id, request_data)
        with self._writing(request.id, branch=request.branch) as dataset:
            merged = _merge(dataset, request).execute(stream.reader)
            return MergeInsertIntoTableResponse(
                num_updated_rows=merged["num_updated_rows"],
                num_inserted_rows=merged["num_inserted_rows"],
                num_deleted_rows=merged["num_deleted_rows"],
                version=dataset.version,
            )

    @operation
    def update_table(self, request: UpdateTableRequest) -> UpdateTableResponse:
        """Set columns to SQL expressions, in all rows or in those for which a predicate holds."""
        request = read_texts(UpdateTableRequest, request)
        updates = {path: whole(text) for path, text in request.updates}
        if len(updates) != len(request.updates) or not updates:
            raise errors.InvalidInputError("updates name each column once, and at least one")
        refuse_reserved(request.properties)
        with self._writing(request.id, branch=request.branch) as dataset:
            updated = dataset.update(updates, where=condition(request.predicate))
            version = dataset.version
        properties = None
        if request.properties:
            altered = AlterRequest(id=request.id, set=request.properties)
            properties = self.alter_table(altered).properties
        return UpdateTableResponse(
            updated_rows=updated["num_rows_updated"], version=version, properties=properties
        )

    @operation
    def delete_from_table(self, request: DeleteFromTableRequest) -> DeletedRows:
        """Delete the rows for which a predicate holds."""
        request = read_texts(DeleteFromTableRequest, request)
        with self._writing(request.id, branch=request.branch) as dataset:
            deleted = dataset.delete(whole(request.predicate))["num_deleted_rows"]
            return DeletedRows(version=dataset.version, num_deleted_rows=deleted)

    @operation
    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count all rows, or those for which a predicate holds."""
        request = read_texts(CountTableRowsRequest, request)
        place = self._reading(request.id, version=request.version, branch=request.branch)
        with place as dataset:
            return CountTableRowsResponse(count=dataset.count_rows(condition(request.predicate)))


class _CountedStream:
    """The body of a request as a stream of batches that counts what went through it."""

    def __init__(self, names: list[str] | None, body: Any) -> None:
        import pyarrow as pa

        self._stream = datasets.read_stream(read_table_id(names), body)
        if not self._stream.schema.names:
            raise errors.InvalidInputError("the data has no columns")
        self.reader = pa.RecordBatchReader.from_batches(self._stream.schema, self._batches())
        self.rows = 0

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._stream:
            self.rows += batch.num_rows
            yield batch


def _merge(dataset: LanceDataset, request: MergeInsertIntoTableRequest) -> MergeInsertBuilder:
    merge = dataset.merge_insert(request.on)
    if request.when_matched_update_all or request.when_matched_update_all_filt:
        merge.when_matched_update_all(condition(request.when_matched_update_all_filt))
    if request.when_not_matched_insert_all:
        merge.when_not_matched_insert_all()
    filtered = request.when_not_matched_by_source_delete_filt
    if request.when_not_matched_by_source_delete or filtered:
        merge.when_not_matched_by_source_delete(condition(filtered))
    if request.timeout is not None:
        merge.retry_timeout(_read_timeout(request.timeout))
    return merge.use_index(bool(request.use_index))


def _read_timeout(text: str) -> timedelta:
    found = TIMEOUT.fullmatch(text.strip())
    if found is None:
        raise errors.InvalidInputError(f'timeout {text!r} is not a time such as "30s" or "5m"')
    return timedelta(seconds=float(found[1]) * UNITS[found[2]])
