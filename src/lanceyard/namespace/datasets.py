"""Datasets: what the namespace does with a Lance table itself, through pylance."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.catalog.base import Catalog, TableEntry
from lanceyard.catalog.properties import PENDING, lance_properties
from lanceyard.identifier import Identifier
from lanceyard.settings import DirectorySettings
from lanceyard.storage import open_store

OVERWRITES = 20
LISTINGS = 20

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset


def open_table(catalog: Catalog, identifier: Identifier, entry: TableEntry) -> LanceDataset:
    """Open the latest version of a table.

    Raises
    ------
    InvalidTableStateError
        What lies at the location is no Lance table.
    """
    import lance

    if entry.version:
        catalog.find_version(identifier, entry.version)  # so that its manifest is where it belongs
    options = dict(catalog.storage_options) or None
    try:
        return lance.dataset(entry.location, version=entry.version or None, storage_options=options)
    except (ValueError, OSError) as cause:
        if errors.lacks_permission(cause):
            raise errors.PermissionDeniedError(
                f"cannot open table {identifier}: {cause}"
            ) from cause
        raise errors.InvalidTableStateError(
            f"table {identifier} at {entry.location} cannot be opened as a Lance table: {cause}"
        ) from cause


def open_version(dataset: LanceDataset, identifier: Identifier, version: int) -> LanceDataset:
    """Another version of an open table. Raises `TableVersionNotFoundError`."""
    try:
        return dataset.checkout_version(version)
    except (ValueError, OSError, OverflowError, RuntimeError) as cause:
        raise errors.TableVersionNotFoundError(
            f"table {identifier} has no version {version}"
        ) from cause


def list_tags(dataset: LanceDataset) -> dict[str, Any]:
    """The tags of an open table, by name."""
    return _listed(dataset.tags.list)


def list_branches(dataset: LanceDataset) -> dict[str, Any]:
    """The branches of an open table, by name."""
    return _listed(dataset.branches.list)


def _listed(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What Lance lists in two steps: names, then a file for each, which may be gone by then."""
    for _ in range(LISTINGS):
        try:
            return read()
        except (ValueError, OSError) as cause:
            if "_refs/" not in str(cause):
                raise
    return read()


def open_tag(dataset: LanceDataset, identifier: Identifier, tag: str) -> LanceDataset:
    """The version of an open table that a tag names. Raises `TableTagNotFoundError`."""
    if tag not in list_tags(dataset):
        raise errors.tag_not_found(identifier, tag)
    return dataset.checkout_version(tag)


def open_branch(
    dataset: LanceDataset, identifier: Identifier, branch: str, version: int | None
) -> LanceDataset:
    """The head, or a version, of a branch of an open table. Raises `TableBranchNotFoundError`."""
    if branch == "main":
        return dataset if version is None else open_version(dataset, identifier, version)
    if branch not in list_branches(dataset):
        raise errors.branch_not_found(identifier, branch)
    try:
        return dataset.checkout_version((branch, version))
    except (ValueError, OSError, RuntimeError) as cause:
        raise errors.TableVersionNotFoundError(
            f"branch {branch!r} of table {identifier} has no version {version}"
        ) from cause


def open_at(
    dataset: LanceDataset,
    identifier: Identifier,
    *,
    version: int | None,
    tag: str | None,
    branch: str | None,
) -> LanceDataset:
    """An open table at the version, tag or branch that is asked for; itself if none is."""
    if tag is not None:
        return open_tag(dataset, identifier, tag)
    if branch is not None:
        return open_branch(dataset, identifier, branch, version)
    if version is not None:
        return open_version(dataset, identifier, version)
    return dataset


def discard(location: str, fragments: Iterable[Any]) -> None:
    """Delete the data files of a commit that did not land.

    On an object store even a request that failed may still be carried out, so there they are left
    to repair.
    """
    if "://" in location:
        return
    for fragment in fragments:
        for file in fragment.files:
            path = os.path.join(location, "data", file.path)
            if os.path.exists(path):
                os.unlink(path)


def schema(dataset: LanceDataset) -> pa.Schema:
    """The schema of a table, without what `lance_properties` keeps there."""
    found = dataset.schema
    kept = {k: v for k, v in (found.metadata or {}).items() if k != PENDING}
    return found.with_metadata(kept or None)


def _set_properties(dataset: LanceDataset, wanted: Mapping[str, str]) -> LanceDataset:
    """Put all properties of a table in place, in one commit."""
    from lance import LanceDataset, LanceOperation

    clean = LanceOperation.UpdateMap({PENDING.decode(): None})
    place = LanceOperation.UpdateMap(dict(wanted), replace=True)
    operation = LanceOperation.UpdateConfig(
        table_metadata_updates=place, schema_metadata_updates=clean
    )
    return LanceDataset.commit(dataset, operation, read_version=dataset.version)


def alter_metadata(
    catalog: Catalog,
    identifier: Identifier,
    entry: TableEntry,
    put: Mapping[str, str],
    unset: Collection[str],
) -> Mapping[str, str]:
    """Put and unset properties in the metadata of a Lance table, where the catalog keeps none."""
    dataset = open_table(catalog, identifier, entry)
    if PENDING in (dataset.schema.metadata or {}):
        dataset = _set_properties(dataset, lance_properties(dataset))
    updates: dict[str, str | None] = {**put, **dict.fromkeys(unset)}
    dataset.update_metadata(updates)
    return dict(dataset.metadata)


