"""Places: where tables lie, and what is done in storage around their rows of the metastore.

A new table gets a directory of its own with a random name, so that no table that was renamed,
dropped or replaced is ever in its way. The metastore keeps the location; nobody derives it.

Tables lie beside the folder of their database, not in it: a DROP DATABASE CASCADE of Hive or Spark
deletes that folder with all that is in it, external or not.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Iterator

from lanceyard import errors
from lanceyard.catalog.directory import layout
from lanceyard.catalog.hive.databases import DEFAULT
from lanceyard.catalog.hive.locations import Place, lies_in_something, opened_as
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase
from lanceyard.catalog.hive.settings import HiveSettings
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.storage.roots import absolute_root

LOGGER = logging.getLogger(__name__)
MAIN_CATALOG = "hive"
"""The catalog that every Hive 3 has, for those who know of no catalogs."""
TABLES = ".tables"
"""What the names of folders end with in which tables lie."""


class Places:
    """The directories of the tables of a metastore."""

    def __init__(self, settings: HiveSettings) -> None:
        """Take the settings of a catalog. Nothing is read or written."""
        self.root = None if settings.root is None else absolute_root(settings.root).rstrip("/")
        self._options = settings.storage
        self._durability = settings.durability

    def folder(self, name: DatabaseName) -> str | None:
        """The folder of a new database; None leaves it to the metastore."""
        return None if self.root is None else f"{self.root}/{_stem(name)}.db"

    def catalog_folder(self, name: str) -> str | None:
        """The folder of a new catalog; None if it has to be given."""
        return None if self.root is None else f"{self.root}/{name}.catalog"

    def new(self, database: HiveDatabase, name: str) -> str:
        """A new location for a table of a database. Raises `InvalidInputError`."""
        return f"{self.home(database)}/{secrets.token_hex(4)}_{name}"

    def home(self, database: HiveDatabase) -> str:
        """The folder of the tables of a database. Raises `InvalidInputError`."""
        if self.root is not None:
            return f"{self.root}/{_stem(database.where)}{TABLES}"
        own = (database.location or "").rstrip("/")
        if database.where.name == DEFAULT:
            return f"{own}/{DEFAULT}{TABLES}"  # it cannot be dropped, and others lie in it
        if not lies_in_something(opened_as(own)):
            raise errors.InvalidInputError(
                f"database {database.where} has the location {own!r}, beside which no tables can "
                "lie: connect with a 'root'"
            )
        return own + TABLES

    def root_of(self, database: HiveDatabase) -> str:
        """In what the tables of a database have to lie: the root, or their folder without one."""
        return self.root or self.home(database)

    def chosen(self, database: HiveDatabase, location: str) -> str:
        """The location that a caller names, as it is told to the metastore.

        Raises `InvalidInputError` for one that is not in the root of the database.
        """
        root = self.root_of(database)
        store = self.at(f"{opened_as(root)}/_").store
        return f"{root}/{layout.table_path(store, opened_as(location))}"

    def at(self, location: str) -> Place:
        """The directory at a location."""
        return Place(opened_as(location), self._options, self._durability)

    def files(self, location: str) -> VersionFiles:
        """The manifests of the table at a location."""
        place = self.at(location)
        return VersionFiles(place.store, place.path)

    def has_versions(self, location: str) -> bool:
        """Whether a Lance table lies at a location."""
        place = self.at(location)
        return layout.has_data(place.store, place.path)

    def is_empty(self, location: str) -> bool:
        """Whether nothing lies at a location, but for markers."""
        place = self.at(location)
        return all(
            entry.name in layout.MARKERS
            or (entry.is_directory and not place.store.has_file(f"{place.path}/{entry.name}"))
            for entry in place.store.entries(place.path)
        )

    @contextlib.contextmanager
    def reserved(self, location: str) -> Iterator[None]:
        """Mark a location as that of a declared table, for a row that is about to be added."""
        place = self.at(location)
        marker = f"{place.path}/{layout.RESERVED}"
        reserved = place.store.put_if_absent(marker, b"reserved")
        try:
            yield
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            if reserved:
                place.store.delete(marker)
                self.delete_if_empty(location)
            raise

    @contextlib.contextmanager
    def hidden(self, location: str) -> Iterator[None]:
        """Mark what lies at a location as kept on purpose, for a row that is about to go."""
        self.hide(location)
        try:
            yield
        except (errors.TableNotFoundError, errors.UnknownOutcomeError):
            raise  # another one was faster, and the mark is its own too; or it may be needed
        except errors.LanceNamespaceError:
            self.show(location)
            raise

    def hide(self, location: str) -> None:
        """Mark what lies at a location as kept on purpose, though no table refers to it."""
        place = self.at(location)
        if place.store.exists(place.path):
            layout.mark(place.store, place.path)

    def show(self, location: str) -> None:
        """Take the mark away."""
        place = self.at(location)
        if place.store.exists(f"{place.path}/{layout.DEREGISTERED}"):
            layout.show(place.store, place.path)

    def delete(self, location: str) -> None:
        """Delete what lies at a location to which no table refers any more.

        The drop has succeeded even where this fails (document 003). A directory that we have not
        named is spared if there is more in it than a Lance table: others say where theirs lie.
        """
        place = self.at(location)
        is_ours = layout.HASHED.match(place.path) is not None
        try:
            names = [] if is_ours else place.store.names(place.path)
            if all(name in layout.TABLE_NAMES for name in names):
                place.store.delete_tree(place.path)
            else:
                LOGGER.warning("%r holds more than a Lance table, and is left as it is", location)
        except (OSError, errors.InternalError) as failure:
            LOGGER.warning("%r could not be deleted and is left to repair: %s", location, failure)

    def delete_folders(self, database: HiveDatabase) -> None:
        """Delete the folders of a database that is gone, unless something lies in them."""
        with contextlib.suppress(errors.InvalidInputError):
            self.delete_if_empty(self.home(database))
        if database.location:
            self.delete_if_empty(database.location)

    def delete_if_empty(self, location: str) -> None:
        """Delete a directory in which nothing lies."""
        if self.is_empty(location):
            self.delete(location)


def _stem(name: DatabaseName) -> str:
    """What the folders of a database are named after; no name has a dot in it."""
    is_main = name.catalog in (None, MAIN_CATALOG)
    return name.name if is_main else f"{name.catalog}.{name.name}"
