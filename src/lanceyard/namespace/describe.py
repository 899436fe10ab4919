"""DescribeTable: what is told of a table, and when it has to be opened for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import DescribeTableRequest, DescribeTableResponse

from lanceyard import errors
from lanceyard.catalog.base import Catalog, TableEntry
from lanceyard.catalog.properties import lance_properties
from lanceyard.identifier import Identifier
from lanceyard.namespace import datasets

if TYPE_CHECKING:
    from lance import LanceDataset


def describe(
    catalog: Catalog, identifier: Identifier, entry: TableEntry, request: DescribeTableRequest
) -> DescribeTableResponse:
    """Answer a DescribeTable request for a table that was looked up.

    Location and properties are always told; the table is opened only for details, or to check a
    version, tag or branch.
    """
    if request.tag is not None and (request.version is not None or request.branch is not None):
        raise errors.InvalidInputError("tag cannot be combined with version or branch")
    details = request.load_detailed_metadata
    asked = not (request.version is None and request.tag is None and request.branch is None)
    if not (details or asked or request.check_declared or entry.properties is None):
        return _plain(catalog, entry, request)
    declared = catalog.is_declared(entry)
    if declared and asked:
        raise errors.TableVersionNotFoundError(
            f"table {identifier} was declared and has no version yet"
        )
    dataset = None
    if details or asked or entry.properties is None:
        dataset = None if declared else _open(catalog, identifier, entry, request)
    response = _plain(catalog, entry, request)
    response.properties = _properties(entry, dataset)
    if details or request.check_declared:
        response.is_only_declared = declared
    if details:
        response.table, response.namespace = identifier.name, list(identifier.parent)
    if dataset is not None and (details or asked):
        _add_details(response, dataset)
    return response


def _plain(
    catalog: Catalog, entry: TableEntry, request: DescribeTableRequest
) -> DescribeTableResponse:
    properties = None if entry.properties is None else dict(entry.properties)
    response = DescribeTableResponse(location=entry.location, properties=properties)
    if entry.managed:
        response.managed_versioning = True
    if request.with_table_uri:
        response.table_uri = entry.location
    if catalog.storage_options:
        response.storage_options = dict(catalog.storage_options)
    return response


def _properties(entry: TableEntry, dataset: LanceDataset | None) -> dict[str, str]:
    if entry.properties is not None:
        return dict(entry.properties)
    return {} if dataset is None else lance_properties(dataset)


def _open(
    catalog: Catalog, identifier: Identifier, entry: TableEntry, request: DescribeTableRequest
) -> LanceDataset | None:
    try:
        dataset = datasets.open_table(catalog, identifier, entry)
    except errors.InvalidTableStateError:
        asked = request.version is not None or request.tag or request.branch
        if request.load_detailed_metadata or asked:
            raise
        return None  # only its properties were wanted, and what is no Lance table has none
    if entry.version is not None and request.version is not None and request.branch is None:
        catalog.find_version(identifier, request.version)
    return datasets.open_at(
        dataset, identifier, version=request.version, tag=request.tag, branch=request.branch
    )


def _add_details(response: DescribeTableResponse, dataset: LanceDataset) -> None:
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema
    from lance_namespace_urllib3_client.models.table_basic_stats import TableBasicStats

    from lanceyard.namespace import schema

    stats = dataset.stats.dataset_stats()
    response.version = dataset.version
    response.var_schema = JsonArrowSchema.from_dict(schema.to_json(datasets.schema(dataset)))
    response.metadata = dict(dataset.metadata)
    response.stats = TableBasicStats(
        num_deleted_rows=stats["num_deleted_rows"], num_fragments=stats["num_fragments"]
    )