class StreamWriter:
    """Writes an Arrow stream as the content of a table, once."""

    def __init__(
        self,
        identifier: Identifier,
        stream: pa.RecordBatchReader,
        properties: Mapping[str, str],
        options: Mapping[str, str],
    ) -> None:
        """Take a stream that was not read yet; `properties` go into the Lance metadata."""
        self._identifier = identifier
        self._stream = stream
        self._properties = dict(properties)
        self._options = dict(options) or None
        self.version: int | None = None

    def __call__(self, location: str, *, replace: bool) -> list[str]:
        """Write a location, as a `TableWriter` of a catalog does."""
        from lance.fragment import write_fragments

        content: Any = None
        try:
            stream = self._with_properties(location, replace=replace)
            with written_errors(self._identifier):
                content = write_fragments(
                    stream,
                    location,
                    mode="overwrite" if replace else "create",
                    return_transaction=True,
                    storage_options=self._options,
                ).operation
            dataset = self._commit(location, content, replace=replace)
        except errors.ConcurrentModificationError:
            self._take_back(location, content.fragments if content else ())
            raise
        except OSError as cause:
            discard(location, content.fragments if content else ())
            if not replace and _has_versions(location, self._options):
                raise errors.table_exists(self._identifier, "another writer was faster") from cause
            raise
        if PENDING in (dataset.schema.metadata or {}):
            dataset = _set_properties(dataset, self._properties)
        self.version = dataset.version
        return [f"data/{file.path}" for fragment in content.fragments for file in fragment.files]

    def _take_back(self, location: str, fragments: Iterable[Any]) -> None:
        """Delete what was written for a commit that was never sent, also on an object store.

        Where the table is gone, these files alone would look like one.
        """
        files = [f"data/{file.path}" for fragment in fragments for file in fragment.files]
        store = open_store(DirectorySettings(root=location, storage=self._options or {}))
        with suppress(OSError):
            store.delete_all(files)

    def _with_properties(self, location: str, *, replace: bool) -> pa.RecordBatchReader:
        """The stream, with the properties in its schema if they are not in place already."""
        import pyarrow as pa

        before: Mapping[str, str] = {}
        if replace:
            before = self._open(location).metadata
        if before == self._properties:
            return self._stream
        pending = {PENDING: json.dumps(self._properties).encode()}
        schema = self._stream.schema
        schema = schema.with_metadata({**(schema.metadata or {}), **pending})
        return pa.RecordBatchReader.from_batches(schema, self._stream)

    def _open(self, location: str) -> LanceDataset:
        """What is to be overwritten."""
        import lance

        try:
            return lance.dataset(location, storage_options=self._options)
        except ValueError as cause:
            if "not found" not in str(cause).lower():
                raise
            raise errors.ConcurrentModificationError(
                f"table {self._identifier} was dropped while it was overwritten"
            ) from cause

    def _commit(self, location: str, content: Any, *, replace: bool) -> LanceDataset:
        """Commit as the first version, or as the next one, whichever that is by then.

        `write_dataset(mode="create")` lets several creators win; this lets exactly one.
        """
        from lance import LanceDataset
        from lance.commit import CommitConflictError

        for _ in range(OVERWRITES):
            target: Any = location
            read_version = None
            if replace:
                target = self._open(location)
                read_version = target.version
            try:
                return LanceDataset.commit(
                    target,
                    content,
                    read_version=read_version,
                    max_retries=0,
                    storage_options=self._options,
                )
            except CommitConflictError:
                if not replace:
                    raise
        raise errors.ConcurrentModificationError(
            f"other writers kept committing to table {self._identifier}; try again"
        )


def read_stream(identifier: Identifier, body: Any) -> pa.RecordBatchReader:
    """Open the body of a request as an Arrow stream; batches are read as they come.

    Raises
    ------
    InvalidInputError
        The body is empty or no Arrow IPC stream.
    """
    import pyarrow as pa

    # Lance cannot read a decimal that is not aligned to 16 bytes; streams align to 8.
    options = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.At64Byte)
    try:
        stream = pa.ipc.open_stream(_file(body), options=options)
    except (pa.ArrowInvalid, OSError, TypeError) as cause:
        raise errors.InvalidInputError(
            f"the data for table {identifier} is not an Arrow IPC stream: {cause}"
        ) from cause
    metadata = stream.schema.metadata or {}
    if PENDING not in metadata:
        return stream
    # Rows do not say what properties a table has; of ours, nobody's data does.
    kept = {name: value for name, value in metadata.items() if name != PENDING}
    return pa.RecordBatchReader.from_batches(stream.schema.with_metadata(kept or None), stream)


@contextmanager
def written_errors(identifier: Identifier) -> Iterator[None]:
    """Tell data that cannot be written (13) from storage that cannot be written to."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, ValueError, NotImplementedError) as cause:
        raise errors.InvalidInputError(
            f"the data for table {identifier} cannot be written: {cause}"
        ) from cause
    except OSError as cause:
        # An error in the stream itself reaches us through Rust as a plain OSError.
        if "Arrow" in str(cause) or "Invalid" in str(cause) or "Schema" in str(cause):
            raise errors.InvalidInputError(
                f"the data for table {identifier} cannot be written: {cause}"
            ) from cause
        raise


def _file(body: Any) -> Any:
    import pyarrow as pa

    if hasattr(body, "read"):
        return body
    if isinstance(body, (bytes, bytearray, memoryview, pa.Buffer)):
        return pa.py_buffer(body)
    return io.BufferedReader(_Chunks(iter(body)))


class _Chunks(io.RawIOBase):
    """An iterable of bytes as a file that is read once, forwards."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = bytes(chunk)
        size = min(len(target), len(self._rest))
        target[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _has_versions(location: str, options: dict[str, str] | None) -> bool:
    import lance

    try:
        lance.dataset(location, storage_options=options)
    except (ValueError, OSError):
        return False
    return True
