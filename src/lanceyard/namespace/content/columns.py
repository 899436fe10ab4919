"""The operations on the columns of a table: add, alter, drop, backfill."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    AlterTableAddColumnsRequest,
    AlterTableAddColumnsResponse,
    AlterTableAlterColumnsRequest,
    AlterTableAlterColumnsResponse,
    AlterTableBackfillColumnsRequest,
    AlterTableBackfillColumnsResponse,
    AlterTableDropColumnsRequest,
    AlterTableDropColumnsResponse,
)
from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry

from lanceyard import errors
from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.content.fields import Field, all_fields, check_unique, find_column
from lanceyard.namespace.content.new_columns import COMPUTED, NewColumns, check_name
from lanceyard.namespace.content.sql import condition, whole
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import AddColumnsRequest, read_texts
from lanceyard.namespace.schema import from_json

if TYPE_CHECKING:
    from lance import LanceDataset


class ColumnOperations(ContentOperations):
    """Add, alter, drop and backfill the columns of tables."""

    @operation
    def alter_table_add_columns(
        self, request: AlterTableAddColumnsRequest
    ) -> AlterTableAddColumnsResponse:
        """Add columns, each with values, or empty.

        An `expression` is evaluated over the rows that are there. A `computed` one is kept, and
        evaluated by `alter_table_backfill_columns`. With the extension `data_type` a column has no
        values. User-defined functions are not carried out.

        Nothing is changed unless all columns can be added; those with values are committed first.
        """
        request = read_texts(AddColumnsRequest, request)
        with self._writing(request.id, branch=request.branch) as dataset:
            NewColumns(dataset, request.new_columns).add()
            return AlterTableAddColumnsResponse(version=dataset.version)

    @operation
    def alter_table_alter_columns(
        self, request: AlterTableAlterColumnsRequest
    ) -> AlterTableAlterColumnsResponse:
        """Rename columns, cast them, and let them hold nulls or not: all in one commit.

        A renamed column keeps its indexes; one that has any cannot be cast.
        """
        request = read_texts(AlterTableAlterColumnsRequest, request)
        if not request.alterations:
            raise errors.InvalidInputError("there is nothing to alter")
        with self._writing(request.id, branch=request.branch) as dataset:
            fields = [find_column(dataset, entry.path) for entry in request.alterations]
            check_unique(fields)
            pairs = list(zip(fields, request.alterations, strict=True))
            alterations: Any = [_alteration(field, entry) for field, entry in pairs]
            _check_renames(dataset, {f.number: e.rename for f, e in pairs if e.rename is not None})
            dataset.alter_columns(*alterations)
            return AlterTableAlterColumnsResponse(version=dataset.version)

    @operation
    def alter_table_drop_columns(
        self, request: AlterTableDropColumnsRequest
    ) -> AlterTableDropColumnsResponse:
        """Drop columns, or parts of them, and their indexes."""
        request = read_texts(AlterTableDropColumnsRequest, request)
        if not request.columns:
            raise errors.InvalidInputError("there are no columns to drop")
        with self._writing(request.id, branch=request.branch) as dataset:
            paths = {find_column(dataset, path).path for path in request.columns}
            dataset.drop_columns(sorted(paths))
            return AlterTableDropColumnsResponse(version=dataset.version)

    @operation
    def alter_table_backfill_columns(
        self, request: AlterTableBackfillColumnsRequest
    ) -> AlterTableBackfillColumnsResponse:
        """Set a computed column to its expression, in all rows or in those where a predicate holds.

        It is done, in one commit, when this returns; the id of the job has no other use.
        """
        request = read_texts(AlterTableBackfillColumnsRequest, request)
        with self._writing(request.id, branch=request.branch) as dataset:
            if request.read_version not in (None, dataset.version):
                self._refuse_version(request, dataset.version)
            field = find_column(dataset, request.column)
            if COMPUTED not in field.metadata:
                raise errors.InvalidInputError(f"column {field.path} is not a computed one")
            expression = whole(field.metadata[COMPUTED])
            dataset.update({field.path: expression}, where=condition(request.where))
            return AlterTableBackfillColumnsResponse(job_id=uuid.uuid4().hex)

    def _refuse_version(self, request: AlterTableBackfillColumnsRequest, latest: int) -> None:
        with self._reading(request.id, version=request.read_version, branch=request.branch):
            pass  # it exists, or this tells how it does not
        raise errors.InvalidInputError(f"only the latest version, {latest}, can be computed from")


def _alteration(field: Field, entry: AlterColumnsEntry) -> dict[str, Any]:
    """An alteration as pylance takes it."""
    if entry.virtual_column is not None:
        raise errors.UnsupportedOperationError(
            f"column {field.path} would need a function, and functions do not run here"
        )
    wanted: dict[str, Any] = {}
    if entry.rename is not None:
        wanted["name"] = check_name(entry.rename)
    if entry.nullable is not None:
        wanted["nullable"] = entry.nullable
    if entry.data_type is not None:
        wanted["data_type"] = from_json(entry.data_type)
    if not wanted:
        raise errors.InvalidInputError(f"there is nothing to alter in column {field.path}")
    return {"path": field.path, **wanted}


def _check_renames(dataset: LanceDataset, renamed: dict[int, str]) -> None:
    """Refuse names that are taken. Inside of structs Lance does not notice."""
    names = Counter(
        (*field.names[:-1], renamed.get(field.number, field.names[-1]))
        for field in all_fields(dataset)
    )
    for name, count in names.items():
        if count > 1:
            raise errors.TableSchemaValidationError(f"there is a column {'.'.join(name)} already")
