"""View queries: the SQL of a view over open tables, run by DataFusion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lanceyard import errors

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset

ROW_WISE = {"Projection", "Filter", "SubqueryAlias", "TableScan"}
"""The steps of a plan that make each row of the answer from one row of a table."""
VOLATILE = ("random(", "uuid(", "now(", "current_date(", "current_time(")
"""Functions whose answer depends on when they are asked."""


class ViewQuery:
    """A query over tables, planned once and run as a stream."""

    def __init__(self, sql: str, tables: Mapping[str, LanceDataset]) -> None:
        """Plan a query. Raises `InvalidInputError` and `TableColumnNotFoundError`."""
        from lance import FFILanceTableProvider

        self.sql = sql
        self._tables = tables
        self._context = new_context()  # which Lance's tables need for as long as they are read
        for name, dataset in tables.items():
            self._context.register_table(_quoted(name), FFILanceTableProvider(dataset))
        self._frame = plan(self._context, sql)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return self._frame.schema()

    @property
    def is_row_wise(self) -> bool:
        """Whether each row of the answer comes from one row of the only table.

        Then the answer for new rows can be added to the answer for the others.
        """
        plan = self._frame.logical_plan()
        text = plan.display_indent().lower()
        steps = [type(step.to_variant()).__name__ for step in _steps(plan)]
        alone = steps.count("TableScan") == 1 and len(self._tables) == 1
        depends_on_more = any(call in text for call in (*VOLATILE, "subquery:"))
        return alone and not depends_on_more and ROW_WISE.issuperset(steps)

    def run(self, schema: pa.Schema) -> pa.RecordBatchReader:
        """The answer, in a schema of the same column names."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(schema, self._answer(self._frame, schema))

    def run_on(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatchReader:
        """The answer for some rows of the only table, if the query is row-wise."""
        import pyarrow as pa

        (name,) = self._tables

        def answers() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                context = new_context()
                context.register_record_batches(_quoted(name), [[batch]])
                yield from self._answer(plan(context, self.sql), schema)

        return pa.RecordBatchReader.from_batches(schema, answers())

    def _answer(self, frame: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in pa.RecordBatchReader.from_stream(frame):
            yield batch.select(schema.names).cast(schema)


def _steps(plan: Any) -> Iterator[Any]:
    yield plan
    for step in plan.inputs():
        yield from _steps(step)


def plan(context: Any, sql: str) -> Any:
    """Plan what only reads. Raises `InvalidInputError` and `TableColumnNotFoundError`."""
    from datafusion import SQLOptions

    queries_only = (
        SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    )
    with told_of_query():
        return context.sql_with_options(sql, queries_only)


@contextmanager
def told_of_query() -> Iterator[None]:
    """DataFusion raises `ValueError` or a bare `Exception`; both speak of the query."""
    try:
        yield
    except errors.LanceNamespaceError:
        raise
    except Exception as cause:
        missing = "No field named" in str(cause)
        kind = errors.TableColumnNotFoundError if missing else errors.InvalidInputError
        raise kind(f"the query cannot be carried out: {cause}") from cause


def new_context(config: Any = None) -> Any:
    """A session of DataFusion that knows no tables yet. Raises `UnsupportedOperationError`."""
    try:
        from datafusion import SessionContext
    except ImportError as cause:
        raise errors.UnsupportedOperationError(
            "queries in SQL need DataFusion: pip install 'lanceyard[views]'"
        ) from cause
    return SessionContext(config)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
