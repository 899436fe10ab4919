"""The operations of the specification, over any catalog: written once, for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from lance_namespace import (
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    CreateTableRequest,
    CreateTableResponse,
    DeclareTableRequest,
    DeclareTableResponse,
    DeregisterTableRequest,
    DeregisterTableResponse,
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    DropNamespaceRequest,
    DropNamespaceResponse,
    DropTableRequest,
    DropTableResponse,
    LanceNamespace,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceExistsRequest,
    NamespaceExistsResponse,
    RegisterTableRequest,
    RegisterTableResponse,
    RenameTableRequest,
    RenameTableResponse,
    TableExistsRequest,
    TableExistsResponse,
)

from lanceyard import errors
from lanceyard.catalog.base import Catalog, Page, TableEntry, is_protected
from lanceyard.identifier import Identifier
from lanceyard.namespace import paging, tables
from lanceyard.namespace.describe import describe
from lanceyard.namespace.requests import (
    AlterRequest,
    AlterResponse,
    CreateMode,
    DropBehavior,
    DropMode,
    ListOperationsResponse,
    RegisterMode,
    read_choice,
    read_page,
    read_request,
    read_table_id,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")
_OPERATIONS: set[str] = set()


def operation(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a method an operation: it is listed, and what storage fails with gets a code."""
    name = "".join(map(str.title, method.__name__.split("_")))
    _OPERATIONS.add(name)

    @wraps(method)
    def carried_out(*args: _P.args, **named: _P.kwargs) -> _R:
        try:
            return method(*args, **named)
        except OSError as cause:
            raise errors.storage_failure(f"carrying out {name}", cause) from cause

    return carried_out


class Namespace(LanceNamespace):
    """A catalog as the specification's `LanceNamespace`.

    Requests are its models or plain dicts. Errors are those of `lance_namespace.errors`, with the
    codes of document 003.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Speak for a catalog."""
        self._catalog = catalog

    def namespace_id(self) -> str:
        """A text that is equal for namespaces of the same catalog."""
        return repr(self)

    def close(self) -> None:
        """Finish background work. Using the namespace again is allowed."""
        self._catalog.close()

    # Namespaces

    @operation
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Create a namespace. Mode overwrite drops one of that name with all below it."""
        request = read_request(CreateNamespaceRequest, request)
        mode = read_choice(CreateMode, request.mode, CreateMode.CREATE)
        if request.id is None:
            raise errors.InvalidInputError("creating a namespace needs an identifier")
        identifier = Identifier.parse(request.id)
        properties = request.properties or {}
        if identifier.is_root:
            if mode is CreateMode.OVERWRITE:
                raise errors.InvalidInputError("the root namespace cannot be overwritten")
            if mode is CreateMode.CREATE:
                raise errors.namespace_exists(identifier)
            return CreateNamespaceResponse(properties=dict(self._properties(identifier)))
        try:
            replace = mode is CreateMode.OVERWRITE
            self._catalog.create_namespace(identifier, properties, replace=replace)
        except errors.NamespaceAlreadyExistsError:
            if mode is not CreateMode.EXIST_OK:
                raise
            return CreateNamespaceResponse(properties=dict(self._kept_properties(identifier)))
        return CreateNamespaceResponse(properties=dict(properties))

    @operation
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """List the names of the namespaces directly below one."""
        request = read_request(ListNamespacesRequest, request)
        parent = Identifier.parse(request.id)
        page = read_page(request.page_token, request.limit)
        names, token = paging.cut(lambda p: self._catalog.list_namespaces(parent, p), page)
        return ListNamespacesResponse(namespaces=names, page_token=token)

    @operation
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """Return the properties of a namespace."""
        request = read_request(DescribeNamespaceRequest, request)
        return DescribeNamespaceResponse(
            properties=dict(self._properties(Identifier.parse(request.id)))
        )

    @operation
    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Raise `NamespaceNotFoundError` unless a namespace exists."""
        request = read_request(NamespaceExistsRequest, request)
        self._properties(Identifier.parse(request.id))
        return NamespaceExistsResponse()

    @operation
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Drop a namespace; behavior cascade drops all below it too."""
        request = read_request(DropNamespaceRequest, request)
        mode = read_choice(DropMode, request.mode, DropMode.FAIL)
        behavior = read_choice(DropBehavior, request.behavior, DropBehavior.RESTRICT)
        identifier = Identifier.parse(request.id)
        if identifier.is_root:
            raise errors.InvalidInputError("the root namespace cannot be dropped")
        try:
            cascade = behavior is DropBehavior.CASCADE
            properties = self._catalog.drop_namespace(identifier, cascade=cascade)
        except errors.NamespaceNotFoundError:
            if mode is DropMode.FAIL:
                raise
            return DropNamespaceResponse()
        return DropNamespaceResponse(properties=dict(properties))

    @operation
    def alter_namespace(self, request: AlterRequest) -> AlterResponse:
        """Put and unset properties of a namespace: an extension of the specification."""
        request = read_request(AlterRequest, request)
        identifier = Identifier.parse(request.id)
        properties = self._catalog.alter_namespace(identifier, request.put, request.unset)
        return AlterResponse(properties=dict(properties))

    # Tables

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
        properties = request.properties or {}
        entry = self._catalog.declare_table(identifier, request.location, properties)
        return DeclareTableResponse(
            location=entry.location,
            storage_options=self._options(),
            properties=dict(entry.properties or {}),
        )

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
        properties = request.properties or {}
        options = {**self._catalog.storage_options, **(request.storage_options or {})}
        stream = tables.read_stream(identifier, request_data)
        content = tables.StreamWriter(identifier, stream, properties, options)
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
            identifier, request.location, request.properties or {}, replace=replace
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
        return DeregisterTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=dict(kept if entry.properties is None else entry.properties),
        )

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
        properties = self._catalog.alter_table(identifier, request.put, request.unset)
        if properties is None:
            entry = self._catalog.describe_table(identifier)
            properties = tables.alter_metadata(
                identifier, entry, self._catalog.storage_options, request.put, request.unset
            )
        return AlterResponse(properties=dict(properties))

    @operation
    def list_operations(self, request: Mapping[str, Any] | None = None) -> ListOperationsResponse:
        """List the operations that are carried out: an extension of the specification."""
        return ListOperationsResponse(operations=sorted(_OPERATIONS - self._catalog.unsupported))

    # What the operations share

    def _properties(self, identifier: Identifier) -> Mapping[str, str]:
        return self._catalog.describe_namespace(identifier)

    def _kept_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """The properties of a namespace that was found to exist, unless a table has its name."""
        try:
            return self._properties(identifier)
        except errors.NamespaceNotFoundError as cause:
            raise errors.namespace_exists(identifier, as_table=True) from cause

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
        dataset = tables.open_table(identifier, entry, self._catalog.storage_options)
        return CreateTableResponse(
            location=entry.location,
            version=dataset.version,
            storage_options=self._options(),
            properties=dict(dataset.metadata if entry.properties is None else entry.properties),
        )

    def _lance_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """The properties of a table whose catalog keeps none; {} where it does, or has no table."""
        try:
            entry = self._catalog.describe_table(identifier)
            if entry.properties is not None or self._catalog.is_declared(entry):
                return {}
            return tables.open_table(identifier, entry, self._catalog.storage_options).metadata
        except (errors.TableNotFoundError, errors.InvalidTableStateError):
            return {}
