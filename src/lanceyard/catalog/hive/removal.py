"""Removal: tables are taken out of the metastore first, and then their data is deleted."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from lanceyard import errors
from lanceyard.catalog.base import is_protected
from lanceyard.catalog.hive.databases import DEFAULT, Databases
from lanceyard.catalog.hive.places import Places
from lanceyard.catalog.hive.rows import Leaving, Rows
from lanceyard.catalog.hive.swaps import ATTEMPTS, ConflictError, too_busy
from lanceyard.catalog.hive.tables import LanceTable
from lanceyard.identifier import Identifier


class Removal:
    """Drops and deregisters what is in a metastore."""

    def __init__(self, databases: Databases, rows: Rows, places: Places) -> None:
        """Remove tables from databases, and from where they lie."""
        self._databases = databases
        self._rows = rows
        self._places = places

    def drop(self, identifier: Identifier) -> LanceTable:
        """Forget a table and delete its data. Raises `InvalidTableStateError` if protected."""
        seen = self._rows.require(identifier)
        for _ in range(ATTEMPTS):
            if is_protected(seen.properties):
                raise errors.protected(identifier)
            try:
                leaving = self._rows.take_out(seen, Leaving.DROPPED)
            except ConflictError:
                seen = self._rows.again(identifier, seen)
                continue
            self.finish(leaving, Leaving.DROPPED)
            return seen
        raise too_busy(identifier)

    def deregister(self, identifier: Identifier) -> LanceTable:
        """Forget a table and keep its data."""
        seen = self._rows.require(identifier)
        with self._places.hidden(seen.location):
            for _ in range(ATTEMPTS):
                try:
                    leaving = self._rows.take_out(seen, Leaving.DEREGISTERED)
                except ConflictError:
                    seen = self._rows.again(identifier, seen)
                    continue
                self.finish(leaving, Leaving.DEREGISTERED)
                return seen
            raise too_busy(identifier)

    def finish(self, leaving: LanceTable, reason: Leaving) -> None:
        """Delete the data of a table that was taken out, unless it is to stay; then its row."""
        if reason is Leaving.DROPPED:
            self._places.delete(leaving.location)
        self._rows.forget(leaving)

    def namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        """Drop a database or a catalog, and return its properties.

        What is refused is refused before anything is dropped: one that is protected or has
        something protected in it, or tables that are not Lance tables; and Hive's own.
        """
        properties = self._databases.describe(identifier)
        self._databases.require_droppable(identifier)
        if is_protected(properties):
            raise errors.protected(identifier)
        if cascade:
            databases = self._databases.inside(identifier)
            tables = [table for each in databases for table in self._doomed(each)]
            for table in tables:
                with contextlib.suppress(errors.TableNotFoundError):
                    self.drop(table)
            for each in databases:
                if each != identifier and each.name != DEFAULT:
                    self._database(each)
        if self._databases.name(identifier) is None:
            self._databases.drop(identifier)
        else:
            self._database(identifier)
        return properties

    def _database(self, identifier: Identifier) -> None:
        """Drop a database without tables; what was about to go would be in the way."""
        database = self._databases.find(identifier)
        for table, reason in self._rows.leaving(identifier):
            self.finish(table, reason)
        self._databases.drop(identifier)
        self._places.delete_folders(database)

    def _doomed(self, parent: Identifier) -> list[Identifier]:
        """The tables of a database that a cascade drops, if it may."""
        others = self._rows.others(parent)
        if others:
            raise errors.NamespaceNotEmptyError(
                f"namespace {parent} has tables that are not Lance tables, such as "
                f"{min(others)!r}: drop those with Hive first"
            )
        if is_protected(self._databases.describe(parent)):
            raise errors.protected(parent)
        tables = self._rows.tables(parent)
        for table in tables:
            if is_protected(table.properties):
                raise errors.protected(parent.child(table.record.name))
        return [parent.child(table.record.name) for table in tables]
