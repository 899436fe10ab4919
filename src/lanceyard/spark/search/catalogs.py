"""Catalogs in which searches look tables up, by the names that SQL has for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from lanceyard import errors
from lanceyard.identifier import DELIMITER
from lanceyard.namespace import CatalogName, properties_of
from lanceyard.spark.reference import TableReference
from lanceyard.yard.names import read_name

_QUOTED = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_NAME = re.compile(rf"(?:{_QUOTED.pattern})(?:\.(?:{_QUOTED.pattern}))*")


@dataclass(frozen=True)
class Catalogs:
    """The catalogs of a session, as properties that other processes understand, too."""

    named: Mapping[str, dict[str, str]] = field(default_factory=dict)
    default: dict[str, str] | None = None
    """Where tables are whose name begins with no catalog."""

    @classmethod
    def read(cls, catalog: CatalogName | None, catalogs: Mapping[str, CatalogName] | None) -> Self:
        """The default catalog and those with a name. Raises `InvalidInputError` without any."""
        if catalog is None and not catalogs:
            raise errors.InvalidInputError(
                "name the catalogs to search in: catalogs={'yard': './catalog'}"
            )
        named = {name: properties_of(each) for name, each in (catalogs or {}).items()}
        return cls(named, None if catalog is None else properties_of(catalog))

    def table(self, name: str) -> TableReference:
        """The table that a name means: ``yard.shop.fruits``, with backticks around odd names.

        Raises
        ------
        InvalidInputError
            It names no catalog, or no table in one.
        """
        first, *rest = parts(name)
        catalog, table = (self.named.get(first) if rest else None), rest
        if catalog is None:
            catalog, table = self.default, [first, *rest]
        if catalog is None:
            known = ", ".join(f"{known}.…" for known in sorted(self.named))
            raise errors.InvalidInputError(
                f"{name!r} is no table of a catalog that searches know: names begin with {known}"
            )
        return TableReference(table=tuple(read_name(table)), catalog=catalog)


def parts(name: str) -> list[str]:
    """The parts of a name, as Spark writes it or as `read_name` reads it."""
    if "`" not in name:
        found = list(read_name(name))
    elif DELIMITER not in name and _NAME.fullmatch(name):
        found = [
            quoted.replace("``", "`") if quoted else plain
            for quoted, plain in _QUOTED.findall(name)
        ]
    else:
        found = []
    if not found:
        raise errors.InvalidInputError(f"{name!r} is not the name of a table")
    return found
