"""The manifest as a Lance table: read by fragment, committed by compare-and-swap."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata, write_fragments

from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest import schema as rows_schema
from lanceyard.catalog.directory.manifest.homes import FileKey, Residents
from lanceyard.catalog.snapshot import TABLE_VERSION, Edit, Row
from lanceyard.errors import (
    InternalError,
    InvalidInputError,
    UnsupportedOperationError,
    lacks_permission,
)
from lanceyard.storage.base import Store

READER_FLAGS = "lance.namespace.manifest.reader_feature_flags"
WRITER_FLAGS = "lance.namespace.manifest.writer_feature_flags"
KNOWN_READER_FLAGS = 0
MANAGED_VERSIONS = 1
"""The writer feature of version rows, which other writers would refuse or leave behind."""
KNOWN_WRITER_FLAGS = MANAGED_VERSIONS
MANAGEMENT = "table_version_management"

STAGED_PATH = r'"manifest_path": "[^"]*\.manifest-'

OURS = "lanceyard"
CHANGES = "lanceyard.changes"

TAIL_ROWS = 1_024
TAIL_FRAGMENTS = 12
MIDDLE_FRAGMENTS = 4
LARGE_ROWS = 8_192
LARGE_FRAGMENTS = 12
TRIES = 50


class Management(Enum):
    """Whether the versions of tables are rows."""

    OFF = "false"
    """Files decide."""
    ADOPTING = "adopting"
    """Files decide, and new handles already commit through the catalog: rows are about to."""
    ON = "true"
    """Rows decide."""

    @classmethod
    def of(cls, text: str | None) -> Management:
        """Read the metadata of a manifest; what is not understood is off."""
        return next((m for m in cls if m.value == (text or "").lower()), cls.OFF)


class ConflictError(Exception):
    """Somebody else committed first: look again and try again."""


class Fragment(NamedTuple):
    """A fragment of the manifest, known by its files: other writers reuse fragment ids."""

    key: FileKey
    metadata: FragmentMetadata

    @property
    def rows(self) -> int:
        """How many rows are not deleted."""
        return int(self.metadata.num_rows)


class Commit(NamedTuple):
    """A commit that landed."""

    table: ManifestTable
    placed: Mapping[FileKey, Residents]
    """The rows in each new fragment."""


class ManifestTable:
    """One version of the manifest table."""

    def __init__(
        self, store: Store, dataset: LanceDataset, base: ManifestTable | None = None
    ) -> None:
        """Wrap an open dataset; `base` is the version before, if only we committed since."""
        self._store = store
        self.dataset = dataset
        self.version: int = dataset.version
        known: dict[int, Fragment] = (
            {} if base is None else {int(f.metadata.id): f for f in base.fragments}
        )
        self.fragments: list[Fragment] = [
            known.get(f.fragment_id) or _fragment(f.metadata) for f in dataset.get_fragments()
        ]
        keys = {f.key for f in self.fragments}
        # The small fragments that we wrote, so that rewriting them needs no reading.
        self.contents: dict[FileKey, pa.Table] = (
            {} if base is None else {k: v for k, v in base.contents.items() if k in keys}
        )
        _check_flags(dataset, READER_FLAGS, KNOWN_READER_FLAGS, "read")
        self.management = Management.of(dataset.metadata.get(MANAGEMENT))

    @classmethod
    def open(cls, store: Store, version: int, session: Any = None) -> ManifestTable:
        """Open a version. No directory is listed."""
        dataset = lance.dataset(
            store.location(MANIFEST),
            version=version,
            session=session,
            storage_options=dict(store.quick_options) or None,
        )
        return cls(store, dataset)

    @classmethod
    def create(cls, store: Store) -> None:
        """Create an empty manifest as version 1, or raise `ConflictError` if there is one.

        `write_dataset` would let several creators win and the last wipe the rows of the others.
        """
        empty = LanceOperation.Overwrite(rows_schema.SCHEMA, [])
        try:
            LanceDataset.commit(
                store.location(MANIFEST),
                Transaction(0, empty, transaction_properties={OURS: "1"}),
                max_retries=0,
                storage_options=dict(store.quick_options) or None,
            )
        except OSError as cause:
            if lacks_permission(cause):
                raise
            raise ConflictError(str(cause)) from cause

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the root namespace: the metadata of the table."""
        return {k: v for k, v in self.dataset.metadata.items() if not _is_own(k)}

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(fragment.rows for fragment in self.fragments)

    def alter_properties(self, put: Mapping[str, str], unset: Collection[str]) -> None:
        """Put and unset properties of the root namespace, in a commit of its own."""
        updates: dict[str, str | None] = {**put, **dict.fromkeys(unset)}
        own = [key for key in updates if _is_own(key)]
        if own:
            raise InvalidInputError(
                f"property {own[0]!r} says how the catalog is kept, and is not for anybody to alter"
            )
        self._handle().update_metadata(updates)

    def manage(self, management: Management) -> None:
        """Say whether versions are rows, in a commit of its own; the table is not this one then."""
        flags = int(self.dataset.metadata.get(WRITER_FLAGS) or 0) | MANAGED_VERSIONS
        self._handle().update_metadata({MANAGEMENT: management.value, WRITER_FLAGS: str(flags)})

    def tags(self) -> dict[str, int]:
        """The versions that have names."""
        for _ in range(TRIES):
            # A tag that is deleted while it is listed fails the whole list.
            with contextlib.suppress(ValueError, OSError):
                found = self._handle().tags.list()
                return {name: int(tag["version"]) for name, tag in found.items()}
        raise InternalError(f"the tags of {MANIFEST} cannot be listed")

    def tag(self, name: str, version: int | None) -> None:
        """Give a version a name, or, with None, take the name away."""
        tags = self._handle().tags
        if version is None:
            tags.delete(name)
        else:
            tags.create(name, version)

    def _handle(self) -> LanceDataset:
        """A handle of our own: one that changes something cannot be used by others meanwhile."""
        return lance.dataset(
            self._store.location(MANIFEST),
            version=self.version,
            session=self.dataset.session(),
            storage_options=dict(self._store.quick_options) or None,
        )

    def rows(self, keys: Iterable[FileKey]) -> Iterator[tuple[FileKey, list[Row]]]:
        """The rows of some fragments, fragment by fragment."""
        wanted = set(keys)
        chosen = [f for f in self.fragments if f.key in wanted]
        rows = iter(rows_schema.from_arrow(self._scan(chosen, rows_schema.ROW_COLUMNS)))
        for fragment in chosen:
            yield fragment.key, [next(rows) for _ in range(fragment.rows)]

    def find(self, object_ids: Iterable[str]) -> list[Row]:
        """Some rows, through the index on `object_id`."""
        listed = ", ".join("'" + object_id.replace("'", "''") + "'" for object_id in object_ids)
        found = self.dataset.to_table(
            columns=rows_schema.ROW_COLUMNS, filter=f"object_id IN ({listed})"
        )
        return rows_schema.from_arrow(found)

    def staged(self) -> list[Row]:
        """The rows of versions that say their manifests are staged."""
        condition = f"object_type = '{TABLE_VERSION}' AND regexp_like(metadata, '{STAGED_PATH}')"
        found = self.dataset.to_table(columns=rows_schema.ROW_COLUMNS, filter=condition)
        return rows_schema.from_arrow(found)

    def is_ours(self, version: int) -> bool:
        """Whether a version was committed by a catalog of this kind."""
        return OURS in self._transaction_properties(version)

    def changes(self, version: int) -> set[str]:
        """The ids of the changes that a version carried out."""
        return set(self._transaction_properties(version).get(CHANGES, "").split(",")) - {""}

    def moves_no_rows(self, version: int) -> bool:
        """Whether a version only indexed or configured, so that a commit may land after it."""
        return self._operation(version) in ("CreateIndex", "UpdateConfig", "BaseOperation")

    def begins_anew(self, version: int) -> bool:
        """Whether another kind of writer replaced everything in a version."""
        return self._operation(version) == "Overwrite" and not self.is_ours(version)

    def check_writable(self) -> None:
        """Refuse to write where a writer feature that we do not know is in use."""
        _check_flags(self.dataset, WRITER_FLAGS, KNOWN_WRITER_FLAGS, "write")

    def commit(
        self,
        edit: Edit,
        touched: set[FileKey],
        changes: Iterable[str],
        require_ready: Callable[[], None],
    ) -> Commit:
        """Land an edit if nobody moved a row since this version.

        `touched` are the fragments in which the removed rows lie, `changes` ids that the
        transaction carries, to find out later whether it landed. What has to be in storage by then
        may be on its way while rows are written: `require_ready` waits for it. Rows are inserted by
        a `Merge`, which conflicts with every commit that moves rows; the rest is an `Update`.

        Raises
        ------
        ConflictError
            Somebody else committed first; nothing of ours is left behind.
        """
        fragments = self._with_newest(touched)
        return self._swap(fragments, self._rewritten(fragments, edit), changes, require_ready)

    def to_fold(self) -> set[FileKey]:
        """Small fragments that the next commit should rewrite as one, if there are many."""
        tail = {f.key for f in self.fragments if f.rows < TAIL_ROWS}
        if len(tail) < TAIL_FRAGMENTS:
            return set()
        middle = {f.key for f in self.fragments if TAIL_ROWS <= f.rows < LARGE_ROWS // 2}
        return tail | (middle if len(middle) >= MIDDLE_FRAGMENTS else set())

    def fence(self) -> ManifestTable:
        """Commit a `Merge` that changes nothing: no commit from before it can land after it."""
        kept = [f.metadata for f in self.fragments]
        return self._land(LanceOperation.Merge(kept, self.dataset.lance_schema), [], [])

    def _with_newest(self, chosen: set[FileKey]) -> list[Fragment]:
        """Fragments to rewrite, in order, and with them the newest.

        Two commits that rewrite conflict only when they share a fragment, so all share that one.
        """
        if chosen:
            chosen = chosen | {max(self.fragments, key=lambda f: int(f.metadata.id)).key}
        return [f for f in self.fragments if f.key in chosen]

    def _swap(
        self,
        touched: list[Fragment],
        table: pa.Table,
        changes: Iterable[str],
        require_ready: Callable[[], None],
    ) -> Commit:
        """Put new fragments with the rows of `table` in the place of old ones."""
        written = self._write(table) if table.num_rows else []
        try:
            require_ready()
        except ConflictError:
            self._discard(written)
            raise
        operation: LanceOperation.BaseOperation
        if touched:
            gone = [f.metadata.id for f in touched]
            operation = LanceOperation.Update(removed_fragment_ids=gone, new_fragments=written)
        else:
            kept = [f.metadata for f in self.fragments]
            operation = LanceOperation.Merge([*kept, *written], self.dataset.lance_schema)
        landed = self._land(operation, written, changes)
        placed = {}
        start = 0
        for metadata in written:
            content = table.slice(start, metadata.physical_rows)
            start += content.num_rows
            key = _fragment(metadata).key
            placed[key] = rows_schema.residents(content)
            if content.num_rows < TAIL_ROWS:
                landed.contents[key] = content
        return Commit(landed, placed)

    def _rewritten(self, touched: list[Fragment], edit: Edit) -> pa.Table:
        parts = []
        if touched:
            old = self._content(touched)
            parts.append(rows_schema.remaining(old, edit))
            if edit.origin:
                parts.append(rows_schema.carried_on(old, edit.added, edit.origin))
        added = [row for row in edit.added.values() if row.object_id not in edit.origin]
        if added:
            parts.append(rows_schema.to_arrow(added, self.dataset.schema, datetime.now(UTC)))
        return pa.concat_tables(parts)

    def _content(self, fragments: list[Fragment]) -> pa.Table:
        """All columns of some fragments, in any order; those that we wrote are at hand."""
        kept = [self.contents[f.key] for f in fragments if f.key in self.contents]
        others = [f for f in fragments if f.key not in self.contents]
        return pa.concat_tables([*kept, self._scan(others, None)] if others else kept)

    def _scan(self, fragments: list[Fragment], columns: list[str] | None) -> pa.Table:
        wanted = {f.metadata.id for f in fragments}
        opened = [f for f in self.dataset.get_fragments() if f.fragment_id in wanted]
        if not opened:
            schema = self.dataset.schema
            fields = [schema.field(name) for name in columns or schema.names]
            return pa.schema(fields).empty_table()
        scanner = self.dataset.scanner(columns=columns, fragments=opened, scan_in_order=True)
        return scanner.to_table()

    def _write(self, table: pa.Table) -> list[FragmentMetadata]:
        per_file = max(LARGE_ROWS, self.count // LARGE_FRAGMENTS)
        written = list(
            write_fragments(table, self.dataset, mode="append", max_rows_per_file=per_file)
        )
        for metadata in written:
            for path in _fragment(metadata).key:
                self._store.sync(f"{MANIFEST}/data/{path}")
        if written:
            self._store.sync(f"{MANIFEST}/data")
        return written

    def _land(
        self,
        operation: LanceOperation.BaseOperation,
        written: list[FragmentMetadata],
        changes: Iterable[str],
    ) -> ManifestTable:
        mark = str(uuid.uuid4())
        properties = {OURS: "1", CHANGES: ",".join(changes)}
        transaction = Transaction(self.version, operation, mark, properties)
        try:
            dataset = LanceDataset.commit(self.dataset, transaction, max_retries=0)
        except CommitConflictError as cause:
            # Of another's commit: Lance knows one of its own again whose reply was lost.
            self._discard(written)
            raise ConflictError(str(cause)) from cause
        # The manifest carries the transaction inline; its file has no reader once it landed.
        if self._store.local_path(MANIFEST) is not None:
            self._store.delete(f"{MANIFEST}/_transactions/{self.version}-{mark}.txn")
        alone = dataset.version == self.version + 1
        return ManifestTable(self._store, dataset, self if alone else None)

    def _discard(self, written: list[FragmentMetadata]) -> None:
        for metadata in written:
            for path in _fragment(metadata).key:
                self._store.delete(f"{MANIFEST}/data/{path}")

    def _operation(self, version: int) -> str | None:
        transaction = self._transaction(version)
        return None if transaction is None else type(transaction.operation).__name__

    def _transaction_properties(self, version: int) -> Mapping[str, str]:
        transaction = self._transaction(version)
        return {} if transaction is None else transaction.transaction_properties or {}

    def _transaction(self, version: int) -> Transaction | None:
        """What a version did; None for what pylance cannot tell, which is never a commit of ours.

        It fails on a compaction that rewrote indexes, as pylance before 6 leaves after most writes.
        """
        try:
            found = self.dataset.read_transaction(version)
        except TypeError:
            return None
        if found is None:
            raise OSError(f"version {version} of {MANIFEST} has no transaction")
        return found


def _fragment(metadata: FragmentMetadata) -> Fragment:
    deletion = metadata.deletion_file
    files = tuple(file.path for file in metadata.files)
    return Fragment(files if deletion is None else (*files, str(deletion)), metadata)


def _is_own(key: str) -> bool:
    """Whether a property of the table is not one of the root namespace."""
    return key.startswith("lance") or key == MANAGEMENT


def _check_flags(dataset: LanceDataset, key: str, known: int, verb: str) -> None:
    flags = int(dataset.metadata.get(key) or dataset.config().get(key) or 0)
    if flags & ~known:
        raise UnsupportedOperationError(
            f"this catalog uses a feature that this version of lanceyard does not know "
            f"({key}={flags}), and cannot be asked to {verb}: upgrade lanceyard"
        )
