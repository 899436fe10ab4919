"""Views: tables that are made of others, as their properties say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from lanceyard.errors import InvalidInputError
from lanceyard.identifier import Identifier

VIEW = "lanceyard.view"
"""The property that makes a table a view."""


@dataclass(frozen=True)
class View:
    """What a view is made of: a query, and the tables behind the names it uses."""

    sql: str
    tables: Mapping[str, Identifier]

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self | None:
        """The view that a table with these properties is; None for what is none.

        What others wrote into the property counts for nothing if it is not in our form.
        """
        said = properties.get(VIEW)
        if said is None:
            return None
        try:
            found = json.loads(said)
            tables = {str(n): Identifier.from_object_id(i) for n, i in found["tables"].items()}
            return cls(str(found["sql"]), tables)
        except (ValueError, TypeError, KeyError, AttributeError, InvalidInputError):
            return None

    @property
    def properties(self) -> dict[str, str]:
        """The properties that say so."""
        tables = {name: identifier.object_id for name, identifier in self.tables.items()}
        return {VIEW: json.dumps({"sql": self.sql, "tables": tables}, ensure_ascii=False)}


def bases(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The object ids of the tables that a view is made of; none for what is no view."""
    view = View.of(properties)
    if view is None:
        return ()
    return tuple(sorted({identifier.object_id for identifier in view.tables.values()}))


def rebased(properties: Mapping[str, str], base: str, target: str) -> dict[str, str]:
    """The properties of a view after one of its bases got another object id."""
    view = View.of(properties)
    assert view is not None
    moved = Identifier.from_object_id(target)
    tables = {n: moved if i.object_id == base else i for n, i in view.tables.items()}
    return {**properties, **View(view.sql, tables).properties}
