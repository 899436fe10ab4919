"""Rows: the tables of the metastore, found, listed by its own filter, added and taken out.

A metastore drops by name alone. So a table is first given a name that is nobody else's, by a swap
that fails if it is no longer the table that was seen, and dropped under that name: whoever stood
still for long in between cannot drop what others have made since under the old one.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from enum import Enum

from lanceyard import errors
from lanceyard.catalog.hive.databases import Databases
from lanceyard.catalog.hive.locations import opened_as
from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveTable
from lanceyard.catalog.hive.names import check_names
from lanceyard.catalog.hive.swaps import Swaps, insist, read_whole
from lanceyard.catalog.hive.tables import LANCE, LOCATION, TYPE, LanceTable
from lanceyard.identifier import Identifier

FIELD = "hive_filter_field_params__"
LANCE_TABLES = f'{FIELD}{TYPE} like "(?i){LANCE}"'
LEAVING = "lanceyard_leaving_"
"""What the names of tables begin with that are about to go."""


class Leaving(Enum):
    """Why a table goes, as its type tells from then on: it is no Lance table any more."""

    DROPPED = "lance-dropped"
    """Its data goes, too."""
    DEREGISTERED = "lance-deregistered"
    """Its data stays."""


class Rows:
    """The tables of a metastore."""

    def __init__(self, metastore: Metastore, databases: Databases, swaps: Swaps) -> None:
        """Look at the tables of databases."""
        self._metastore = metastore
        self._databases = databases
        self._swaps = swaps

    def find(self, identifier: Identifier) -> LanceTable | None:
        """A table; None if there is none.

        Raises `NamespaceNotFoundError`, and `InvalidInputError` for what is not a Lance table.
        """
        check_names(identifier)
        where = self._databases.name(identifier.parent)
        if where is None:
            self._databases.describe(identifier.parent)
            return None
        try:
            found = read_whole(self._metastore, where, identifier.name)
        except failures.NoSuchObjectError:
            self._databases.find(identifier.parent)
            return None
        return LanceTable.of(identifier, found.record)

    def require(self, identifier: Identifier) -> LanceTable:
        """A table. Raises `TableNotFoundError`, `NamespaceNotFoundError`, `InvalidInputError`."""
        found = self.find(identifier)
        if found is None:
            raise errors.table_not_found(identifier)
        return found

    def again(self, identifier: Identifier, seen: LanceTable) -> LanceTable:
        """A table as it is by now, if it is still the one that was seen.

        Raises `ConcurrentModificationError` if it is another one.
        """
        found = self.require(identifier)
        if found.location != seen.location:
            raise errors.ConcurrentModificationError(
                f"table {identifier} was replaced by another one meanwhile; try again"
            )
        return found

    def database(self, identifier: Identifier) -> DatabaseName:
        """The database that a table is to be in.

        Raises
        ------
        TableAlreadyExistsError
            A namespace has the name.
        UnsupportedOperationError
            Hive has no tables there.
        """
        check_names(identifier)
        where = self._databases.name(identifier.parent)
        if where is not None:
            return where
        self._databases.describe(identifier.parent)
        if identifier.name in self._databases.names(identifier.parent):
            raise errors.table_exists(identifier, "a namespace of that name exists")
        raise errors.UnsupportedOperationError(
            f"table {identifier} cannot be created: Hive has tables in databases only"
        )

    def names(self, parent: Identifier) -> list[str]:
        """The names of the Lance tables of a namespace, sorted; two calls."""
        self._databases.describe(parent)
        where = self._databases.name(parent)
        return [] if where is None else sorted(self._lance_names(where))

    def all(self) -> list[Identifier]:
        """The Lance tables of all databases; one call for each database."""
        found = []
        for parent in self._databases.all():
            where = self._databases.name(parent)
            assert where is not None
            found += [Identifier((*parent, name)) for name in self._lance_names(where)]
        return found

    def others(self, parent: Identifier) -> list[str]:
        """The names of the tables of a database that are not Lance tables, and are to stay."""
        where = self._databases.find(parent).where
        ours = set(self._lance_names(where))
        names = [name for name in self._metastore.table_names(where) if name not in ours]
        return [name for name in names if not name.startswith(LEAVING)]

    def tables(self, parent: Identifier) -> list[LanceTable]:
        """The Lance tables of a database, with all that is known of them."""
        where = self._databases.find(parent).where
        records = self._metastore.find_tables(where, sorted(self._lance_names(where)))
        return [LanceTable(record) for record in records]

    def leaving(self, parent: Identifier) -> list[tuple[LanceTable, Leaving]]:
        """The tables of a database that were about to go when something stopped it."""
        where = self._databases.find(parent).where
        names = [n for n in self._metastore.table_names(where) if n.startswith(LEAVING)]
        reasons = {each.value: each for each in Leaving}
        return [
            (LanceTable(record), reasons[record.parameters[TYPE]])
            for record in self._metastore.find_tables(where, names)
            if record.parameters.get(TYPE) in reasons
        ]

    def overlapping(self, location: str, root: str) -> Iterator[LanceTable]:
        """The tables that lie at a location in a root, in it or around it, as far as we made them.

        One call for each database, and one more for each that has such tables.
        """
        location, root = opened_as(location), opened_as(root)
        parts = location.removeprefix(f"{root}/").split("/")
        around = ["/".join([root, *parts[:end]]) for end in range(1, len(parts))]
        patterns = [*map(_pattern, around), _pattern(location) + ".*"]
        expression = " or ".join(f'{FIELD}{LOCATION} like "{each}"' for each in patterns)
        for parent in self._databases.all():
            where = self._databases.name(parent)
            assert where is not None
            names = self._metastore.filtered_table_names(where, expression)
            for record in self._metastore.find_tables(where, names):
                if _overlap(opened_as(record.location or ""), location):
                    yield LanceTable(record)

    def add(self, identifier: Identifier, table: LanceTable) -> LanceTable:
        """Create a table. Raises `TableAlreadyExistsError`, `NamespaceNotFoundError`."""
        marked = table.marked()
        try:
            insist(lambda: self._metastore.create_table(marked.record))
        except failures.AlreadyExistsError as cause:
            # By the request whose reply was lost?
            found = self.find(identifier)
            if found is None or found.change != marked.change:
                raise errors.table_exists(identifier) from cause
        except (failures.InvalidObjectError, failures.NoSuchObjectError) as cause:
            self._databases.find(identifier.parent)
            raise errors.InvalidInputError(f"Hive refuses table {identifier}: {cause}") from cause
        return marked

    def take_out(self, seen: LanceTable, reason: Leaving) -> LanceTable:
        """Give a table that was seen a name under which only we know it. Raises `ConflictError`."""
        name = LEAVING + uuid.uuid4().hex
        leaving = seen.renamed(seen.record.where, name)
        leaving = leaving.with_parameters({**leaving.record.parameters, TYPE: reason.value})
        return self._swaps.swap(seen, leaving)

    def forget(self, leaving: LanceTable) -> None:
        """Drop a table that was taken out; its data is the caller's affair."""
        try:
            insist(lambda: self._metastore.drop_table(leaving.record.where, leaving.record.name))
        except failures.NoSuchObjectError:
            return  # by the request whose reply was lost, or by a repair

    def _lance_names(self, where: DatabaseName) -> list[str]:
        return self._metastore.filtered_table_names(where, LANCE_TABLES)


def is_leaving(record: HiveTable) -> bool:
    """Whether a table is about to go."""
    return record.name.startswith(LEAVING)


def _pattern(location: str) -> str:
    """What a location matches in a filter, and perhaps others do: they are looked at again."""
    return re.sub(r"[^A-Za-z0-9/]+", ".*", location)


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
