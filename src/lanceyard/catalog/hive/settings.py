"""Settings: the properties of a Hive catalog, parsed once, each with its meaning."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from lanceyard.catalog.hive.metastore.settings import PROPERTIES, MetastoreSettings
from lanceyard.catalog.hive.tables import ManagedBy
from lanceyard.errors import InvalidInputError
from lanceyard.settings import (
    DEFAULT_WINDOW,
    STORAGE,
    Durability,
    parse_durability,
    parse_root,
    parse_seconds,
    storage_name,
)

PREFIX = "hive."


@dataclass(frozen=True, kw_only=True)
class HiveSettings:
    """How a Hive catalog behaves."""

    metastore: MetastoreSettings = field(default_factory=MetastoreSettings)
    """Where the metastore is, and how to speak to it."""
    root: str | None = None
    """Where new databases and tables go; None leaves that to the metastore."""
    managed_by: ManagedBy = ManagedBy.STORAGE
    """Who decides which version of a new table is the latest."""
    durability: Durability = Durability.FSYNC
    """What an acknowledged write survives."""
    window: float = DEFAULT_WINDOW
    """Seconds before anything that another process might still need is removed."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """Options of the object store, by Lance's names."""

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Parse properties; each may begin with ``hive.`` (document 002).

        Raises
        ------
        InvalidInputError
            A property is unknown, given twice, or has a value that cannot be read.
        """
        given = _unprefixed(properties)
        storage = {storage_name(k): v for k, v in given.items() if k.startswith(STORAGE)}
        metastore = {k: v for k, v in given.items() if k in PROPERTIES}
        values: dict[str, Any] = {}
        for key in given.keys() - metastore.keys():
            if key in PARSERS:
                values[key] = PARSERS[key](key, given[key])
            elif not key.startswith(STORAGE):
                raise _unknown(key)
        spoken = MetastoreSettings.from_properties(metastore)
        return cls(metastore=spoken, storage=storage, **values)


def parse_managed_by(name: str, text: str) -> ManagedBy:
    """Read who manages tables."""
    try:
        return ManagedBy(str(text).lower())
    except ValueError as cause:
        valid = " or ".join(each.value for each in ManagedBy)
        raise InvalidInputError(f"property {name!r} is {valid}, not {text!r}") from cause


PARSERS: dict[str, Callable[[str, str], object]] = {
    "root": parse_root,
    "managed_by": parse_managed_by,
    "durability": parse_durability,
    "window": parse_seconds,
}


def _unprefixed(properties: Mapping[str, str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, text in properties.items():
        key = name.removeprefix(PREFIX)
        if given.setdefault(key, text) != text:
            raise InvalidInputError(f"property {key!r} is given twice, with different values")
    return given


def _unknown(name: str) -> InvalidInputError:
    valid = sorted([*PARSERS, *PROPERTIES, "storage.*"])
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"valid are {', '.join(valid)}"
    return InvalidInputError(f"unknown property {name!r}: {hint}")
