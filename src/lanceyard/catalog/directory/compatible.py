"""Compatibility mode: the manifest first, then the directories of V1 (document 000)."""

from __future__ import annotations

import contextlib
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from lanceyard import errors
from lanceyard.catalog.base import (
    Catalog,
    Landed,
    Page,
    TableEntry,
    TableWriter,
    VersionPage,
    Versions,
    is_protected,
)
from lanceyard.catalog.changes import MoveTable, RemoveTable, refuse_overlap
from lanceyard.catalog.directory import layout, seals
from lanceyard.catalog.directory.contents import table_properties
from lanceyard.catalog.directory.hashed import HashedCatalog
from lanceyard.catalog.directory.listing import ListingCatalog
from lanceyard.catalog.directory.states import GONE, TOMBSTONE, VISIBLE, State
from lanceyard.catalog.snapshot import TABLE, Row, Snapshot
from lanceyard.catalog.versions import Declare, Step, TableVersion
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

_T = TypeVar("_T")

RESTING = (State.MOVED, State.DROPPED)
"""States in which a directory is left alone, and a new table of its name is made elsewhere."""
UNFINISHED = (State.CREATING, State.DROPPING)
NOTHING = (State.ABSENT, State.MOVED, *UNFINISHED)
"""States in which there is nothing to be registered."""
HIDDEN = (State.DEREGISTERED, State.DROPPING, State.DROPPED, State.CREATING, State.MOVED)


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

    def state_at_hand(self, identifier: Identifier) -> object | None:
        found = None if identifier.is_root else self._hashed.state_at_hand(identifier)
        if found is not None and self._hashed.manifest.find(identifier) is None:
            return None  # a directory may tell of it
        # Of what lies in the root, directories tell as well, and they change without a mark.
        return object() if found is not None and identifier.parent.is_root else found

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        return self._hashed.list_namespaces(parent, page)

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        if self._unlisted_path(identifier) is not None:
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
        with self._hashed.manifest.lately():
            own = self._own_path(identifier)
        if own is None or path not in (None, own):
            self._refuse_directory(identifier, path)
            return self._hashed.declare_table(identifier, location, properties)
        with layout.holding(self._store, identifier, own):
            self._hashed.refuse(identifier)
            with self._taken(identifier, own) as (_, state):
                free = self._free_path(identifier, own, state)
                if free is None:
                    return self._hashed.declare_table(identifier, None, properties)
                with self._hashed.places.reserved(identifier, free, chosen=False):
                    entry = self._hashed.put(identifier, free, properties)
                self._require_visible(identifier, free)
                return entry

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        own = self._own_path(identifier)
        if own is None:
            return self._hashed.create_table(identifier, properties, writer, replace=replace)
        holding = layout.holding(self._store, identifier, own)
        with holding, self._taken(identifier, own) as (row, state):
            return self._create_own(
                identifier, own, properties, writer, row=row, state=state, replace=replace
            )

    @contextlib.contextmanager
    def _taken(self, identifier: Identifier, own: str) -> Iterator[tuple[Row | None, State]]:
        """Have the directory of a root table to ourselves, unless the table is elsewhere.

        Gives the row of the table and the state of the directory.
        """
        manifest = self._hashed.manifest
        with manifest.lately():
            row = manifest.find(identifier)
        if row is not None and row.location != own:
            row = manifest.find(identifier)
        state = self._listing.state(own)
        if state in RESTING or (row is not None and row.location != own):
            yield manifest.find(identifier), state
            return
        if row is None and state in UNFINISHED:
            self._listing.require_free(identifier, own, state)
        with self._listing.taken(identifier, own) as state:
            yield manifest.find(identifier), state

    def _create_own(
        self,
        identifier: Identifier,
        own: str,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        row: Row | None,
        state: State,
        replace: bool,
    ) -> TableEntry:
        """Create a root table, in its own directory unless its row says otherwise."""
        if row is None and self._is_occupied(own):
            return self._hashed.create_table(identifier, properties, writer, replace=replace)
        crashed = row is not None and row.location == own and state in HIDDEN
        if crashed and self._store.has_locks:
            # We hold the directory, so whoever hid it crashed before it removed the row.
            layout.show(self._store, own)
            state = self._listing.state(own)
        if row is not None and row.location == own and state is State.DECLARED:
            return self._hashed.fill(identifier, own, properties, writer)
        if row is not None and row.location != own:
            return self._hashed.create_table(identifier, properties, writer, replace=replace)
        if state is State.PRESENT:
            self._refuse_overwrite(identifier, row, replace=replace)
        elif row is not None and state is not State.ABSENT:
            raise errors.ConcurrentModificationError(
                f"table {identifier} is half dropped or deregistered; do that again, then create it"
            )
        elif state is not State.DECLARED and self._free_path(identifier, own, state) is None:
            return self._hashed.create_table(identifier, properties, writer, replace=replace)
        publish = partial(self._hashed.put, identifier, own, properties, replace=row is not None)
        self._listing.fill(identifier, own, writer, state, publish)
        self._require_visible(identifier, own)
        return TableEntry(self._store.location(own), dict(properties))

    def _refuse_overwrite(self, identifier: Identifier, row: Row | None, *, replace: bool) -> None:
        if not replace:
            raise errors.table_exists(identifier)
        if row is not None and is_protected(row.properties):
            raise errors.protected(identifier)

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
        with contextlib.ExitStack() as held:
            if own is not None:
                held.enter_context(layout.holding(self._store, identifier, own))
            self._hashed.refuse(identifier, replace=replace)
            unlisted = self._unlisted_path(identifier)
            if unlisted is not None and not replace:
                raise errors.table_exists(identifier)
            state = self._listing.state(path)
            if path != own:
                self._refuse_directory(identifier, path)
            elif state not in NOTHING:
                state = held.enter_context(self._listing.taken(identifier, path))
            if state in NOTHING:
                raise errors.InvalidInputError(f"nothing lies at location {location!r}")
            entry = self._hashed.register_table(identifier, location, properties, replace=replace)
            if unlisted is not None and unlisted != path:
                layout.hide(self._store, unlisted)  # its data stays, and would else be found again
            return entry

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        own = self._own_path(identifier)
        if own is None:
            return self._hashed.deregister_table(identifier)
        with layout.holding(self._store, identifier, own):
            row = self._hashed.manifest.find(identifier)
            if row is None and self._unlisted_path(identifier) is not None:
                self._hashed.refuse_base(identifier)
                return self._listing.deregister_path(identifier, own)
            if row is None or row.location != own:
                return self._hashed.deregister_table(identifier)
            with self._listing.claims.taken(identifier, own):
                return self._hashed.deregister_table(identifier)

    def drop_table(self, identifier: Identifier) -> TableEntry:
        with self._hashed.manifest.lately():
            own = self._own_path(identifier)
        if own is None:
            return self._hashed.drop_table(identifier)
        with layout.holding(self._store, identifier, own):
            if self._hashed.keeps_dropped:
                if self._unlisted_path(identifier) is not None:
                    self._take_in(identifier, own)
                return self._hashed.drop_table(identifier)
            with self._hashed.manifest.lately():
                row = self._hashed.manifest.find(identifier)
            if row is None or row.location != own or is_protected(row.properties):
                row = self._hashed.manifest.find(identifier)
            if row is not None and row.object_type == TABLE and row.location == own:
                self._drop_own(identifier, row, own)
                return self._hashed.entry(identifier, row)
            if row is None and not self._hashed.places.is_occupied(own):
                if self._listing.state(own) in GONE:
                    raise errors.table_not_found(identifier)
                self._hashed.refuse_base(identifier)
                late = partial(self._drop_late_row, identifier, own)
                self._listing.drop_path(identifier, own, late)
                return TableEntry(self._store.location(own), None)
            return self._hashed.drop_table(identifier)

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        if self._unlisted_path(target) is not None:
            raise errors.table_exists(target)
        source = self._own_path(identifier)
        if source is None:
            return self._hashed.rename_table(identifier, target)
        with layout.holding(self._store, identifier, source):
            row = self._hashed.manifest.find(identifier)
            if row is None and self._unlisted_path(identifier) is not None:
                self._take_in(identifier, source)
                row = self._hashed.manifest.find(identifier)
            if row is None or row.location != source:
                return self._hashed.rename_table(identifier, target)
            return self._move(identifier, source, target)

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str] | None:
        if (
            self._hashed.manifest.find(identifier) is None
            and self._unlisted_path(identifier) is not None
        ):
            return self._listing.alter_table(identifier, put, unset)
        return self._hashed.alter_table(identifier, put, unset)

    def is_declared(self, entry: TableEntry) -> bool:
        return self._hashed.is_declared(entry)

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        return self._hashed.list_versions(identifier, page)

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        return self._hashed.find_version(identifier, number)

    def commit(self, steps: Sequence[Step]) -> list[Landed]:
        return self._hashed.commit([self._with_own_path(step) for step in steps])

    def _with_own_path(self, step: Step) -> Step:
        """A step of a batch on a root table, with regard to the directory that it has or gets."""
        own = self._own_path(step.identifier)
        if own is None:
            return step
        if isinstance(step, Declare):
            if self._unlisted_path(step.identifier) is not None:
                raise errors.table_exists(step.identifier)
            if step.location is not None:
                return step
            state = self._listing.state(own)
            if state is State.ABSENT:
                free = self._free_path(step.identifier, own, state)
            else:
                with self._taken(step.identifier, own) as (_, state):
                    free = self._free_path(step.identifier, own, state)
            return step if free is None else replace(step, location=free)
        if self._unlisted_path(step.identifier) is not None:
            self._take_in(step.identifier, own)
        return step

    def close(self) -> None:
        self._hashed.close()

    def _take_in(self, identifier: Identifier, path: str) -> None:
        """Give a table that only its directory tells of a row, with the properties it carries.

        From then on the row decides, whatever happens to the directory.
        """
        try:
            properties = table_properties(self._store, path)
        except (OSError, ValueError):
            properties = {}  # what is no Lance table carries none
        self._hashed.put(identifier, path, properties)

    def _require_visible(self, identifier: Identifier, path: str) -> None:
        """Take a new row back if a drop of its directory, which saw no row, ran meanwhile."""
        if self._listing.state(path) in VISIBLE:
            return
        with contextlib.suppress(errors.TableNotFoundError):
            self._hashed.manifest.commit(RemoveTable(identifier.object_id, path, keep=True))
        raise errors.ConcurrentModificationError(
            f"table {identifier} was dropped while it was created"
        )

    def _drop_late_row(self, identifier: Identifier, path: str) -> None:
        """Remove a row that was added after its directory was found without one, and hidden."""
        row = self._hashed.manifest.find(identifier)
        if row is not None and row.location == path:
            with contextlib.suppress(errors.TableNotFoundError):
                self._hashed.manifest.commit(RemoveTable(identifier.object_id, path))

    def _drop_own(self, identifier: Identifier, row: Row, path: str) -> None:
        """Drop a root table that has a row and its own directory."""
        if is_protected(row.properties):
            raise errors.protected(identifier)
        self._hashed.early(partial(self._hashed.refuse_base, identifier))
        remove = RemoveTable(identifier.object_id, path)
        self._listing.drop_path(
            identifier, path, lambda: self._hashed.manifest.commit(remove), exclusive=False
        )

    def _move(self, identifier: Identifier, old: str, target: Identifier) -> TableEntry:
        """Rename a root table: it goes to a hashed directory (document 000, rule 4).

        The old directory keeps a tombstone, and versions that were committed to it until the row
        changed follow.
        """
        new = layout.hashed_directory(target)
        change = MoveTable(identifier.object_id, target.object_id, old, new)
        if self._listing.state(old) not in VISIBLE:
            # Whoever hid it crashed before it changed the row, unless it is at work.
            if not self._listing.claims.is_abandoned(old):
                raise errors.ConcurrentModificationError(
                    f"table {identifier} is being renamed or dropped by another writer"
                )
            layout.show(self._store, old)
            self._store.delete(f"{old}/{layout.DROPPING}")
            seals.lift(self._store, old)
        self._store.link_tree(old, new)
        hidden = layout.hide(self._store, old, TOMBSTONE)
        self._seal(old, new)
        try:
            moved = self._hashed.manifest.commit(change).row
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError as refusal:
            # Whoever moved or dropped it first needs the marker that we may have put.
            if hidden and not isinstance(refusal, errors.TableNotFoundError):
                layout.show(self._store, old)
                seals.lift(self._store, old)
            self._store.delete_tree(new)
            raise
        assert moved is not None
        if self._store.has_locks:
            self._store.link_tree(old, new)
        self._store.delete_all(f"{new}/{mark}" for mark in layout.DROP_MARKERS)
        self._bury(old)
        return self._hashed.entry(target, moved)

    def _seal(self, old: str, new: str) -> None:
        """Let nobody commit where a table was, once all that was committed there is copied.

        On a file system it is enough to look once more after the row has changed.
        """
        if self._store.has_locks:
            return
        while not seals.seal(self._store, old):
            pass
        self._store.link_tree(old, new)
        seals.lift(self._store, new)

    def _bury(self, path: str) -> None:
        """Empty a directory down to the tombstone, and the seal where there is one."""
        for entry in list(self._store.entries(path)):
            below = f"{path}/{entry.name}"
            if entry.name == layout.DEREGISTERED:
                continue
            if entry.name == layout.VERSIONS and not self._store.has_locks:
                seals.bury(self._store, path)
                continue
            self._store.delete_tree(below) if entry.is_directory else self._store.delete(below)

    def _own_path(self, identifier: Identifier) -> str | None:
        """The directory that V1 gives a root table; None below other namespaces.

        Where versions are rows, only rows tell of tables.
        """
        if len(identifier) != 1 or self._hashed.manages_versions():
            return None
        return self._listing.path(identifier)

    def _unlisted_path(self, identifier: Identifier) -> str | None:
        """The directory of a root table that is visible and that no row speaks of."""
        path = self._own_path(identifier)
        if path is None or self._listing.state(path) not in VISIBLE:
            return None
        return path if self._hashed.manifest.read(lambda s: _is_unlisted(s, path)) else None

    def _unlisted(self, after: str | None) -> Iterator[str]:
        """The names of root tables that only their directories tell of, sorted."""
        if self._hashed.manages_versions():
            return iter(())
        paths = {name: layout.named_directory(name) for name in self._listing.names(after)}
        unlisted = self._hashed.manifest.read(
            lambda state: [name for name, path in paths.items() if _is_unlisted(state, path)]
        )
        return self._listing.existing(unlisted)

    def _free_path(self, identifier: Identifier, own: str, state: State) -> str | None:
        """The directory of a new root table: its own, or None (a hashed one) beside a tombstone.

        `state` is that of its own.
        """
        if state in RESTING or self._is_occupied(own):
            return None
        self._listing.make_free(identifier, own, state)
        return own

    def _is_occupied(self, own: str) -> bool:
        """Whether a row speaks of a directory, by what was just looked at."""
        with self._hashed.manifest.lately():
            return self._hashed.places.is_occupied(own)

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
