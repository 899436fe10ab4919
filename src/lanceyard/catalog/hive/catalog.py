"""The catalog on a Hive Metastore: databases are namespaces, external tables are Lance tables."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence

from lanceyard import errors
from lanceyard.catalog.base import (
    Catalog,
    Landed,
    Page,
    TableEntry,
    TableWriter,
    VersionPage,
    Versions,
    altered,
    is_protected,
)
from lanceyard.catalog.directory import layout
from lanceyard.catalog.hive.databases import Databases
from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import HiveDatabase
from lanceyard.catalog.hive.names import TABLE_KEY, check_names, check_properties
from lanceyard.catalog.hive.places import Places
from lanceyard.catalog.hive.removal import Removal
from lanceyard.catalog.hive.rows import Rows
from lanceyard.catalog.hive.settings import HiveSettings
from lanceyard.catalog.hive.swaps import ATTEMPTS, ConflictError, Swaps, too_busy
from lanceyard.catalog.hive.tables import RESERVED, LanceTable
from lanceyard.catalog.hive.versions import ManagedVersions
from lanceyard.catalog.versions import CreateVersion, DeleteVersions, Step, TableVersion
from lanceyard.identifier import Identifier
from lanceyard.storage.options import with_plain_http


class MetastoreCatalog(Catalog):
    """A catalog whose names are in a Hive Metastore.

    Creating writes storage first and the row last. Dropping takes the row out first, by a swap that
    demands the table that was seen, and then deletes its storage. So what a crash leaves behind is
    never in the catalog.
    """

    unsupported = frozenset(
        {"BatchCommitTables", "CreateMaterializedView", "RefreshMaterializedView"}
    )

    def __init__(
        self,
        settings: HiveSettings,
        metastore: Metastore,
    ) -> None:
        """Keep names in a metastore. Nothing is read or written yet."""
        self._metastore = metastore
        self._managed_by = settings.managed_by
        self.places = Places(settings)
        self.databases = Databases(metastore, self.places.folder, self.places.catalog_folder)
        self._swaps = Swaps(metastore)
        self.rows = Rows(metastore, self.databases, self._swaps)
        self.removal = Removal(self.databases, self.rows, self.places)
        self.versions = ManagedVersions(self._look_up, self._swaps, self.places)
        self.storage_options = with_plain_http(settings.storage)
        weakref.finalize(self, metastore.close)

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        check_names(identifier)
        return self.databases.describe(identifier)

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        check_names(parent)
        return _cut(self.databases.names(parent), page)

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        check_names(identifier)
        if self._is_table(identifier):
            raise errors.namespace_exists(identifier, as_table=True)
        if replace:
            with contextlib.suppress(errors.NamespaceNotFoundError):
                self.drop_namespace(identifier, cascade=True)
        self.databases.create(identifier, properties)

    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        check_names(identifier)
        return self.removal.namespace(identifier, cascade=cascade)

    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        check_names(identifier)
        return self.databases.alter(identifier, put, unset)

    def describe_table(self, identifier: Identifier) -> TableEntry:
        return self._look_up(identifier).entry

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        check_names(parent)
        return _cut(self.rows.names(parent), page)

    def list_all_tables(self, page: Page) -> list[Identifier]:
        found = {identifier.object_id: identifier for identifier in self.rows.all()}
        return [found[object_id] for object_id in _cut(sorted(found), page)]

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        return self.versions.page(identifier, page)

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        return self.versions.find(identifier, number)

    def commit(self, steps: Sequence[Step]) -> list[Landed]:
        if len(steps) == 1 and isinstance(steps[0], CreateVersion):
            created = self.versions.create(steps[0].identifier, steps[0].version)
            return [Landed(version=created)]
        if len(steps) == 1 and isinstance(steps[0], DeleteVersions):
            step = steps[0]
            deleted = self.versions.delete(
                step.identifier, step.numbers, must_exist=step.must_exist
            )
            return [Landed(deleted=deleted)]
        raise errors.UnsupportedOperationError(
            "a Hive Metastore changes one table at a time: it cannot commit several changes at once"
        )

    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        database = self._home(identifier, properties)
        self._refuse_existing(identifier, self.rows.find(identifier), replace=False)
        place = self._place(database, identifier, location)
        table = self._new(database, identifier.name, place, properties)
        with self.places.reserved(place):
            return self.rows.add(identifier, table).entry

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        database = self._home(identifier, properties)
        seen = self.rows.find(identifier)
        if seen is not None and self._is_declared_at(identifier, seen.location):
            return self._fill(identifier, seen.location, properties, writer)
        self._refuse_existing(identifier, seen, replace=replace)
        location = self.places.new(database, identifier.name)
        place = self.places.at(location)
        # Held, so that a repair sees that somebody is at work here, however long it takes.
        with layout.holding(place.store, identifier, place.path):
            try:
                writer(place.location, replace=False)
                place.store.sync_tree(place.path)
                table = self._new(database, identifier.name, location, properties)
                entry, before = self._put(identifier, table, replace=replace)
            except errors.UnknownOutcomeError:
                raise
            except Exception:
                self.places.delete(location)
                raise
        if before is not None:
            self.places.delete(before.location)
        return entry

    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        database = self._home(identifier, properties)
        chosen = self.places.chosen(database, location)
        seen = self.rows.find(identifier)
        self._refuse_existing(identifier, seen, replace=replace)
        if self.places.is_empty(chosen):
            raise errors.InvalidInputError(f"nothing lies at location {location!r}")
        self._refuse_overlap(database, chosen, seen)
        table = self._new(database, identifier.name, chosen, properties)
        moves = seen is not None and seen.location != table.location
        with self.places.hidden(seen.location) if seen and moves else contextlib.nullcontext():
            entry, _ = self._put(identifier, table, replace=replace)
        self.places.show(chosen)
        return entry

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        return self.removal.deregister(identifier).entry

    def drop_table(self, identifier: Identifier) -> TableEntry:
        return self.removal.drop(identifier).entry

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        seen = self.rows.require(identifier)
        where = self.rows.database(target)
        for _ in range(ATTEMPTS):
            self._refuse_existing(target, self.rows.find(target), replace=False)
            try:
                return self._swaps.swap(seen, seen.renamed(where, target.name)).entry
            except ConflictError:
                seen = self.rows.again(identifier, seen)
            except failures.InvalidOperationError as cause:
                self._refuse_existing(target, self.rows.find(target), replace=False)
                raise errors.InvalidInputError(
                    f"Hive refuses to rename table {identifier} to {target}: {cause}"
                ) from cause
        raise too_busy(identifier)

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        check_properties(put, reserved=RESERVED, longest_key=TABLE_KEY)
        for _ in range(ATTEMPTS):
            seen = self.rows.require(identifier)
            wanted = seen.with_properties(altered(seen.properties, put, unset))
            with contextlib.suppress(ConflictError):
                return self._swaps.swap(seen, wanted).properties
        raise too_busy(identifier)

    def is_declared(self, entry: TableEntry) -> bool:
        if entry.version is not None:
            return entry.version == 0
        return self.places.is_empty(entry.location)

    def close(self) -> None:
        self._metastore.close()

    def _look_up(self, identifier: Identifier) -> LanceTable:
        return self.versions.adopted(identifier, self.rows.require(identifier))

    def _is_table(self, identifier: Identifier) -> bool:
        """Whether a Lance table has a name that a namespace is to get."""
        is_in_database = self.databases.name(identifier.parent) is not None
        return is_in_database and self.rows.find(identifier) is not None

    def _is_declared_at(self, identifier: Identifier, location: str) -> bool:
        """Whether a table that was seen at a location holds nothing yet.

        One that was replaced meanwhile holds nothing there any more, which means something else.
        """
        if not self.is_declared(self._look_up(identifier).entry):
            return False
        found = self.rows.find(identifier)
        return found is not None and found.location == location

    def _home(self, identifier: Identifier, properties: Mapping[str, str]) -> HiveDatabase:
        """The database of a table that is about to be created."""
        check_properties(properties, reserved=RESERVED, longest_key=TABLE_KEY)
        self.rows.database(identifier)
        return self.databases.find(identifier.parent)

    def _place(self, database: HiveDatabase, identifier: Identifier, location: str | None) -> str:
        """The location of a table that is declared; one that its caller chose is looked at."""
        if location is None:
            return self.places.new(database, identifier.name)
        chosen = self.places.chosen(database, location)
        self._refuse_overlap(database, chosen, None)
        return chosen

    def _refuse_overlap(
        self, database: HiveDatabase, location: str, seen: LanceTable | None
    ) -> None:
        root = self.places.root_of(database)
        for other in self.rows.overlapping(location, root):
            if seen is None or other.record != seen.record:
                raise errors.InvalidInputError(
                    f"location {location!r} overlaps that of table {other.record.where}."
                    f"{other.record.name}"
                )

    def _refuse_existing(
        self, identifier: Identifier, seen: LanceTable | None, *, replace: bool
    ) -> None:
        if seen is None:
            return
        if not replace:
            raise errors.table_exists(identifier)
        if is_protected(seen.properties):
            raise errors.protected(identifier)

    def _new(
        self, database: HiveDatabase, name: str, location: str, properties: Mapping[str, str]
    ) -> LanceTable:
        """A table with what lies at its location."""
        table = LanceTable.new(database.where, name, location, properties, self._managed_by)
        return self._with_content(table)

    def _with_content(self, table: LanceTable) -> LanceTable:
        newest = self.versions.newest_at(table.location) if table.is_managed else None
        return table if newest is None else table.at_version(newest)

    def _put(
        self, identifier: Identifier, table: LanceTable, *, replace: bool
    ) -> tuple[TableEntry, LanceTable | None]:
        """Add a table, or put it into the place of another, which is returned."""
        for _ in range(ATTEMPTS):
            seen = self.rows.find(identifier)
            self._refuse_existing(identifier, seen, replace=replace)
            with contextlib.suppress(ConflictError):
                if seen is None:
                    return self.rows.add(identifier, table).entry, None
                return self._swaps.swap(seen, seen.replaced_by(table)).entry, seen
        raise too_busy(identifier)

    def _fill(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        writer: TableWriter,
    ) -> TableEntry:
        """Give a declared table its content, where it was declared: others may know the place.

        Properties come first: until the content is there the table is only declared, so a crash in
        between leaves nothing that looks whole. Nothing is deleted here: a table that is gone
        afterwards may have been renamed, and what was written is its content.
        """
        place = self.places.at(location)
        with (
            layout.holding(place.store, identifier, place.path),
            self._putting(identifier, location, properties),
        ):
            if not self.is_declared(self._look_up(identifier).entry):
                raise errors.table_exists(identifier, "another writer was faster")
            writer(location, replace=False)
            place.store.sync_tree(place.path)
        table = self.versions.adopted(identifier, self._require_at(identifier, location))
        if table.is_managed and table.latest is not None and table.latest.staged_as is not None:
            raise errors.table_exists(identifier, "another writer was faster")
        return table.entry

    @contextlib.contextmanager
    def _putting(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> Iterator[None]:
        """Put properties for the time of something that makes them stay, if it succeeds."""
        before = self._require_at(identifier, location).properties
        if properties:
            self.alter_table(identifier, properties, ())
        try:
            yield
        except Exception:
            if properties and self.places.is_empty(location):
                with contextlib.suppress(errors.LanceNamespaceError):
                    self._require_at(identifier, location)
                    self.alter_table(identifier, before, properties.keys() - before.keys())
            raise

    def _require_at(self, identifier: Identifier, location: str) -> LanceTable:
        """The table that is being filled, unless it was dropped or renamed meanwhile."""
        found = self.rows.find(identifier)
        if found is None or found.location != location:
            raise errors.ConcurrentModificationError(
                f"table {identifier} was dropped or renamed while it was created"
            )
        return found


def _cut(names: list[str], page: Page) -> list[str]:
    """A page of sorted names."""
    after = names if page.after is None else [name for name in names if name > page.after]
    return after[: page.limit]
