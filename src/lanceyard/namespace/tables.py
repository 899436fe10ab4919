"""The operations on tables as objects of a catalog, over any catalog."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from lance_namespace import (
    CreateTableRequest,
    CreateTableResponse,
    DeclareTableRequest,
    DeclareTableResponse,
    DeregisterTableRequest,
    DeregisterTableResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    DropTableRequest,
    DropTableResponse,
    ListTablesRequest,
    ListTablesResponse,
    RegisterTableRequest,
    RegisterTableResponse,
    RenameTableRequest,
    RenameTableResponse,
    TableExistsRequest,
    TableExistsResponse,
)

from lanceyard import errors
from lanceyard.catalog.base import Page, TableEntry, is_protected
from lanceyard.catalog.properties import lance_properties
from lanceyard.catalog.views import VIEW
from lanceyard.identifier import Identifier
from lanceyard.namespace import datasets, paging
from lanceyard.namespace.describe import describe
from lanceyard.namespace.operations import Operations, operation
from lanceyard.namespace.requests import (
    AlterRequest,
    AlterResponse,
    CreateMode,
    RegisterMode,
    read_choice,
    read_page,
    read_request,
    read_table_id,
)


class TableOperations(Operations):
    """Declare, create, register, list, describe, alter, rename, deregister and drop tables."""

    @operation
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the names of the tables directly below a namespace."""
        request = read_request(ListTablesRequest, request)
        parent = Identifier.parse(request.id)
        page = read_page(request.page_token, request.limit)

        fetch = partial(self._catalog.list_tables, parent)
        if request.include_declared is False:
            created = paging.keep(fetch, lambda name: self._has_data(parent.child(name)))
            names, token = paging.cut(created, page)
        else:
            names, token = paging.cut(fetch, page)
        return ListTablesResponse(tables=names, page_token=token)

    @operation
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the identifiers of all tables of the catalog, names joined by ``$``."""
        request = read_request(ListTablesRequest, request)
        page = read_page(request.page_token, request.limit)

        def fetch(part: Page) -> list[str]:
            return [identifier.object_id for identifier in self._catalog.list_all_tables(part)]

        if request.include_declared is False:
            created = paging.keep(fetch, lambda i: self._has_data(Identifier.from_object_id(i)))
            names, token = paging.cut(created, page)
        else:
            names, token = paging.cut(fetch, page)
        return ListTablesResponse(tables=names, page_token=token)

    @operation
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Reserve a table's name and location, without data."""
        request = read_request(DeclareTableRequest, request)
        identifier = read_table_id(request.id)
        properties = refuse_reserved(request.properties)
        entry = self._catalog.declare_table(identifier, request.location, properties)
        return declared(entry, self._catalog.storage_options)

    @operation
    def create_table(self, request: CreateTableRequest, request_data: Any) -> CreateTableResponse:
        """Create a table from an Arrow IPC stream: bytes, a file, or an iterable of bytes.

        The stream is written as it is read. One without batches makes an empty table.
        """
        request = read_request(CreateTableRequest, request)
        mode = read_choice(CreateMode, request.mode, CreateMode.CREATE)
        identifier = read_table_id(request.id)
        if mode is CreateMode.EXIST_OK:
            existing = self._existing(identifier)
            if existing is not None:
                return self._kept(identifier, existing)
        properties = refuse_reserved(request.properties)
        options = {**self._catalog.storage_options, **(request.storage_options or {})}
        stream = datasets.read_stream(identifier, request_data)
        content = datasets.StreamWriter(identifier, stream, properties, options)
        replace = mode is CreateMode.OVERWRITE
        if replace and is_protected(self._lance_properties(identifier)):
            raise errors.protected(identifier)
        try:
            entry = self._catalog.create_table(identifier, properties, content, replace=replace)
        except errors.TableAlreadyExistsError:
            existing = self._existing(identifier) if mode is CreateMode.EXIST_OK else None
            if existing is None:
                raise
            return self._kept(identifier, existing)
        return CreateTableResponse(
            location=entry.location,
            version=content.version,
            storage_options=self._options(),
            properties=dict(properties if entry.properties is None else entry.properties),
        )

    @operation
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Give what lies at a location inside the root a name."""
        request = read_request(RegisterTableRequest, request)
        mode = read_choice(RegisterMode, request.mode, RegisterMode.CREATE)
        identifier = read_table_id(request.id)
        replace = mode is RegisterMode.OVERWRITE
        entry = self._catalog.register_table(
            identifier, request.location, refuse_reserved(request.properties), replace=replace
        )
        kept = entry.properties
        if kept is None:
            kept = self._lance_properties(identifier)
        return RegisterTableResponse(location=entry.location, properties=dict(kept))

    @operation
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Return a table's location and properties; schema, version and statistics if asked for."""
        request = read_request(DescribeTableRequest, request)
        identifier = read_table_id(request.id)
        entry = self._catalog.describe_table(identifier)
        return describe(self._catalog, identifier, entry, request)

    @operation
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Raise `TableNotFoundError` unless a table, or its version, exists."""
        request = read_request(TableExistsRequest, request)
        identifier = read_table_id(request.id)
        entry = self._catalog.describe_table(identifier)
        if request.version is not None:
            asked = DescribeTableRequest(id=request.id, version=request.version)
            describe(self._catalog, identifier, entry, asked)
        return TableExistsResponse()

    @operation
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Take a table out of the catalog and keep its files."""
        request = read_request(DeregisterTableRequest, request)
        identifier = read_table_id(request.id)
        kept = self._lance_properties(identifier)
        entry = self._catalog.deregister_table(identifier)
        return deregistered(identifier, entry, kept)

    @operation
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take a table out of the catalog and delete its files."""
        request = read_request(DropTableRequest, request)
        identifier = read_table_id(request.id)
        kept = self._lance_properties(identifier)
        if is_protected(kept):
            raise errors.protected(identifier)
        entry = self._catalog.drop_table(identifier)
        return DropTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=dict(kept if entry.properties is None else entry.properties),
        )

    @operation
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Give a table another name, and another namespace if one is given."""
        request = read_request(RenameTableRequest, request)
        identifier = read_table_id(request.id)
        parent = identifier.parent
        if request.new_namespace_id is not None:
            parent = Identifier.parse(request.new_namespace_id)
        self._catalog.rename_table(identifier, parent.child(request.new_table_name))
        return RenameTableResponse()

    @operation
    def alter_table(self, request: AlterRequest) -> AlterResponse:
        """Put and unset properties of a table: an extension of the specification."""
        request = read_request(AlterRequest, request)
        identifier = read_table_id(request.id)
        refuse_reserved(request.put)
        properties = self._catalog.alter_table(identifier, request.put, request.unset)
        if properties is None:
            entry = self._catalog.describe_table(identifier)
            properties = datasets.alter_metadata(
                self._catalog, identifier, entry, request.put, request.unset
            )
        return AlterResponse(properties=dict(properties))

    def _options(self) -> dict[str, str] | None:
        return dict(self._catalog.storage_options) or None

    def _existing(self, identifier: Identifier) -> TableEntry | None:
        """A table that has data, or None."""
        try:
            entry = self._catalog.describe_table(identifier)
        except errors.TableNotFoundError:
            return None
        return None if self._catalog.is_declared(entry) else entry

    def _has_data(self, identifier: Identifier) -> bool:
        """Whether a listed table has data; one that was dropped since has none."""
        try:
            return self._existing(identifier) is not None
        except errors.NamespaceNotFoundError:
            return False

    def _kept(self, identifier: Identifier, entry: TableEntry) -> CreateTableResponse:
        """The answer for a table that exists already and is kept."""
        dataset = datasets.open_table(self._catalog, identifier, entry)
        return CreateTableResponse(
            location=entry.location,
            version=dataset.version,
            storage_options=self._options(),
            properties=dict(
                lance_properties(dataset) if entry.properties is None else entry.properties
            ),
        )

    def _lance_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """The properties of a table whose catalog keeps none; {} where it does, or has no table."""
        try:
            entry = self._catalog.describe_table(identifier)
            if entry.properties is not None or self._catalog.is_declared(entry):
                return {}
            dataset = datasets.open_table(self._catalog, identifier, entry)
            return lance_properties(dataset)
        except (errors.TableNotFoundError, errors.InvalidTableStateError):
            return {}


def refuse_reserved(properties: Mapping[str, str] | None) -> dict[str, str]:
    """Properties of a table, without those that only operations of their own may put."""
    if properties and VIEW in properties:
        raise errors.InvalidInputError(
            f"the property {VIEW!r} is put by CreateMaterializedView alone"
        )
    return dict(properties or {})


def declared(entry: TableEntry, options: Mapping[str, str]) -> DeclareTableResponse:
    """The answer for a table that was declared."""
    return DeclareTableResponse(
        location=entry.location,
        storage_options=dict(options) or None,
        properties=dict(entry.properties or {}),
        managed_versioning=entry.managed or None,
    )


def deregistered(
    identifier: Identifier, entry: TableEntry, kept: Mapping[str, str] = MappingProxyType({})
) -> DeregisterTableResponse:
    """The answer for a table that was deregistered; `kept` is what its Lance metadata said."""
    return DeregisterTableResponse(
        id=list(identifier),
        location=entry.location,
        properties=dict(kept if entry.properties is None else entry.properties),
    )
