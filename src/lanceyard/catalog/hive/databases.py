"""Databases of the metastore, and the catalogs that Hive 3 and newer have around them.

The properties of a database are its parameters. Some mean a field of it, by the names that the
official implementations give them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from lanceyard import errors
from lanceyard.catalog.base import altered
from lanceyard.catalog.hive.locations import opened_as
from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveCatalog, HiveDatabase
from lanceyard.catalog.hive.names import DATABASE_KEY, check_properties, is_reserved
from lanceyard.catalog.hive.swaps import insist
from lanceyard.identifier import Identifier

CHANGE = "lanceyard_change"
"""The parameter with a random text, by which a database that we created is known."""
DESCRIPTION = ("comment", "database.description")
LOCATION = ("location", "database.location-uri")
OWNER = ("owner", "database.owner")
OWNER_TYPE = "database.owner-type"
OWNER_TYPES = {"USER": 1, "ROLE": 2, "GROUP": 3}
CATALOG_DESCRIPTION = ("description", "comment")
CATALOG_LOCATION = ("catalog.location.uri", "location")
DEFAULT = "default"
"""The database that every metastore has, and that cannot be dropped."""


class Databases:
    """The namespaces of a metastore: databases, in catalogs where the server has such."""

    def __init__(
        self,
        metastore: Metastore,
        folder: Callable[[DatabaseName], str | None],
        catalog_folder: Callable[[str], str | None],
    ) -> None:
        """Keep the databases of a metastore; folders say where new ones, and catalogs, go."""
        self._metastore = metastore
        self._folder = folder
        self._catalog_folder = catalog_folder

    @property
    def depth(self) -> int:
        """How many names lead to a database: one, or two where there are catalogs."""
        return 2 if self._metastore.has_catalogs() else 1

    def name(self, identifier: Identifier) -> DatabaseName | None:
        """The database of an identifier; None if that is too short or too long for one."""
        if len(identifier) != self.depth:
            return None
        return DatabaseName(identifier.name, identifier[0] if self.depth > 1 else None)

    def find(self, identifier: Identifier) -> HiveDatabase:
        """A database. Raises `NamespaceNotFoundError`."""
        name = self.name(identifier)
        try:
            if name is not None:
                return self._metastore.find_database(name)
        except failures.NoSuchObjectError as cause:
            raise errors.namespace_not_found(identifier) from cause
        raise errors.namespace_not_found(identifier)

    def describe(self, identifier: Identifier) -> dict[str, str]:
        """The properties of a namespace. Raises `NamespaceNotFoundError`."""
        if identifier.is_root:
            return {}
        if len(identifier) < self.depth:
            found = self._catalog(identifier)
            said = {CATALOG_LOCATION[0]: found.location}
            return said | ({CATALOG_DESCRIPTION[0]: found.description} if found.description else {})
        return properties(self.find(identifier))

    def names(self, parent: Identifier) -> list[str]:
        """The names of the namespaces directly below. Raises `NamespaceNotFoundError`."""
        self.describe(parent)
        if len(parent) == self.depth:
            return []
        if len(parent) + 1 < self.depth:
            return sorted(self._metastore.catalog_names())
        return sorted(self._metastore.database_names(parent.name if parent else None))

    def all(self) -> list[Identifier]:
        """All databases."""
        if self.depth == 1:
            return [Identifier((name,)) for name in self.names(Identifier())]
        catalogs = self.names(Identifier())
        return [Identifier((c, name)) for c in catalogs for name in self.names(Identifier((c,)))]

    def create(self, identifier: Identifier, given: Mapping[str, str]) -> None:
        """Create a database, or a catalog. Raises `NamespaceAlreadyExistsError`."""
        self.describe(identifier.parent)
        name = self.name(identifier)
        try:
            if name is not None:
                self._create_database(name, given)
            elif len(identifier) < self.depth:
                self._create_catalog(identifier, given)
            else:
                raise errors.UnsupportedOperationError(
                    f"a database of Hive has no namespaces in it, so {identifier} cannot be created"
                )
        except failures.AlreadyExistsError as cause:
            raise errors.namespace_exists(identifier) from cause
        except failures.NoSuchObjectError as cause:
            raise errors.namespace_not_found(identifier.parent) from cause

    def alter(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> dict[str, str]:
        """Put and unset properties, and return what they are then."""
        if len(identifier) < self.depth:
            raise errors.UnsupportedOperationError(
                f"Hive keeps no properties of {identifier} that could be altered"
            )
        found = self.find(identifier)
        check_properties(put, reserved=(), longest_key=DATABASE_KEY)
        kept = {k: v for k, v in found.parameters.items() if is_reserved(k, ())}
        wanted = {**altered(own_properties(found), put, unset), **kept}
        changed = with_fields(replace(found, parameters=wanted), put)
        try:
            insist(lambda: self._metastore.alter_database(changed))
        except failures.NoSuchObjectError as cause:
            raise errors.namespace_not_found(identifier) from cause
        return properties(changed)

    def inside(self, identifier: Identifier) -> list[Identifier]:
        """The databases of a catalog; of a database, that one."""
        if len(identifier) == self.depth:
            return [identifier]
        return [identifier.child(name) for name in self.names(identifier)]

    def require_droppable(self, identifier: Identifier) -> None:
        """Refuse what no metastore lets go. Raises `InvalidInputError`."""
        name = self.name(identifier)
        if name is not None and name.name == DEFAULT:
            raise errors.InvalidInputError(f"Hive does not let {identifier} be dropped")

    def drop(self, identifier: Identifier) -> None:
        """Drop a database or a catalog that has nothing in it.

        Raises `NamespaceNotFoundError`, `NamespaceNotEmptyError`.
        """
        name = self.name(identifier)
        asked = 0

        def drop() -> None:
            nonlocal asked
            asked += 1
            if name is None:
                self._metastore.drop_catalog(identifier.name)
            else:
                self._metastore.drop_database(name)

        try:
            insist(drop)
        except failures.InvalidOperationError as cause:
            raise errors.namespace_not_empty(identifier) from cause
        except failures.MetastoreError as cause:
            self._judge(identifier, cause, asked_before=asked > 1)

    def _judge(
        self, identifier: Identifier, cause: failures.MetastoreError, *, asked_before: bool
    ) -> None:
        """What an error means that Hive 2 gives for a database that is not there, too."""
        try:
            self.describe(identifier)
        except errors.NamespaceNotFoundError:
            if asked_before:
                return  # by the request whose reply was lost
            raise
        raise cause

    def _catalog(self, identifier: Identifier) -> HiveCatalog:
        try:
            return self._metastore.find_catalog(identifier.name)
        except failures.NoSuchObjectError as cause:
            raise errors.namespace_not_found(identifier) from cause

    def _create_database(self, name: DatabaseName, given: Mapping[str, str]) -> None:
        check_properties(given, reserved=(), longest_key=DATABASE_KEY)
        mark = uuid.uuid4().hex
        made = HiveDatabase(name, self._folder(name), parameters={**given, CHANGE: mark})
        made = with_fields(made, given)
        try:
            insist(lambda: self._metastore.create_database(made))
        except failures.AlreadyExistsError:
            # By the request whose reply was lost?
            if self._metastore.find_database(name).parameters.get(CHANGE) != mark:
                raise

    def _create_catalog(self, identifier: Identifier, given: Mapping[str, str]) -> None:
        known = {*CATALOG_DESCRIPTION, *CATALOG_LOCATION}
        if not given.keys() <= known:
            raise errors.InvalidInputError(
                f"a catalog of Hive has no property {min(given.keys() - known)!r}: it has "
                f"{CATALOG_DESCRIPTION[0]!r} and {CATALOG_LOCATION[0]!r}"
            )
        location = _first(given, CATALOG_LOCATION) or self._catalog_folder(identifier.name)
        if location is None:
            raise errors.InvalidInputError(
                f"a catalog of Hive needs a location: give {CATALOG_LOCATION[0]!r}"
            )
        description = _first(given, CATALOG_DESCRIPTION)
        made = HiveCatalog(name=identifier.name, location=location, description=description)
        insist(lambda: self._metastore.create_catalog(made))


def properties(database: HiveDatabase) -> dict[str, str]:
    """The properties of a database; one that others made tells its fields, under all names."""
    if CHANGE in database.parameters:
        return own_properties(database)
    fields = {
        DESCRIPTION: database.description,
        LOCATION: opened_as(database.location or ""),
        OWNER: database.owner,
    }
    told = {name: text for names, text in fields.items() if text for name in names}
    return {**told, **own_properties(database)}


def own_properties(database: HiveDatabase) -> dict[str, str]:
    """Those among its parameters."""
    return {k: v for k, v in database.parameters.items() if not is_reserved(k, ())}


def with_fields(database: HiveDatabase, given: Mapping[str, str]) -> HiveDatabase:
    """The database with those of its fields that properties mean."""
    kind = given.get(OWNER_TYPE, "USER").upper()
    if kind not in OWNER_TYPES:
        raise errors.InvalidInputError(
            f"property {OWNER_TYPE!r} is one of {', '.join(OWNER_TYPES)}, not {kind!r}"
        )
    return replace(
        database,
        description=_first(given, DESCRIPTION) or database.description,
        location=_first(given, LOCATION) or database.location,
        owner=_first(given, OWNER) or database.owner,
        owner_type=OWNER_TYPES[kind] if OWNER_TYPE in given else database.owner_type,
    )


def _first(given: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if given.get(name)), None)
