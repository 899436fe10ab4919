"""The operations on namespaces, over any catalog."""

from __future__ import annotations

from collections.abc import Mapping

from lance_namespace import (
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    DropNamespaceRequest,
    DropNamespaceResponse,
    ListNamespacesRequest,
    ListNamespacesResponse,
    NamespaceExistsRequest,
    NamespaceExistsResponse,
)

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.namespace import paging
from lanceyard.namespace.operations import Operations, operation
from lanceyard.namespace.requests import (
    AlterRequest,
    AlterResponse,
    CreateMode,
    DropBehavior,
    DropMode,
    read_choice,
    read_page,
    read_request,
)


class NamespaceOperations(Operations):
    """Create, list, describe, alter and drop namespaces."""

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

    def _properties(self, identifier: Identifier) -> Mapping[str, str]:
        return self._catalog.describe_namespace(identifier)

    def _kept_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """The properties of a namespace that was found to exist, unless a table has its name."""
        try:
            return self._properties(identifier)
        except errors.NamespaceNotFoundError as cause:
            raise errors.namespace_exists(identifier, as_table=True) from cause
