"""The operations on what refers to versions of a table: tags, branches, and going back to one."""

from __future__ import annotations

import re
from typing import Any

from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableBranchResponse,
    CreateTableTagRequest,
    CreateTableTagResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    DeleteTableTagRequest,
    DeleteTableTagResponse,
    GetTableTagVersionRequest,
    GetTableTagVersionResponse,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    ListTableTagsRequest,
    ListTableTagsResponse,
    RestoreTableRequest,
    RestoreTableResponse,
    UpdateTableTagRequest,
    UpdateTableTagResponse,
)
from lance_namespace_urllib3_client.models.branch_contents import BranchContents
from lance_namespace_urllib3_client.models.tag_contents import TagContents

from lanceyard import errors
from lanceyard.identifier import LONGEST_NAME
from lanceyard.namespace import datasets, paging
from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import read_page, read_table_id, read_texts
from lanceyard.namespace.version_files import MAIN, branch_folder, is_kept

TAG = re.compile(r"[A-Za-z0-9._-]+")


class ReferenceOperations(ContentOperations):
    """Name versions of tables with tags, let branches begin at them, and restore them."""

    @operation
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """List the tags of a table by name, with the versions they name."""
        request = read_texts(ListTableTagsRequest, request)
        page = read_page(request.page_token, request.limit)
        with self._reading(request.id) as dataset:
            found = datasets.list_tags(dataset)
        names, token = paging.cut(paging.among(found), page)
        tags = {name: _tag(found[name]) for name in names}
        return ListTableTagsResponse(tags=tags, page_token=token)

    @operation
    def get_table_tag_version(
        self, request: GetTableTagVersionRequest
    ) -> GetTableTagVersionResponse:
        """Return the version that a tag names, and its branch unless that is the main one."""
        request = read_texts(GetTableTagVersionRequest, request)
        with self._reading(request.id) as dataset:
            tag = datasets.list_tags(dataset).get(request.tag)
        if tag is None:
            raise errors.tag_not_found(read_table_id(request.id), request.tag)
        return GetTableTagVersionResponse(version=tag["version"], branch=tag["branch"])

    @operation
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Let a new tag name a version."""
        request = read_texts(CreateTableTagRequest, request)
        self._catalog.check_writable()
        _check_tag(request.tag)
        with self._reading(request.id, version=request.version, branch=request.branch) as dataset:
            dataset.tags.create(request.tag, (_source(request.branch), request.version))
        return CreateTableTagResponse()

    @operation
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Let a tag name another version."""
        request = read_texts(UpdateTableTagRequest, request)
        self._catalog.check_writable()
        _check_length(request.tag)
        with self._reading(request.id, version=request.version, branch=request.branch) as dataset:
            dataset.tags.update(request.tag, (_source(request.branch), request.version))
        return UpdateTableTagResponse()

    @operation
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Forget a tag; the version it names stays."""
        request = read_texts(DeleteTableTagRequest, request)
        self._catalog.check_writable()
        _check_length(request.tag)
        with self._reading(request.id) as dataset:
            dataset.tags.delete(request.tag)
        return DeleteTableTagResponse()

    @operation
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """List the branches of a table by name, with where each began; the main one is not told."""
        request = read_texts(ListTableBranchesRequest, request)
        page = read_page(request.page_token, request.limit)
        with self._reading(request.id) as dataset:
            found = datasets.list_branches(dataset)
        names, token = paging.cut(paging.among(found), page)
        branches = {name: _branch(found[name]) for name in names}
        return ListTableBranchesResponse(branches=branches, page_token=token)

    @operation
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Let a new branch begin at a version: the latest, unless another is given."""
        request = read_texts(CreateTableBranchRequest, request)
        self._catalog.check_writable()
        branch_folder(request.name)
        _check_length(request.name)
        source, version = request.from_branch, request.from_version
        with self._reading(request.id, version=version, branch=source) as dataset:
            if request.name in datasets.list_branches(dataset):
                raise errors.branch_exists(read_table_id(request.id), request.name)
            dataset.create_branch(request.name, (_source(source), dataset.version))
        return CreateTableBranchResponse()

    @operation
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Delete a branch and its versions. One that a tag names a version of stays (19)."""
        request = read_texts(DeleteTableBranchRequest, request)
        self._catalog.check_writable()
        if request.name == MAIN:
            raise errors.InvalidInputError("the main branch cannot be deleted: drop the table")
        with self._reading(request.id) as dataset:
            dataset.branches.delete(request.name)
        return DeleteTableBranchResponse()

    @operation
    def restore_table(self, request: RestoreTableRequest) -> RestoreTableResponse:
        """Make an earlier version the latest one again, as a new version."""
        request = read_texts(RestoreTableRequest, request)
        with self._writing(request.id, branch=request.branch) as dataset:
            self._require_version(request)
            dataset.checkout_version((_source(request.branch), request.version)).restore()  # type: ignore[no-untyped-call]
        return RestoreTableResponse()

    def _require_version(self, request: RestoreTableRequest) -> None:
        """Ask the catalog for a version, where it keeps them; elsewhere Lance finds the file."""
        identifier = read_table_id(request.id)
        if is_kept(self._catalog.describe_table(identifier), request.branch):
            self._catalog.find_version(identifier, request.version)


def _check_tag(name: str) -> None:
    """Refuse names that Lance takes and cannot find again. Raises `InvalidInputError`."""
    _check_length(name)
    if not TAG.fullmatch(name):
        raise errors.InvalidInputError(
            f"a tag has letters from a to z, digits, dots, dashes and underscores, not {name!r}"
        )


def _check_length(name: str) -> None:
    if len(name.encode(errors="replace")) > LONGEST_NAME:
        raise errors.InvalidInputError(f"a name has at most {LONGEST_NAME} bytes")


def _source(branch: str | None) -> str | None:
    """A branch as Lance refers to it, where the main one has no name."""
    return None if branch == MAIN else branch


def _tag(tag: Any) -> TagContents:
    return TagContents(
        branch=tag["branch"], version=tag["version"], manifestSize=tag["manifest_size"]
    )


def _branch(branch: Any) -> BranchContents:
    return BranchContents(
        parentBranch=branch["parent_branch"],
        parentVersion=branch["parent_version"],
        createAt=branch["create_at"],
        manifestSize=branch["manifest_size"],
        metadata=branch.get("metadata") or None,
    )
