"""V2: rows of the manifest, and tables in hashed directories (document 000)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

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
from lanceyard.catalog.changes import (
    AlterProperties,
    Change,
    CreateNamespace,
    DropNamespace,
    MoveTable,
    Outcome,
    PutTable,
    RemoveTable,
)
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.batch import Batch
from lanceyard.catalog.directory.dropped import DroppedTables
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.manifest.table import Management
from lanceyard.catalog.directory.places import Places
from lanceyard.catalog.directory.states import CREATING, DEREGISTERING
from lanceyard.catalog.directory.versions import ManagedVersions
from lanceyard.catalog.ranges import NONE, Ranges
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, Row
from lanceyard.catalog.versions import Step, TableVersion
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store


class HashedCatalog(Catalog):
    """A catalog whose rows decide.

    Creating writes storage first and the row last; dropping removes the row first and storage
    last. So what a crash leaves behind is never in the catalog.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        clock: Callable[[], float] = time.time,
        drop_retention: float = 0.0,
    ) -> None:
        """Keep the tables of a root by its manifest, and dropped ones for some seconds."""
        self._store = store
        self.manifest = manifest
        self.places = Places(store, manifest)
        self.versions = ManagedVersions(store, manifest, clock)
        self.dropped = DroppedTables(store, manifest, self.versions, drop_retention, clock)
        self.storage_options = store.options

    def state_at_hand(self, identifier: Identifier) -> object | None:
        state = self.manifest.state_at_hand()
        if state is None or identifier.is_root:
            return state
        if self.manifest.held_management is Management.ON:
            row, _, numbers = self.manifest.look_up(identifier)
            if row is not None and row.object_type == TABLE and not numbers:
                return None  # its directory has to be looked at
        return state

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        if identifier.is_root:
            return self.manifest.properties()
        row = self.manifest.find(identifier)
        if row is None or row.object_type != NAMESPACE:
            raise errors.namespace_not_found(identifier)
        return row.properties

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        return self._children(parent, NAMESPACE, page)

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        return self._children(parent, TABLE, page)

    def list_all_tables(self, page: Page) -> list[Identifier]:
        found = self.manifest.read(lambda state: state.all_tables(page))
        return [Identifier.from_object_id(object_id) for object_id in found]

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        change = CreateNamespace(identifier.object_id, dict(properties), replace)
        if replace:
            self.places.unmark(self._descendants(identifier))
        self.places.delete_all(self.manifest.commit(change).gone)

    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        change = DropNamespace(identifier.object_id, cascade)
        rows = [*filter(None, [self.manifest.find(identifier)])]
        outcome = self._drop(change, [*rows, *self._descendants(identifier)] if cascade else rows)
        return outcome.row.properties if outcome.row else {}

    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        if identifier.is_root:
            self.manifest.alter_properties(put, unset)
            return self.manifest.properties()
        return self._alter(identifier, NAMESPACE, put, unset)

    def describe_table(self, identifier: Identifier) -> TableEntry:
        row, management, numbers = self.look_up(identifier)
        path = layout.checked_path(row.location, identifier)
        return TableEntry(
            self._store.location(path),
            row.properties,
            management is not Management.OFF,
            None if numbers is None else numbers.last or 0,
        )

    def entry(self, identifier: Identifier, row: Row) -> TableEntry:
        """What the row of a table says that was just written: nothing here may fail."""
        path = layout.checked_path(row.location, identifier)
        managed = self.manifest.held_management is not Management.OFF
        return TableEntry(self._store.location(path), row.properties, managed)

    def look_up(self, identifier: Identifier) -> tuple[Row, Management, Ranges | None]:
        """The row of a table, and its versions if those are rows."""
        row, management, numbers = self.manifest.look_up(identifier)
        if row is None or row.object_type != TABLE:
            self.describe_namespace(identifier.parent)
            raise errors.table_not_found(identifier)
        if numbers is not None and not numbers and self._has_data(row):
            # Written past the catalog into a declared table, or before versions became rows.
            self.versions.adopt([row])
            _, _, numbers = self.manifest.look_up(identifier)
        return row, management, numbers

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        row, _, numbers = self.look_up(identifier)
        return self.versions.page(row, numbers or NONE, page)

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        row, _, numbers = self.look_up(identifier)
        if numbers is None or not numbers.has(number):
            raise errors.version_not_found(identifier, number)
        return self.versions.find(row, number)

    def commit(self, steps: Sequence[Step]) -> list[Landed]:
        return Batch(self, steps).commit()

    def manages_versions(self) -> bool:
        """Whether the versions of tables are rows."""
        return self.manifest.management() is Management.ON

    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        path, chosen = self.places.choose(identifier, location)
        if not chosen and not self._store.is_near:
            self.refuse(identifier)
            with self.places.reserving(identifier, path) as ready:
                return self.put(identifier, path, properties, ready=ready)
        with self.reserving(identifier, path, chosen=chosen):
            return self.put(identifier, path, properties, chosen=chosen)

    @contextlib.contextmanager
    def reserving(self, identifier: Identifier, path: str, *, chosen: bool) -> Iterator[None]:
        """Reserve a directory for a row that is about to be added, unless that is refused."""
        with layout.holding(self._store, identifier, path):
            self.refuse(identifier)
            with self.places.reserved(identifier, path, chosen=chosen):
                yield

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        row = self.manifest.find(identifier)
        if row is not None and row.object_type == TABLE and self._row_is_declared(row):
            path = layout.checked_path(row.location, identifier)
            with layout.holding(self._store, identifier, path):
                return self.fill(identifier, path, properties, writer)
        self.refuse(identifier, replace=replace)
        path = layout.hashed_directory(identifier)
        # Held, so that a repair sees that somebody is at work here, however long it takes.
        with layout.holding(self._store, identifier, path):
            try:
                writer(self._store.location(path), replace=False)
                self._store.sync_tree(path)
                return self.put(identifier, path, properties, replace=replace)
            except errors.UnknownOutcomeError:
                raise
            except Exception:
                self.places.delete(path)
                raise

    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        path = layout.table_path(self._store, location)
        if not self._store.has_file(path):
            self.refuse(identifier, replace=replace)
            raise errors.InvalidInputError(f"nothing lies at location {location!r}")
        change = self._put(identifier, path, properties, replace=replace, chosen=True)
        before = self._path(identifier) if replace else None
        # The directory of another name stays hidden from those who know only directories.
        shows = layout.table_name(path) in (None, identifier.object_id)
        if shows and self._store.is_file(f"{path}/{layout.DEREGISTERED}"):
            layout.mark(self._store, path, DEREGISTERING)
        with self.places.hiding(before if before != path else None):
            row = self.manifest.commit(change).row
        if shows:
            layout.show(self._store, path)
        assert row is not None
        return self.entry(identifier, row)

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        path = self._path(identifier)
        with self.places.hiding(path):
            row = self.manifest.commit(RemoveTable(identifier.object_id, path, keep=True)).row
        assert row is not None
        return self.entry(identifier, row)

    def _path(self, identifier: Identifier) -> str | None:
        """The location of a table's row, if it has one."""
        row = self.manifest.find(identifier)
        return row.location if row is not None and row.object_type == TABLE else None

    def drop_table(self, identifier: Identifier) -> TableEntry:
        # What is to be kept is looked at; what goes is known by the commit.
        with contextlib.nullcontext() if self.keeps_dropped else self.manifest.lately():
            row = self.manifest.find(identifier)
        outcome = self._drop(RemoveTable(identifier.object_id), [row] if row else [])
        assert outcome.row is not None
        location = self._store.location(outcome.row.location or "")
        return TableEntry(location, outcome.row.properties)

    @property
    def keeps_dropped(self) -> bool:
        """Whether what is dropped can be brought back."""
        return self.dropped.retention > 0

    def _drop(self, change: Change, rows: Sequence[Row]) -> Outcome:
        """Carry out a drop: rows first, storage last, or later if it can be taken back."""
        if self.keeps_dropped and rows:
            return self.dropped.drop(change, rows)
        self.places.unmark(rows)
        outcome = self.manifest.commit(change)
        self.places.delete_all(outcome.gone)
        return outcome

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        self.versions.flush()
        row = self.manifest.commit(MoveTable(identifier.object_id, target.object_id)).row
        assert row is not None
        return self.entry(target, row)

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        return self._alter(identifier, TABLE, put, unset)

    def is_declared(self, entry: TableEntry) -> bool:
        if entry.version is not None:
            return entry.version == 0
        path = self._store.relative(entry.location) or ""
        return layout.is_declared(self._store, path)

    def close(self) -> None:
        self.manifest.close()

    def put(
        self,
        identifier: Identifier,
        path: str,
        properties: Mapping[str, str],
        *,
        replace: bool = False,
        chosen: bool = False,
        ready: Callable[[], object] | None = None,
    ) -> TableEntry:
        """Add the row of a table whose storage is there, and delete what it replaces.

        If storage is only on its way there, `ready` waits until it is.
        """
        change = self._put(identifier, path, properties, replace=replace, chosen=chosen)
        before = self.manifest.find(identifier) if replace else None
        if before is not None and before.location != path:
            self.places.unmark([before])
        outcome = self.manifest.commit(change, ready)
        # The row has landed: nothing after this may fail the operation or undo it.
        self.places.delete_all(row for row in outcome.gone if row.location != path)
        assert outcome.row is not None
        return self.entry(identifier, outcome.row)

    def _put(
        self,
        identifier: Identifier,
        path: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
        chosen: bool,
    ) -> PutTable:
        """The change that adds a table with what lies at its location."""
        versions = self.versions.adoptable(path)
        return PutTable(identifier.object_id, path, dict(properties), replace, chosen, versions)

    def fill(
        self,
        identifier: Identifier,
        path: str,
        properties: Mapping[str, str],
        writer: TableWriter,
    ) -> TableEntry:
        """Give a declared table its content, where it was declared: others may know the place.

        The caller holds the directory. Properties come first: until the content is there the table
        is only declared, so a crash in between leaves nothing that looks whole, and the same create
        succeeds afterwards.
        """
        with self._claimed(identifier, path):
            return self._fill(identifier, path, properties, writer)

    @contextlib.contextmanager
    def _claimed(self, identifier: Identifier, path: str) -> Iterator[None]:
        """Keep others from filling a table at the same time, where no lock does."""
        if self._store.has_locks:
            yield
            return
        if not layout.hide(self._store, path, CREATING):
            raise errors.ConcurrentModificationError(
                f"table {identifier} is being created by another writer; if that one crashed, "
                "repair lets it be created again"
            )
        try:
            yield
        finally:
            layout.unhide(self._store, path)

    def _fill(
        self,
        identifier: Identifier,
        path: str,
        properties: Mapping[str, str],
        writer: TableWriter,
    ) -> TableEntry:
        before = self._require_at(identifier, path).properties
        if not layout.is_declared(self._store, path):
            raise errors.table_exists(identifier, "another writer was faster")
        if properties:
            self._alter(identifier, TABLE, properties, ())
        try:
            writer(self._store.location(path), replace=False)
            self._store.sync_tree(path)
        except Exception as failure:
            if isinstance(failure, OSError):
                self._require_at(identifier, path)
            if properties and layout.is_declared(self._store, path):
                with contextlib.suppress(errors.LanceNamespaceError):
                    self._alter(identifier, TABLE, before, properties.keys() - before.keys())
            raise
        row = self._require_at(identifier, path)
        if self.manages_versions():
            self.versions.adopt([row])
            self._require_own_content(identifier, row)
        return self.describe_table(identifier)

    def _require_own_content(self, identifier: Identifier, row: Row) -> None:
        """Refuse if another writer committed a first version to a table while we filled it."""
        first = next(self.versions.read(row, [1]), None)
        if first is not None and first.staged_as is not None:
            raise errors.table_exists(identifier, "another writer was faster")

    def _require_at(self, identifier: Identifier, path: str) -> Row:
        """The row of a table that is being filled, unless it was dropped or moved meanwhile.

        What was written where no table is any more is deleted.
        """
        row = self.manifest.find(identifier)
        if row is None or row.location != path:
            self.places.delete(path, unless_occupied=True)
            raise errors.ConcurrentModificationError(
                f"table {identifier} was dropped or moved while it was created"
            )
        return row

    def _children(self, parent: Identifier, object_type: str, page: Page) -> list[str]:
        object_id = parent.object_id
        found = self.manifest.read(
            lambda state: (
                state.children(object_id, object_type, page)
                if state.has_namespace(object_id)
                else None
            )
        )
        if found is None:
            raise errors.namespace_not_found(parent)
        return found

    def refuse(self, identifier: Identifier, *, replace: bool = False) -> None:
        """Refuse early what the commit would refuse anyway, before storage is touched."""
        self.early(lambda: self._refuse(identifier, replace=replace))

    def early(self, check: Callable[[], None]) -> None:
        """Check what a commit will prove: by what was true a moment ago, unless that refuses."""
        with contextlib.suppress(errors.LanceNamespaceError), self.manifest.lately():
            return check()
        return check()

    def _refuse(self, identifier: Identifier, *, replace: bool) -> None:
        row = self.manifest.find(identifier)
        if row is None:
            self.describe_namespace(identifier.parent)
        elif not (replace and row.object_type == TABLE):
            raise errors.table_exists(identifier, f"a {row.object_type} of that name exists")
        elif is_protected(row.properties):
            raise errors.protected(identifier)

    def refuse_base(self, identifier: Identifier) -> None:
        """Refuse early to remove a table that views are made of."""
        views = self.manifest.read(lambda state: sorted(state.views(identifier.object_id)))
        if views:
            raise errors.base_of_views(identifier, [*map(Identifier.from_object_id, views)])

    def _has_data(self, row: Row) -> bool:
        safe = row.location is not None and layout.is_safe(row.location)
        return safe and layout.has_data(self._store, row.location or "")

    def _row_is_declared(self, row: Row) -> bool:
        if row.location is None or not layout.is_safe(row.location):
            return False
        has_versions = self.manages_versions() and self.manifest.read(
            lambda state: bool(state.versions(row.object_id))
        )
        return not has_versions and layout.is_declared(self._store, row.location)

    def _alter(
        self,
        identifier: Identifier,
        object_type: str,
        put: Mapping[str, str],
        unset: Collection[str],
    ) -> Mapping[str, str]:
        change = AlterProperties(identifier.object_id, object_type, dict(put), tuple(unset))
        row = self.manifest.commit(change).row
        return row.properties if row else {}

    def _descendants(self, identifier: Identifier) -> list[Row]:
        return self.manifest.read(lambda state: [*state.descendants(identifier.object_id)])
