"""Places: where tables lie, and what is done in storage around their rows of the metastore.

A new table gets a directory of its own with a random name, so that no table that was renamed,
dropped or replaced is ever in its way. The metastore keeps the location; nobody derives it.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Iterator

from lanceyard import errors
from lanceyard.catalog.directory import layout
from lanceyard.catalog.hive.locations import Place, opened_as
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase
from lanceyard.catalog.hive.settings import HiveSettings
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.storage.roots import absolute_root

LOGGER = logging.getLogger(__name__)
MAIN_CATALOG = "hive"
"""The catalog that every Hive 3 has, for those who know of no catalogs."""
MARKERS = frozenset({layout.RESERVED, *layout.DROP_MARKERS})


class Places:
    """The directories of the tables of a metastore."""

    def __init__(self, settings: HiveSettings) -> None:
        """Take the settings of a catalog. Nothing is read or written."""
        self.root = None if settings.root is None else absolute_root(settings.root).rstrip("/")
        self._options = settings.storage
        self._durability = settings.durability

    def folder(self, name: DatabaseName) -> str | None:
        """Where a new database, or catalog if the name has no more, goes; None for anywhere."""
        if self.root is None:
            return None
        parts = [self.root]
        if name.catalog not in (None, MAIN_CATALOG):
            parts.append(name.catalog)
        if name.name:
            parts.append(f"{name.name}.db")
        return "/".join(parts)

    def new(self, database: HiveDatabase, name: str) -> str:
        """A new location for a table of a database."""
        around = self.folder(database.where) or self.root_of(database)
        return f"{around}/{secrets.token_hex(4)}_{name}"

    def root_of(self, database: HiveDatabase) -> str:
        """Where the tables of a database lie: the root, or its own folder without one."""
        return self.root or (database.location or "").rstrip("/")

    def chosen(self, database: HiveDatabase, location: str) -> str:
        """The location that a caller names: in the root or, without one, in the database's folder.

        Raises `InvalidInputError`.
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
            entry.name in MARKERS
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

        The drop has succeeded even where this fails (document 003).
        """
        place = self.at(location)
        try:
            place.store.delete_tree(place.path)
        except (OSError, errors.InternalError) as failure:
            LOGGER.warning("%r could not be deleted and is left to repair: %s", location, failure)

    def delete_if_empty(self, location: str) -> None:
        """Delete the folder of a database that is gone, unless something lies in it."""
        place = self.at(location)
        if self.is_empty(location):
            self.delete(place.location)
