"""The operations on the indexes of a table: create, list, describe, drop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    CreateTableIndexRequest,
    CreateTableIndexResponse,
    CreateTableScalarIndexResponse,
    DescribeTableIndexStatsRequest,
    DescribeTableIndexStatsResponse,
    DropTableIndexRequest,
    DropTableIndexResponse,
    ListTableIndicesRequest,
    ListTableIndicesResponse,
)
from lance_namespace_urllib3_client.models.index_content import IndexContent

from lanceyard import errors
from lanceyard.namespace import paging
from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.content.fields import all_fields, canonical_path, find_column, find_field
from lanceyard.namespace.content.index_kinds import (
    KINDS,
    IndexKind,
    find_kind,
    read_kind,
    sub_vectors,
)
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import CreateIndexRequest, read_page, read_texts

if TYPE_CHECKING:
    from lance import LanceDataset

SCALAR = [kind for kind in KINDS if kind.is_scalar]
BUILT = "SUCCEEDED"
"""The status of an index: Lance commits none before it is built."""
EXTENSION = "ARROW:extension:name"

SYSTEM = "__lance"
"""How the names of indexes begin that Lance keeps for itself."""


class IndexOperations(ContentOperations):
    """Create, list, describe and drop the indexes of tables.

    An index is built before its operation returns, in one commit. Those that Lance keeps for
    itself are not seen.
    """

    @operation
    def create_table_index(self, request: CreateTableIndexRequest) -> CreateTableIndexResponse:
        """Create an index of any kind.

        Raises `TableIndexAlreadyExistsError` for a name that is taken, unless the extension
        `replace` is given.
        """
        request = read_texts(CreateIndexRequest, request)
        self._create_index(request, read_kind(request.index_type, KINDS, "CreateTableIndex"))
        return CreateTableIndexResponse()

    @operation
    def create_table_scalar_index(
        self, request: CreateTableIndexRequest
    ) -> CreateTableScalarIndexResponse:
        """Create an index that is not on vectors, as `create_table_index` does."""
        request = read_texts(CreateIndexRequest, request)
        self._create_index(request, read_kind(request.index_type, SCALAR, "CreateTableScalarIndex"))
        return CreateTableScalarIndexResponse()

    @operation
    def list_table_indices(self, request: ListTableIndicesRequest) -> ListTableIndicesResponse:
        """List the indexes of a table, by name."""
        request = read_texts(ListTableIndicesRequest, request)
        page = read_page(request.page_token, request.limit)
        place = self._reading(request.id, version=request.version, branch=request.branch)
        with place as dataset:
            found = indexes_of(dataset)
            names, token = paging.cut(paging.among(found), page)
            rows = dataset.count_rows() if names else 0
            listed = [_content(found[name], rows) for name in names]
            return ListTableIndicesResponse(indexes=listed, page_token=token)

    @operation
    def describe_table_index_stats(
        self, request: DescribeTableIndexStatsRequest
    ) -> DescribeTableIndexStatsResponse:
        """Tell how much of a table an index covers. Raises `TableIndexNotFoundError`."""
        request = read_texts(DescribeTableIndexStatsRequest, request)
        place = self._reading(request.id, version=request.version, branch=request.branch)
        with place as dataset:
            index = _find(dataset, request.index_name)
            metric = index.details.get("metric_type")
            return DescribeTableIndexStatsResponse(
                index_type=_type(index),
                distance_type=metric.lower() if metric else None,
                num_indexed_rows=index.num_rows_indexed,
                num_unindexed_rows=dataset.count_rows() - index.num_rows_indexed,
                num_indices=len(index.segments),
            )

    @operation
    def drop_table_index(self, request: DropTableIndexRequest) -> DropTableIndexResponse:
        """Drop an index. Raises `TableIndexNotFoundError`."""
        request = read_texts(DropTableIndexRequest, request)
        with self._writing(request.id, branch=request.branch) as dataset:
            dataset.drop_index(_find(dataset, request.index_name).name)
            return DropTableIndexResponse()

    def _create_index(self, request: CreateIndexRequest, kind: IndexKind) -> None:
        if request.name == "" or (request.name or "").startswith(SYSTEM):
            raise errors.InvalidInputError(f"an index cannot have the name {request.name!r}")
        with self._writing(request.id, branch=request.branch) as dataset:
            _build(dataset, kind, request)


def _build(dataset: LanceDataset, kind: IndexKind, request: CreateIndexRequest) -> None:
    options = kind.options(request)
    options.update(name=request.name, replace=bool(request.replace))
    if kind.is_scalar:
        column = _scalar_column(dataset, kind, request.column)
        create: Any = dataset.create_scalar_index
        create(column, kind.name, **options)
        return
    field = find_column(dataset, request.column)
    if "num_sub_vectors" in kind.parameters:
        options.setdefault("num_sub_vectors", sub_vectors(field.kind, options.get("num_bits")))
    dataset.create_index(field.path, kind.name, **options)


def _scalar_column(dataset: LanceDataset, kind: IndexKind, path: str) -> str:
    if kind.name == "FTS":
        return _text_path(dataset, path)
    field = find_column(dataset, path)
    if kind.name == "RTREE" and not field.metadata.get(EXTENSION, "").startswith("geoarrow."):
        # Lance would take any bytes for shapes, and can take the process down over them.
        raise errors.InvalidInputError(f"column {path!r} does not say that it holds GeoArrow data")
    return field.path


def _text_path(dataset: LanceDataset, path: str) -> str:
    """A path that may lead through lists, whose items Lance leaves out here and nowhere else."""
    import pyarrow as pa

    if dataset.lance_schema.field(path) is None:
        return path  # or else it was not a canonical one
    names = find_field(dataset, path).names
    structs = {field.names for field in all_fields(dataset) if pa.types.is_struct(field.kind)}
    return canonical_path(n for i, n in enumerate(names) if i == 0 or names[:i] in structs)


def indexes_of(dataset: LanceDataset) -> dict[str, Any]:
    """All indexes by name, without those that Lance keeps for itself."""
    found = dataset.describe_indices()
    return {index.name: index for index in found if not index.name.startswith(SYSTEM)}


def _find(dataset: LanceDataset, name: str | None) -> Any:
    if not name:
        raise errors.InvalidInputError("index_name must be given")
    found = indexes_of(dataset)
    if name not in found:
        raise errors.TableIndexNotFoundError(f"there is no index {name!r}")
    return found[name]


def _type(index: Any) -> str:
    kind = find_kind(index.index_type)
    return kind.name if kind else index.index_type


def _content(index: Any, rows: int) -> IndexContent:
    oldest, *_ = index.segments
    return IndexContent(
        index_name=index.name,
        index_uuid=oldest.uuid,
        columns=index.field_names,
        status=BUILT,
        index_type=_type(index),
        type_url=index.type_url,
        num_indexed_rows=index.num_rows_indexed,
        num_unindexed_rows=rows - index.num_rows_indexed,
        size_bytes=index.total_size_bytes,
        num_segments=len(index.segments),
        created_at=oldest.created_at,
        index_version=oldest.index_version,
        index_details=json.dumps(index.details, sort_keys=True),
    )
