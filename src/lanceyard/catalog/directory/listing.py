"""V1: tables are the directories found by listing the root (documents 000 and 001)."""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from lanceyard import errors
from lanceyard.catalog.base import Catalog, Page, TableEntry, TableWriter
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.claims import TO_DROP, Claims
from lanceyard.catalog.directory.states import CREATING, GONE, VISIBLE, State, state_of
from lanceyard.identifier import Identifier
from lanceyard.settings import DEFAULT_WINDOW
from lanceyard.storage.base import Store

LOOKS = 16
"""How many tables are looked at at a time, where a look takes time."""


class ListingCatalog(Catalog):
    """A flat catalog: one directory a table, marker files for what has no data yet or is hidden."""

    def __init__(
        self,
        store: Store,
        *,
        bare: bool = False,
        window: float = DEFAULT_WINDOW,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Look at the tables of a root; `bare` is the older layout of document 001."""
        self._store = store
        self._bare = bare
        self.claims = Claims(store, window, clock)
        needs_rows = {"AlterNamespace", "CreateNamespace", "DropNamespace", "RenameTable"}
        needs_rows |= {"CreateMaterializedView", "RefreshMaterializedView"}
        self.unsupported = frozenset(needs_rows | ({"DeclareTable"} if bare else set()))
        self.storage_options = store.options

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        _require_root(identifier)
        return {}

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        _require_root(parent)
        return []

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        _require_root(identifier)

    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        _require_root(identifier)
        return {}

    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        _require_root(identifier)
        raise errors.UnsupportedOperationError(
            "properties of the root namespace need the manifest: set manifest_enabled=true"
        )

    def describe_table(self, identifier: Identifier) -> TableEntry:
        path = self.path(identifier)
        return self._visible(identifier, path, self.state(path))

    def _visible(self, identifier: Identifier, path: str, state: State) -> TableEntry:
        """What is told of a table: one that has no Lance metadata yet has no properties."""
        if state not in VISIBLE:
            raise errors.table_not_found(identifier)
        return self._entry(path)._replace(properties={} if state is State.DECLARED else None)

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        _require_root(parent)
        names = iter(self.names(page.after, page.limit))
        if page.limit is None or self._store.is_near or not page.last_is_a_hint:
            return list(itertools.islice(self.existing(names), page.limit))
        found = self._some_existing(names, page.limit - 1)
        return [*found, *itertools.islice(names, 1)]

    def list_all_tables(self, page: Page) -> list[Identifier]:
        return [Identifier((name,)) for name in self.list_tables(Identifier(), page)]

    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        path = self.path(identifier)
        if self._bare:
            raise errors.UnsupportedOperationError("the bare layout cannot declare tables")
        if properties:
            raise errors.UnsupportedOperationError(
                f"declaring {identifier} with properties needs the manifest: a table that was "
                "only declared has no Lance metadata to keep them in"
            )
        self._require_own(path, location)
        with layout.holding(self._store, identifier, path):
            if self._store.has_locks:
                self.make_free(identifier, path, self.state(path))
            while not self._has_reserved(path):
                self.require_free(identifier, path, self.state(path))
                with self.taken(identifier, path) as state:
                    self.make_free(identifier, path, state)
        return self._entry(path)

    def _has_reserved(self, path: str) -> bool:
        """Reserve a directory in which nothing lies; False if something does.

        Whoever creates a table there marks it before it looks, and we look after we marked it: of
        two at once at least one sees the other.
        """
        marker, ours = f"{path}/{layout.RESERVED}", b"reserved " + uuid.uuid4().hex.encode()
        if not self._store.put_if_absent(marker, ours):
            return False
        if self._store.has_locks or self._store.inhabited(path) == {layout.RESERVED}:
            return True
        self._store.delete_own(marker, ours)
        return False

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        path = self.path(identifier)
        with layout.holding(self._store, identifier, path):
            fillable = (*VISIBLE,) if replace else (State.DECLARED,)
            if not self._store.has_locks and (state := self.state(path)) not in fillable:
                self.require_free(identifier, path, state)
            with self.taken(identifier, path) as state:
                if state not in fillable:
                    self.make_free(identifier, path, state)
                self.fill(identifier, path, writer, state)
        return self._entry(path)

    @contextlib.contextmanager
    def taken(self, identifier: Identifier, path: str) -> Iterator[State]:
        """Have a directory that we hold to ourselves, also where nothing can be held.

        Gives its state, which only programs can change by then that know nothing of claims.
        """
        with self.claims.taken(identifier, path) as claimed:
            yield state_of(self._store, path, bare=self._bare, claimed=claimed)

    def fill(
        self,
        identifier: Identifier,
        path: str,
        writer: TableWriter,
        state: State,
        publish: Callable[[], object] | None = None,
    ) -> None:
        """Write the content of a table directory that is in a certain state, then publish it.

        The caller has the directory to itself. A new table is hidden until all is done, so that
        nobody sees half of it, whatever happens. Content that another program put there is left
        alone. A drop by one that ran meanwhile wins.
        """
        is_new = state not in VISIBLE
        if is_new and not layout.hide(self._store, path, CREATING):
            raise errors.table_exists(identifier, "another writer was faster")
        files: list[str] | None = None
        try:
            files = writer(self._store.location(path), replace=state is State.PRESENT)
            self._store.sync_tree(path)
            if publish is not None:
                publish()
        except errors.UnknownOutcomeError:
            raise
        except Exception as failure:
            if is_new and (files is not None or not layout.has_data(self._store, path)):
                self._clear(path)
            elif is_new:
                layout.unhide(self._store, path)
            elif isinstance(failure, OSError) and self.state(path) in (*GONE, State.DROPPING):
                raise _dropped(identifier) from failure
            raise
        if is_new:
            layout.unhide(self._store, path)
        self._require_whole(identifier, path, files)

    def _require_whole(self, identifier: Identifier, path: str, files: Iterable[str]) -> None:
        """Refuse to acknowledge a table of which a drop has taken something along.

        A drop deletes the marker that hides the directory last, so if it is not there, either no
        drop is under way, or one has ended.
        """
        if self.state(path) is State.PRESENT:
            if all(self._store.is_file(f"{path}/{file}") for file in files):
                return
            layout.hide(self._store, path, CREATING)
            self._clear(path)
        raise _dropped(identifier)

    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        path = self.path(identifier)
        self._require_own(path, location)
        with layout.holding(self._store, identifier, path):
            self._require_registrable(identifier, location, self.state(path), replace=replace)
            with self.taken(identifier, path) as state:
                self._require_registrable(identifier, location, state, replace=replace)
                layout.show(self._store, path)
        return self._entry(path)

    def _require_registrable(
        self, identifier: Identifier, location: str, state: State, *, replace: bool
    ) -> None:
        if state in (*GONE, State.DROPPING):
            raise errors.InvalidInputError(f"nothing lies at location {location!r}")
        if state is not State.DEREGISTERED and not replace:
            raise errors.table_exists(identifier)

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        path = self.path(identifier)
        with layout.holding(self._store, identifier, path):
            self.describe_table(identifier)
            return self.deregister_path(identifier, path)

    def deregister_path(self, identifier: Identifier, path: str) -> TableEntry:
        """Hide a table in a directory that the caller holds; its files stay."""
        with self.taken(identifier, path) as state:
            entry = self._visible(identifier, path, state)
            layout.mark(self._store, path)
        return entry

    def drop_table(self, identifier: Identifier) -> TableEntry:
        path = self.path(identifier)
        with layout.holding(self._store, identifier, path):
            if self.state(path) in GONE:
                raise errors.table_not_found(identifier)
            self.drop_path(identifier, path)
        return self._entry(path)

    def drop_path(
        self,
        identifier: Identifier,
        path: str,
        meanwhile: Callable[[], object] | None = None,
        *,
        exclusive: bool = True,
    ) -> None:
        """Hide a table directory, do something else that belongs to the drop, and delete it.

        Of several that drop a table one wins, and the others do not find it: the first that
        claims the directory or, if the drop is not `exclusive`, the one that `meanwhile` lets
        through. What a crash left half dropped is taken over by a later drop. If the table's
        content could not be deleted, it is shown again: the drop has failed.
        """
        claim = self.claims.take(identifier, path, TO_DROP)
        hidden = layout.hide(self._store, path)
        try:
            if meanwhile is not None:
                meanwhile()
            found = self._clear(path)
        except errors.TableNotFoundError:
            # Another was faster, and where no lock kept us apart, our marks came after it.
            if not self._store.has_locks:
                if hidden:
                    layout.unhide(self._store, path)
                self.claims.release(path, claim)
            raise
        except (OSError, errors.LanceNamespaceError) as failure:
            if layout.has_data(self._store, path) and not _may_have_landed(failure):
                layout.show(self._store, path)
                self.claims.release(path, claim)
            raise
        self.claims.release(path, claim)
        if exclusive and not found:
            raise errors.table_not_found(identifier)

    def _clear(self, path: str) -> bool:
        """Delete all in a directory that we have to ourselves; whether there was a table.

        Our claim stays until we are done.
        """
        claim = () if self._store.has_locks else (layout.DROPPING,)
        return self._store.delete_tree(path, last=layout.DROP_MARKERS, but=claim)

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        raise errors.UnsupportedOperationError(
            f"renaming {identifier} needs the manifest: set manifest_enabled=true"
        )

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str] | None:
        self.describe_table(identifier)
        return None

    def is_declared(self, entry: TableEntry) -> bool:
        return entry.properties is not None

    def path(self, identifier: Identifier) -> str:
        """The directory of a root table."""
        _require_root(identifier.parent)
        return layout.named_directory(identifier.name, bare=self._bare)

    def state(self, path: str) -> State:
        """What a directory is, by document 000, or by 001 in the bare layout."""
        return state_of(self._store, path, bare=self._bare)

    def require_free(self, identifier: Identifier, path: str, state: State) -> None:
        """Refuse a name whose directory, which is in a certain state, holds something.

        What a crash left there does not count.
        """
        if self._is_unfinished(path, state):
            if not self.claims.is_abandoned(path):
                raise errors.in_the_making(identifier)
            return
        if state is State.DEREGISTERED:
            raise errors.table_exists(
                identifier,
                "a deregistered table keeps its data there; register it or drop it first",
            )
        if state is State.MOVED:
            raise errors.table_exists(
                identifier,
                "it was just renamed, and a program may still hold it open; try again later",
            )
        if state is not State.ABSENT:
            raise errors.table_exists(identifier)

    def make_free(self, identifier: Identifier, path: str, state: State) -> None:
        """`require_free` of a directory that we have to ourselves: what a crash left is deleted."""
        if not self._is_unfinished(path, state):
            self.require_free(identifier, path, state)
        elif self.claims.is_abandoned(path, claimed=True):
            self._clear(path)
        else:
            raise errors.in_the_making(identifier)

    def _is_unfinished(self, path: str, state: State) -> bool:
        """Whether a directory is on its way in or out, or was when somebody crashed."""
        if state is State.DEREGISTERED:
            return self._store.inhabited(path) <= {*layout.DROP_MARKERS}
        return state in (State.DROPPING, State.CREATING)

    def names(self, after: str | None, enough: int | None = None) -> Iterator[str]:
        """The names of directories that may be tables, sorted; one listing of the root.

        Where listing takes time, and some names may be enough, not all are asked for at first.
        """
        if enough is not None and not self._store.is_near:
            found, is_all = self._store.some_names("", after or "", enough)
            names = self._names(found, after)
            if is_all:
                yield from names
                return
            for name in names:
                if not self._is_next(name, found[-1]):
                    break
                yield name
                after = name
        folders = (entry.name for entry in self._store.entries("") if entry.is_directory)
        yield from self._names(folders, after)

    def _names(self, folders: Iterable[str], after: str | None) -> list[str]:
        found = (layout.table_name(folder, bare=self._bare) for folder in folders)
        return sorted(name for name in found if name is not None and (not after or name > after))

    def _is_next(self, name: str, last: str) -> bool:
        """Whether no name before this one can come after the last directory that was listed.

        Directories are in another order than names: ``a-b.lance/`` comes before ``a.lance/``.
        """
        shorter = (layout.named_directory(name[:i], bare=self._bare) for i in range(1, len(name)))
        return all(f"{folder}/" <= f"{last}/" for folder in shorter)

    def existing(self, names: Iterable[str]) -> Iterator[str]:
        """Those of some names that are tables, looked at one by one."""
        for name in names:
            path = layout.named_directory(name, bare=self._bare)
            if self.state(path) in VISIBLE:
                yield name

    def _some_existing(self, names: Iterator[str], count: int) -> list[str]:
        """The first so many of some names that are tables, several looked at at a time."""
        found: list[str] = []
        with ThreadPoolExecutor(LOOKS) as looks:
            while batch := list(itertools.islice(names, min(LOOKS, count - len(found)))):
                seen = looks.map(lambda name: list(self.existing([name])), batch)
                found += itertools.chain.from_iterable(seen)
        return found

    def _require_own(self, path: str, location: str | None) -> None:
        if location is not None and layout.table_path(self._store, location) != path:
            raise errors.InvalidInputError(
                f"without the manifest the table lives in {path!r}, and cannot at {location!r}"
            )

    def _entry(self, path: str) -> TableEntry:
        return TableEntry(self._store.location(path), None)


def _dropped(identifier: Identifier) -> errors.ConcurrentModificationError:
    return errors.ConcurrentModificationError(
        f"table {identifier} was dropped while it was created"
    )


def _may_have_landed(failure: BaseException) -> bool:
    return isinstance(failure, errors.UnknownOutcomeError)


def _require_root(identifier: Identifier) -> None:
    if not identifier.is_root:
        raise errors.UnsupportedOperationError(
            f"namespace {identifier} needs the manifest: without it there is only the root"
        )
