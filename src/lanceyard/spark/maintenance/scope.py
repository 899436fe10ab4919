"""The scope of maintenance: one table, a namespace with all below it, or the whole catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.namespace import CatalogName, properties_of
from lanceyard.spark.reference import TableReference

if TYPE_CHECKING:
    from lanceyard.yard import Yard

_ROOT = Identifier()


@dataclass(frozen=True)
class Scope:
    """Tables that something is to be done to."""

    references: tuple[TableReference, ...]
    is_one: bool
    """Whether exactly one table was named: then it must exist, and its failure is raised."""
    yard: Yard | None
    """The catalog that they are in; None for a path."""

    @classmethod
    def read(cls, name: str | None, catalog: CatalogName | None) -> Self:
        """The tables that a name means; all of a catalog without one.

        Without a catalog the name is the path of a table.

        Raises
        ------
        LanceNamespaceError
            There is neither a table nor a namespace of that name.
        """
        from lanceyard.yard import open as open_yard
        from lanceyard.yard.names import read_name

        if catalog is None:
            if name is None:
                raise errors.InvalidInputError("say which catalog, or the path of a table")
            return cls((TableReference.take({"path": name}),), is_one=True, yard=None)
        properties = properties_of(catalog)
        yard = open_yard(properties)
        top = read_name(name or "")
        if yard.find(top).is_table:
            one = TableReference(table=tuple(top), catalog=properties)
            return cls((one,), is_one=True, yard=yard)
        found = [
            TableReference(table=tuple(table), catalog=properties)
            for table in tables_below(yard, top)
        ]
        return cls(tuple(found), is_one=False, yard=yard)


def tables_below(yard: Yard, top: Identifier = _ROOT) -> Iterator[Identifier]:
    """All tables in a namespace, and in those below it."""
    return (found.identifier for found in yard.walk(top) if found.is_table)
