"""The operations on versions of tables, over any catalog.

Where the catalog keeps versions, they are its rows; elsewhere, and on branches, they are the files
in ``_versions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CommitTableOperation,
    CommitTableResult,
    CreateTableVersionEntry,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
)
from lance_namespace import TableVersion as VersionResponse
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceyard import errors
from lanceyard.catalog.base import Landed, TableEntry, VersionPage
from lanceyard.catalog.ranges import NONE, Ranges
from lanceyard.catalog.version_files import number_of
from lanceyard.catalog.versions import (
    CreateVersion,
    Declare,
    DeleteVersions,
    Deregister,
    Step,
    TableVersion,
)
from lanceyard.identifier import Identifier
from lanceyard.namespace import tables
from lanceyard.namespace.operations import Operations, operation
from lanceyard.namespace.requests import read_page, read_request, read_table_id
from lanceyard.namespace.version_files import MAIN, BranchFiles, branch_folder, is_kept
from lanceyard.storage.roots import object_path

NO_END = 2**63
LATEST = VersionPage(limit=1)
NUMBER = re.compile("[0-9]{1,20}")
STAGED_NAME = re.compile(r"[0-9]{1,20}\.manifest-[A-Za-z0-9._-]{1,200}")
"""A name that every store takes; it ends in what its writer made up, mostly a UUID."""


class VersionOperations(Operations):
    """List, create, describe and delete versions, of one table or of many at once."""

    @operation
    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """List the versions of a table, the latest first unless `descending` is false."""
        request = read_request(ListTableVersionsRequest, request)
        identifier = read_table_id(request.id)
        page = _read_page(request)
        entry = self._catalog.describe_table(identifier)
        if is_kept(entry, request.branch):
            versions = self._catalog.list_versions(identifier, page)
        else:
            versions = self._files(identifier, entry, request.branch).page(page)
        found = [_response(entry, version, request.branch) for version in versions.found]
        token = str(found[-1].version) if found and versions.more else None
        return ListTableVersionsResponse(versions=found, page_token=token)

    @operation
    def describe_table_version(
        self, request: DescribeTableVersionRequest
    ) -> DescribeTableVersionResponse:
        """Tell where the manifest of a version lies; the latest one if none is asked for."""
        request = read_request(DescribeTableVersionRequest, request)
        identifier = read_table_id(request.id)
        number = None if request.version is None else _read_number(request.version)
        entry = self._catalog.describe_table(identifier)
        version = self._find(identifier, entry, number, request.branch)
        return DescribeTableVersionResponse(version=_response(entry, version, request.branch))

    @operation
    def create_table_version(
        self, request: CreateTableVersionRequest
    ) -> CreateTableVersionResponse:
        """Make a staged manifest a version, unless there is one of that number."""
        request = read_request(CreateTableVersionRequest, request)
        identifier = read_table_id(request.id)
        return CreateTableVersionResponse(version=self._create(identifier, request))

    @operation
    def batch_create_table_versions(
        self, request: BatchCreateTableVersionsRequest
    ) -> BatchCreateTableVersionsResponse:
        """Create versions of several tables: all or none where the catalog keeps versions."""
        request = read_request(BatchCreateTableVersionsRequest, request)
        wanted = [(read_table_id(entry.id), entry) for entry in request.entries]
        entries = [self._catalog.describe_table(identifier) for identifier, _ in wanted]
        kept = [is_kept(e, asked.branch) for e, (_, asked) in zip(entries, wanted, strict=True)]
        if not (kept and all(kept)):
            created = [self._create(identifier, asked) for identifier, asked in wanted]
            return BatchCreateTableVersionsResponse(versions=created)
        landed = self._catalog.commit([_create_step(i, asked) for i, asked in wanted])
        versions = [_landed_version(e, each) for e, each in zip(entries, landed, strict=True)]
        return BatchCreateTableVersionsResponse(versions=versions)

    @operation
    def batch_delete_table_versions(
        self, request: BatchDeleteTableVersionsRequest
    ) -> BatchDeleteTableVersionsResponse:
        """Forget versions of a table by ranges; data files stay."""
        request = read_request(BatchDeleteTableVersionsRequest, request)
        identifier = read_table_id(request.id)
        step = _delete_step(identifier, request)
        entry = self._catalog.describe_table(identifier)
        if is_kept(entry, request.branch):
            deleted = self._catalog.commit([step])[0].deleted
        else:
            files = self._files(identifier, entry, request.branch)
            deleted = files.delete(step.numbers, must_exist=step.must_exist)
        return BatchDeleteTableVersionsResponse(deleted_count=deleted)

    @operation
    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        """Declare tables, create and delete versions, deregister tables: all of it, or nothing."""
        request = read_request(BatchCommitTablesRequest, request)
        if not request.operations:
            return BatchCommitTablesResponse(results=[])
        steps = [_read_step(each) for each in request.operations]
        if "BatchCommitTables" in self._catalog.unsupported:
            raise errors.UnsupportedOperationError(
                "this catalog changes one table at a time, and cannot commit a batch"
            )
        declared = {step.identifier for step in steps if isinstance(step, Declare)}
        # Now, since a table whose version is created may be gone as soon as that has landed.
        entries = {
            step.identifier: self._catalog.describe_table(step.identifier)
            for step in steps
            if isinstance(step, CreateVersion) and step.identifier not in declared
        }
        landed = self._catalog.commit(steps)
        entries.update(
            (s.identifier, each.entry) for s, each in zip(steps, landed, strict=True) if each.entry
        )
        results = [
            self._result(step, each, entries) for step, each in zip(steps, landed, strict=True)
        ]
        return BatchCommitTablesResponse(results=results)

    def _find(
        self, identifier: Identifier, entry: TableEntry, number: int | None, branch: str | None
    ) -> TableVersion:
        kept = is_kept(entry, branch)
        if number is None:
            if kept:
                latest = next(iter(self._catalog.list_versions(identifier, LATEST).found), None)
            else:
                latest = self._files(identifier, entry, branch).latest()
            if latest is None:
                raise errors.TableVersionNotFoundError(f"table {identifier} has no version yet")
            return latest
        if kept:
            return self._catalog.find_version(identifier, number)
        return self._files(identifier, entry, branch).find(number)

    def _create(
        self, identifier: Identifier, asked: CreateTableVersionRequest | CreateTableVersionEntry
    ) -> VersionResponse:
        step = _create_step(identifier, asked)
        entry = self._catalog.describe_table(identifier)
        if is_kept(entry, asked.branch):
            return _landed_version(entry, self._catalog.commit([step])[0])
        created = self._files(identifier, entry, asked.branch).create(step.version)
        return _response(entry, created, asked.branch)

    def _files(self, identifier: Identifier, entry: TableEntry, branch: str | None) -> BranchFiles:
        return BranchFiles(identifier, entry, self._catalog.storage_options, branch)

    def _result(
        self, step: Step, landed: Landed, entries: Mapping[Identifier, TableEntry]
    ) -> CommitTableResult:
        if isinstance(step, CreateVersion):
            version = _landed_version(entries[step.identifier], landed)
            created = CreateTableVersionResponse(version=version)
            return CommitTableResult(create_table_version=created)
        if isinstance(step, DeleteVersions):
            deleted = BatchDeleteTableVersionsResponse(deleted_count=landed.deleted)
            return CommitTableResult(delete_table_versions=deleted)
        assert landed.entry is not None
        if isinstance(step, Declare):
            declared = tables.declared(landed.entry, self._catalog.storage_options)
            return CommitTableResult(declare_table=declared)
        gone = tables.deregistered(step.identifier, landed.entry)
        return CommitTableResult(deregister_table=gone)


def _read_page(request: ListTableVersionsRequest) -> VersionPage:
    page = read_page(request.page_token, request.limit)
    if page.after is not None and not NUMBER.fullmatch(page.after):
        raise errors.InvalidInputError(f"page token {page.after!r} is not a version")
    after = None if page.after is None else int(page.after)
    return VersionPage(after, page.limit, request.descending is not False)


def _read_number(number: int) -> int:
    if number < 1:
        raise errors.InvalidInputError(f"a version is a number from 1, not {number}")
    return number


def _read_ranges(ranges: Iterable[VersionRange]) -> Ranges:
    found = NONE
    for each in ranges:
        start, end = each.start_version, each.end_version
        if start < 0 or end < -1 or (end != -1 and end < start):
            raise errors.InvalidInputError(
                f"[{start}, {end}) is no range of versions: give a start from 0, and an end that "
                "is not before it, or -1 for all"
            )
        found = found.with_range(max(start, 1), NO_END if end == -1 else max(end, 1))
    return found


def _create_step(
    identifier: Identifier, asked: CreateTableVersionRequest | CreateTableVersionEntry
) -> CreateVersion:
    branch_folder(asked.branch)
    version = TableVersion(
        _read_number(asked.version),
        _read_staged(asked.manifest_path, asked.version),
        asked.manifest_size,
        asked.e_tag,
        metadata=asked.metadata or {},
    )
    scheme = asked.naming_scheme
    if scheme is not None and scheme.upper() not in ("V1", "V2"):
        raise errors.InvalidInputError(f"naming scheme {scheme!r} is neither V1 nor V2")
    return CreateVersion(identifier, version)


def _read_staged(path: str, number: int) -> str:
    name = path.rpartition("/")[2]
    if not STAGED_NAME.fullmatch(name) or number_of(name) != number:
        raise errors.InvalidInputError(
            f"{name!r} is not the name of a staged manifest of version {number}"
        )
    return name


def _delete_step(
    identifier: Identifier, request: BatchDeleteTableVersionsRequest
) -> DeleteVersions:
    said = (request.context or {}).get("ignore_missing", "true")
    # All versions, or all from one on, are as many as there are: none of them is missing.
    is_open = any(each.end_version == -1 for each in request.ranges)
    must_exist = said.lower() == "false" and not is_open
    return DeleteVersions(identifier, _read_ranges(request.ranges), must_exist)


def _read_step(asked: CommitTableOperation) -> Step:
    given = [
        each
        for each in (
            asked.declare_table,
            asked.create_table_version,
            asked.delete_table_versions,
            asked.deregister_table,
        )
        if each is not None
    ]
    if len(given) != 1:
        raise errors.InvalidInputError("each operation of a batch names exactly one thing to do")
    identifier = read_table_id(given[0].id)
    if asked.declare_table is not None:
        declare = asked.declare_table
        return Declare(identifier, declare.location, tables.refuse_reserved(declare.properties))
    if asked.deregister_table is not None:
        return Deregister(identifier)
    versions = asked.create_table_version or asked.delete_table_versions
    assert versions is not None
    if versions.branch not in (None, MAIN):
        raise errors.UnsupportedOperationError(
            f"versions of branch {versions.branch!r} are files, which no batch can commit"
        )
    if asked.create_table_version is not None:
        return _create_step(identifier, asked.create_table_version)
    assert asked.delete_table_versions is not None
    return _delete_step(identifier, asked.delete_table_versions)


def _landed_version(entry: TableEntry, landed: Landed) -> VersionResponse:
    assert landed.version is not None
    return _response(entry, landed.version, None)


def _response(entry: TableEntry, version: TableVersion, branch: str | None) -> VersionResponse:
    folder = "/".join(filter(None, [entry.location, branch_folder(branch), "_versions"]))
    return VersionResponse(
        version=version.number,
        manifest_path=object_path(f"{folder}/{version.manifest}"),
        manifest_size=version.size,
        e_tag=version.e_tag,
        timestamp_millis=version.timestamp_millis,
        metadata=dict(version.metadata) or None,
    )
