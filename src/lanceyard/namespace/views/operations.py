"""The operations on materialized views: tables that hold the answer to a query over others."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    CreateMaterializedViewRequest,
    CreateMaterializedViewResponse,
    RefreshMaterializedViewRequest,
    RefreshMaterializedViewResponse,
)

from lanceyard import errors
from lanceyard.catalog.views import View
from lanceyard.identifier import DELIMITER, Identifier
from lanceyard.namespace import datasets
from lanceyard.namespace.content.failures import told
from lanceyard.namespace.content.handles import TableFiles
from lanceyard.namespace.content.rows import RowOperations
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import read_table_id, read_texts
from lanceyard.namespace.views.query import ViewQuery
from lanceyard.namespace.views.refresh import Base, Refresh

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset

QUERY = "query"


class ViewOperations(RowOperations):
    """Create and refresh views.

    A view is a table. What it is made of is kept in its properties: a query in SQL, and the tables
    behind the names that the query uses.
    """

    @operation
    def create_materialized_view(
        self, request: CreateMaterializedViewRequest
    ) -> CreateMaterializedViewResponse:
        """Create a view, empty unless `with_no_data` is false.

        `source_query` is JSON: ``{"sql": "SELECT … FROM docs", "tables": {"docs": ["ns", "t"]}}``.
        `output_schema` is an Arrow schema in IPC form, in base64; without one, the query decides.
        """
        request = read_texts(CreateMaterializedViewRequest, request)
        identifier = read_table_id(request.id)
        self._require_views()
        _refuse_what_is_no_query(request)
        view = _read_query(request.source_query)
        with told(identifier), self._bases(view, None) as bases:
            schema = _read_schema(request.output_schema, ViewQuery(view.sql, bases).schema)
        stream = schema.empty_table().to_reader()
        options = dict(self._catalog.storage_options)
        writer = datasets.StreamWriter(identifier, stream, view.properties, options)
        self._catalog.create_table(identifier, view.properties, writer, replace=False)
        job_id = None
        if request.with_no_data is False:
            job_id = self._first_refresh(identifier)
        return CreateMaterializedViewResponse(version=writer.version or 1, job_id=job_id)

    @operation
    def refresh_materialized_view(
        self, request: RefreshMaterializedViewRequest
    ) -> RefreshMaterializedViewResponse:
        """Bring a view up to date, and return when that is done.

        Where rows were only added to its base, and the query looks at each of them alone, their
        answer is appended; otherwise all rows are put in place anew.
        """
        request = read_texts(RefreshMaterializedViewRequest, request)
        identifier = read_table_id(request.id)
        if request.output_limit is not None:
            raise errors.InvalidInputError("output_limit is for chunkers, not for queries")
        self._refresh(identifier, request.src_version, request.max_rows_per_fragment)
        return RefreshMaterializedViewResponse(job_id=uuid.uuid4().hex)

    def _refresh(
        self, identifier: Identifier, src_version: int | None, rows_per_file: int | None
    ) -> None:
        self._require_views()
        self._catalog.check_writable()
        entry = self._catalog.describe_table(identifier)
        view = View.of(entry.properties or {})
        if view is None:
            raise errors.InvalidTableStateError(f"table {identifier} is not a view")
        if src_version is not None and len(view.tables) != 1:
            raise errors.InvalidInputError("src_version is for views of one table")
        options = self._catalog.storage_options
        with Refresh.hold(entry.location, options) as refresh, ExitStack() as held:
            dataset = held.enter_context(self._writing(list(identifier)))
            opened = held.enter_context(self._bases(view, src_version))
            bases = {
                name: Base(opened[name], self._table_files(base))
                for name, base in view.tables.items()
            }
            refresh.carry_out(dataset, ViewQuery(view.sql, opened), bases, rows_per_file)

    def _table_files(self, identifier: Identifier) -> TableFiles:
        return TableFiles(self._catalog, identifier, self._catalog.describe_table(identifier))

    def _require_views(self) -> None:
        if "CreateMaterializedView" in self._catalog.unsupported:
            raise errors.UnsupportedOperationError("views need a catalog with a manifest")

    def _first_refresh(self, identifier: Identifier) -> str:
        """Fill a new view; if that fails there is no view."""
        try:
            self._refresh(identifier, None, None)
        except Exception:
            self._catalog.drop_table(identifier)
            raise
        return uuid.uuid4().hex

    @contextmanager
    def _bases(self, view: View, version: int | None) -> Iterator[Mapping[str, LanceDataset]]:
        """The tables of a view, open."""
        with ExitStack() as held:
            yield {
                name: held.enter_context(self._reading(list(identifier), version=version))
                for name, identifier in view.tables.items()
            }


def _refuse_what_is_no_query(request: CreateMaterializedViewRequest) -> None:
    if request.kind.lower() != QUERY or request.udtf_spec is not None:
        raise errors.UnsupportedOperationError(
            f"views of kind {request.kind!r} run functions of users, which is not done here: "
            f"{QUERY!r} is"
        )
    if request.auto_refresh:
        raise errors.UnsupportedOperationError(
            "views are not refreshed by themselves: call RefreshMaterializedView"
        )


def _read_query(text: str) -> View:
    try:
        said = json.loads(text)
        sql, tables = said["sql"], said["tables"]
        found = {str(name): _read_base(base) for name, base in tables.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as cause:
        raise errors.InvalidInputError(
            'source_query is JSON such as {"sql": "SELECT a FROM t", "tables": {"t": ["ns", "t"]}}'
        ) from cause
    if not isinstance(sql, str) or not found:
        raise errors.InvalidInputError("source_query names a query and at least one table")
    return View(sql, found)


def _read_base(said: Any) -> Identifier:
    if isinstance(said, str):
        return read_table_id(said.split(DELIMITER))
    return read_table_id(said)


def _read_schema(text: str, found: pa.Schema) -> pa.Schema:
    """The schema that a view is to have, if the query gives its columns."""
    import pyarrow as pa

    if not text:
        return found
    try:
        wanted = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (binascii.Error, pa.ArrowInvalid, OSError, EOFError) as cause:
        raise errors.InvalidInputError(
            f"output_schema is no Arrow schema in base64: {cause}"
        ) from cause
    if found.names != wanted.names or any("\0" in name for name in found.names):
        raise errors.TableSchemaValidationError(
            f"the query gives the columns {found.names}, and output_schema has {wanted.names}"
        )
    return wanted
