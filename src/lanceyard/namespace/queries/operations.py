"""The operations that query a table: by vector, text and filter, and how that would be done."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from lance_namespace import (
    AnalyzeTableQueryPlanRequest,
    ExplainTableQueryPlanRequest,
    QueryTableRequest,
    QueryTableResponse,
)
from pydantic import BaseModel

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.operations import operation
from lanceyard.namespace.queries.dialects import complete_query
from lanceyard.namespace.queries.searches import Search
from lanceyard.namespace.requests import read_texts

if TYPE_CHECKING:
    import pyarrow as pa

_M = TypeVar("_M", bound=BaseModel)
_V = TypeVar("_V")


class QueryOperations(ContentOperations):
    """Query tables, and explain and analyze the plans of queries.

    Plain dicts may be as loose as the clients of LanceDB send them: see `dialects`.
    """

    @operation
    def query_table(self, request: QueryTableRequest) -> QueryTableResponse:
        """Query a table; the answer is an Arrow IPC file.

        Rows come with `_distance` or `_score`, those of a batch of vectors with `query_index`. A
        query by vector and text has the rows that reciprocal rank fusion finds most relevant, with
        `_distance` and `_score`, as far as each search found them, and `_relevance_score`.
        """
        query = _read_query(QueryTableRequest, request)
        with self._reading(query.id, version=query.version, branch=query.branch) as dataset:
            return QueryTableResponse(data=_as_file(Search(dataset, query).answer()))

    @operation
    def explain_table_query_plan(self, request: ExplainTableQueryPlanRequest) -> str:
        """Tell how Lance would carry out a query; a hybrid one is two searches."""
        explanation = _read_explanation(request)
        query = explanation.query
        names = _agreed("id", explanation.id, query.id)
        branch = _agreed("branch", explanation.branch, query.branch)
        with self._reading(names, version=query.version, branch=branch) as dataset:
            verbose = bool(explanation.verbose)
            return Search(dataset, query).plan(lambda scan: scan.explain_plan(verbose=verbose))

    @operation
    def analyze_table_query_plan(self, request: AnalyzeTableQueryPlanRequest) -> str:
        """Carry out a query and tell how long the steps of its plan took."""
        query = _read_query(AnalyzeTableQueryPlanRequest, request)
        with self._reading(query.id, version=query.version, branch=query.branch) as dataset:
            return Search(dataset, query).plan(lambda scan: scan.analyze_plan())


def _as_file(rows: pa.RecordBatchReader) -> bytes:
    """Rows as an Arrow IPC file, of which no second copy is made."""
    import pyarrow as pa

    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(unify_dictionaries=True)
    with pa.ipc.new_file(file, rows.schema, options=options) as writer:
        if any(map(_has_dictionary, rows.schema.types)):
            writer.write_table(rows.read_all())  # a file has one dictionary for all batches
        else:
            for batch in rows:
                writer.write_batch(batch)
    return file.getvalue()


def _has_dictionary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return True
    return any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


def _agreed(name: str, outer: _V | None, inner: _V | None) -> _V | None:
    """What a request says, and its query again or not at all."""
    if outer is not None and inner is not None and outer != inner:
        raise InvalidInputError(f"{name} is {outer!r}, but that of the query is {inner!r}")
    return inner if outer is None else outer


def _read_explanation(request: Any) -> ExplainTableQueryPlanRequest:
    given = _as_dict(ExplainTableQueryPlanRequest, request)
    if isinstance(given, Mapping):
        given = {**given, "query": complete_query(given.get("query"))}
    return read_texts(ExplainTableQueryPlanRequest, given)


def _read_query(model: type[_M], request: Any) -> _M:
    return read_texts(model, complete_query(_as_dict(model, request)))


def _as_dict(model: type[BaseModel], request: Any) -> Any:
    """A request of another release as a dict; one of this release stays as it is."""
    if isinstance(request, BaseModel) and not isinstance(request, model):
        return request.model_dump(by_alias=True)
    return request
