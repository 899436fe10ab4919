"""Compatibility mode: the manifest first, then the directories of V1 (document 000)."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from lanceyard import errors
from lanceyard.catalog.base import Catalog, Page, TableEntry, TableWriter, is_protected
from lanceyard.catalog.changes import MoveTable, RemoveTable, refuse_overlap
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.hashed import HashedCatalog
from lanceyard.catalog.directory.listing import TOMBSTONE, ListingCatalog, State
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, Row, Snapshot
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

_T = TypeVar("_T")

VISIBLE = (State.DECLARED, State.PRESENT)


class CompatibleCatalog(Catalog):
    """Rows of the manifest, and below the root whatever ``<name>.lance`` directories there are.

    Only tables directly below the root differ from V2. They are visible by their directory alone,
    so a directory that is on its way in or out says so by a marker file, and the row that decides
    is committed between the steps on storage.
    """

    def __init__(self, store: Store, hashed: HashedCatalog, listing: ListingCatalog) -> None:
        """Lay a manifest over a listing of the same root."""
        self._store = store
        self._hashed = hashed
        self._listing = listing
        self.storage_options = hashed.storage_options

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        return self._hashed.describe_namespace(identifier)

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        return self._hashed.list_namespaces(parent, page)

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        if self._is_root_table(identifier) and self._unlisted_path(identifier) is not None:
            raise errors.namespace_exists(identifier, as_table=True)
        self._hashed.create_namespace(identifier, properties, replace=replace)

    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        return self._hashed.drop_namespace(identifier, cascade=cascade)

    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        return self._hashed.alter_namespace(identifier, put, unset)

    def describe_table(self, identifier: Identifier) -> TableEntry:
        try:
            return self._hashed.describe_table(identifier)
        except errors.TableNotFoundError:
            if self._unlisted_path(identifier) is None:
                raise
        return self._listing.describe_table(identifier)

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        if not parent.is_root:
            return self._hashed.list_tables(parent, page)
        rows = self._hashed.list_tables(parent, Page(page.after))
        return _first(heapq.merge(rows, self._unlisted(page.after)), page.limit)

    def list_all_tables(self, page: Page) -> list[Identifier]:
        rows = self._hashed.list_all_tables(Page(page.after))
        directories = (Identifier((name,)) for name in self._unlisted(page.after))
        merged = heapq.merge(rows, directories, key=lambda identifier: identifier.object_id)
        return _first(merged, page.limit)

    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        path = None if location is None else layout.table_path(self._store, location)
        own = self._own_path(identifier)
        if own is None or path not in (None, own):
            self._refuse_directory(identifier, path)
            return self._hashed.declare_table(identifier, location, properties)
        self._refuse(identifier)
        return self._hashed.declare_at(
            identifier, self._free_path(identifier, own), properties, chosen=False
        )

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        own = self._own_path(identifier)
        row = self._row(identifier)
        if own is None or (row is not None and row.location != own):
            return self._hashed.create_table(identifier, properties, writer, replace=replace)
        if row is not None and row.object_type == NAMESPACE:
            raise errors.table_exists(identifier, "a namespace of that name exists")
        state = self._listing.state(own)
        if state is State.PRESENT and not replace:
            raise errors.table_exists(identifier)
        if row is not None and is_protected(row.properties):
            raise errors.protected(identifier)
        if state not in VISIBLE and self._free_path(identifier, own) is None:
            return self._hashed.create_table(identifier, properties, writer, replace=replace)
        self._listing.fill(identifier, own, writer, replace=state is State.PRESENT)
        kept = row.properties if row is not None and state is State.DECLARED else {}
        return self._publish(identifier, own, {**kept, **properties}, replaced=state in VISIBLE)

    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        path = layout.table_path(self._store, location)
        own = self._own_path(identifier)
        if not replace:
            self._refuse(identifier)
            if own is not None and self._listing.state(own) in VISIBLE:
                raise errors.table_exists(identifier)
        if path != own:
            self._refuse_directory(identifier, path)
        entry = self._hashed.register_table(identifier, location, properties, replace=replace)
        if path == own:
            self._listing.show(path)
        return entry

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        row = self._row(identifier)
        own = self._own_path(identifier)
        if row is not None and row.object_type == TABLE and row.location == own and own is not None:
            self._hide_own(identifier, own)
            return self._hashed.entry(identifier, row)
        if row is None and self._unlisted_path(identifier) is not None:
            return self._listing.deregister_table(identifier)
        return self._hashed.deregister_table(identifier)

    def drop_table(self, identifier: Identifier) -> TableEntry:
        row = self._row(identifier)
        own = self._own_path(identifier)
        if row is not None and row.object_type == TABLE and row.location == own and own is not None:
            self._drop_own(identifier, row, own)
            return self._hashed.entry(identifier, row)
        if row is None and own is not None and not self._hashed.is_occupied(own):
            return self._listing.drop_table(identifier)
        return self._hashed.drop_table(identifier)

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        own = self._own_path(target)
        if own is not None and self._row(target) is None and self._listing.state(own) in VISIBLE:
            raise errors.table_exists(target)
        row = self._row(identifier)
        if row is None and self._unlisted_path(identifier) is not None:
            # A directory without a row is taken into the manifest first: from then on the row
            # decides, whatever happens to the directory.
            entry = self._listing.describe_table(identifier)
            path = self._store.relative(entry.location) or ""
            self._hashed.put(identifier, path, {})
            row = self._row(identifier)
        if row is None or row.location != self._own_path(identifier):
            return self._hashed.rename_table(identifier, target)
        return self._move(identifier, row, target)

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str] | None:
        if self._row(identifier) is None and self._unlisted_path(identifier) is not None:
            return self._listing.alter_table(identifier, put, unset)
        return self._hashed.alter_table(identifier, put, unset)

    def is_declared(self, entry: TableEntry) -> bool:
        return self._hashed.is_declared(entry)

    def close(self) -> None:
        self._hashed.close()

    def _publish(
        self, identifier: Identifier, path: str, properties: Mapping[str, str], *, replaced: bool
    ) -> TableEntry:
        """Commit the row of a root table whose directory was just written.

        A drop that ran meanwhile has marked or emptied the directory: then the row goes again.
        """
        try:
            entry = self._hashed.put(identifier, path, properties, replace=True)
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            if not replaced:
                self._listing.drop_path(identifier, path)
            raise
        if self._listing.state(path) is not State.PRESENT:
            self._hashed.manifest.commit(RemoveTable(identifier.object_id, path, keep=True))
            raise errors.ConcurrentModificationError(
                f"table {identifier} was dropped while it was created"
            )
        return entry

    def _drop_own(self, identifier: Identifier, row: Row, path: str) -> None:
        """Drop a root table that has a row and its own directory."""
        if is_protected(row.properties):
            raise errors.protected(identifier)
        remove = RemoveTable(identifier.object_id, path)
        if not self._store.exists(path):
            self._hashed.manifest.commit(remove)
            return
        self._listing.drop_path(identifier, path, lambda: self._hashed.manifest.commit(remove))

    def _hide_own(self, identifier: Identifier, path: str) -> None:
        """Deregister a root table that has a row and its own directory."""
        hidden = self._store.exists(path) and self._listing.hide(path)
        try:
            self._hashed.manifest.commit(RemoveTable(identifier.object_id, path, keep=True))
        except (errors.TableNotFoundError, errors.UnknownOutcomeError):
            raise  # another writer was faster, and the marker is its own too; or it may be needed
        except errors.LanceNamespaceError:
            if hidden:
                self._listing.show(path)
            raise

    def _move(self, identifier: Identifier, row: Row, target: Identifier) -> TableEntry:
        """Rename a root table: it goes to a hashed directory (document 000, rule 4).

        The old directory keeps a tombstone, and versions that were committed to it until the row
        changed follow.
        """
        old = layout.checked_path(row.location, identifier)
        new = layout.hashed_directory(target)
        change = MoveTable(identifier.object_id, target.object_id, old, new)
        self._store.link_tree(old, new)
        hidden = self._listing.hide(old, TOMBSTONE)
        try:
            moved = self._hashed.manifest.commit(change).row
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            if hidden:
                self._listing.show(old)
            self._store.delete_tree(new)
            raise
        assert moved is not None
        self._store.link_tree(old, new)
        self._store.delete(f"{new}/{layout.DEREGISTERED}")
        self._bury(old)
        return self._hashed.entry(target, moved)

    def _bury(self, path: str) -> None:
        """Empty a directory down to the tombstone."""
        for entry in list(self._store.entries(path)):
            below = f"{path}/{entry.name}"
            if entry.name == layout.DEREGISTERED:
                continue
            self._store.delete_tree(below) if entry.is_directory else self._store.delete(below)

    def _own_path(self, identifier: Identifier) -> str | None:
        """The directory that V1 gives a root table; None below other namespaces."""
        return self._listing.path(identifier) if self._is_root_table(identifier) else None

    def _is_root_table(self, identifier: Identifier) -> bool:
        return len(identifier) == 1

    def _row(self, identifier: Identifier) -> Row | None:
        return self._hashed.manifest.glance(
            identifier, lambda state: state.row(identifier.object_id)
        )

    def _unlisted_path(self, identifier: Identifier) -> str | None:
        """The directory of a root table that is visible and that no row speaks of."""
        path = self._own_path(identifier)
        if path is None or self._listing.state(path) not in VISIBLE:
            return None
        return path if self._hashed.manifest.read(lambda s: _is_unlisted(s, path)) else None

    def _unlisted(self, after: str | None) -> Iterator[str]:
        """The names of root tables that only their directories tell of, sorted."""
        names = self._listing.list_tables(Identifier(), Page(after))
        paths = {name: layout.named_directory(name) for name in names}
        unlisted = self._hashed.manifest.read(
            lambda state: {name for name, path in paths.items() if _is_unlisted(state, path)}
        )
        return (name for name in names if name in unlisted)

    def _refuse(self, identifier: Identifier) -> None:
        """Refuse a name that a row has, and a namespace that is not there."""
        row = self._row(identifier)
        if row is not None:
            raise errors.table_exists(identifier, f"a {row.object_type} of that name exists")
        self._hashed.describe_namespace(identifier.parent)

    def _free_path(self, identifier: Identifier, own: str) -> str | None:
        """The directory of a new root table: its own, or None (a hashed one) beside a tombstone."""
        if self._listing.state(own) is State.MOVED or self._hashed.is_occupied(own):
            return None
        self._listing.require_free(identifier, own)
        return own

    def _refuse_directory(self, identifier: Identifier, path: str | None) -> None:
        """Refuse a location that belongs to a root table which only its directory tells of."""
        if path is None:
            return
        top = path.split("/")[0]
        name = layout.table_name(top)
        if name is not None and self._unlisted_path(Identifier((name,))) is not None:
            refuse_overlap(path, top, Identifier((name,)))


def _is_unlisted(state: Snapshot, path: str) -> bool:
    name = path.removesuffix(layout.SUFFIX)
    return state.raw(name) is None and not state.is_occupied(path)


def _first(items: Iterable[_T], limit: int | None) -> list[_T]:
    return list(itertools.islice(items, limit))
