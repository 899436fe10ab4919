"""Lance tables as the metastore keeps them: external tables whose parameters say what they are.

| parameter | |
|---|---|
| ``table_type`` | ``lance``, in any case: what makes it a Lance table |
| ``EXTERNAL`` | ``TRUE``, or a DROP of Hive or Spark would delete the data |
| ``managed_by`` | ``storage`` or ``impl``: who decides which version is the latest |
| ``version`` | with ``impl``: the number of the latest version, ``0`` for none |
| ``lanceyard_version`` | what is known of that version |
| ``lanceyard_change`` | a random text, another one after each change of ours |
| ``lanceyard_location`` | the location, once more, so that the server can filter by it |
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from lanceyard.catalog.base import TableEntry
from lanceyard.catalog.hive.locations import lies_in_something, opened_as
from lanceyard.catalog.hive.metastore.records import (
    EXTERNAL_TABLE,
    Column,
    DatabaseName,
    Formats,
    HiveTable,
)
from lanceyard.catalog.hive.names import check_value, is_reserved
from lanceyard.catalog.version_files import number_of
from lanceyard.catalog.versions import TableVersion
from lanceyard.errors import InvalidInputError, InvalidTableStateError
from lanceyard.identifier import Identifier

TYPE = "table_type"
LANCE = "lance"
MANAGED_BY = "managed_by"
VERSION = "version"
CHANGE = "lanceyard_change"
LOCATION = "lanceyard_location"
LATEST = "lanceyard_version"
ALTERED = "transient_lastDdlTime"
"""When the server last saw a change, in seconds."""
RESERVED = frozenset(
    {
        "EXTERNAL",
        TYPE,
        MANAGED_BY,
        VERSION,
        ALTERED,
        "empty_table",
        "last_modified_by",
        "last_modified_time",
        "numFiles",
        "numFilesErasureCoded",
        "numRows",
        "rawDataSize",
        "totalSize",
        "COLUMN_STATS_ACCURATE",
        "bucketing_version",
        "DO_NOT_UPDATE_STATS",
    }
)
"""What Hive, the official implementations and we keep among the parameters of a table."""
PLACEHOLDER = Column("__placeholder_id", "bigint", "the columns are in the Lance table")
TEXT = Formats(
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
"""Classes that every Hive and Spark has: one that is missing keeps them even from renaming."""


class ManagedBy(Enum):
    """Who decides which version of a table is the latest (document 002)."""

    STORAGE = "storage"
    """What lies in the table's directory."""
    IMPL = "impl"
    """The metastore."""


@dataclass(frozen=True, slots=True)
class LanceTable:
    """A table of the metastore that is a Lance table."""

    record: HiveTable

    @classmethod
    def new(
        cls,
        where: DatabaseName,
        name: str,
        location: str,
        properties: Mapping[str, str],
        managed_by: ManagedBy,
    ) -> Self:
        """A table that is about to be created, without versions."""
        said = {
            **properties,
            "EXTERNAL": "TRUE",
            TYPE: LANCE,
            MANAGED_BY: managed_by.value,
            LOCATION: opened_as(location),
        }
        if managed_by is ManagedBy.IMPL:
            said[VERSION] = "0"
        return cls(
            HiveTable(where, name, location, parameters=said, columns=(PLACEHOLDER,), formats=TEXT)
        )

    @classmethod
    def of(cls, identifier: Identifier, record: HiveTable) -> Self:
        """The Lance table that a table of the metastore is.

        Raises `InvalidInputError` for any other, and `InvalidTableStateError` for one whose
        location is none that a table could have.
        """
        if not is_lance(record):
            raise InvalidInputError(
                f"table {identifier} of the metastore is not a Lance table: its parameter "
                f"{TYPE!r} is {record.parameters.get(TYPE)!r}"
            )
        found = cls(record)
        if not lies_in_something(found.location):
            raise InvalidTableStateError(
                f"table {identifier} has the location {record.location!r}, which is no directory "
                "of its own; it is neither read nor written"
            )
        return found

    @property
    def location(self) -> str:
        """The address under which Lance opens it."""
        return opened_as(self.record.location or "")

    @property
    def is_whole(self) -> bool:
        """Whether location and parameters were read in one state; also if others moved the table.

        A server reads them one after the other, and somebody may change both in between.
        """
        return self.record.parameters.get(LOCATION, self.location) == self.location

    @property
    def change(self) -> str | None:
        """The mark of our last change; None if there was none."""
        return self.record.parameters.get(CHANGE)

    @property
    def is_external(self) -> bool:
        """Whether the server leaves its files alone, whatever becomes of the table."""
        return self.record.parameters.get("EXTERNAL", "").upper() == "TRUE"

    @property
    def properties(self) -> dict[str, str]:
        """The user's own, among its parameters."""
        said = self.record.parameters
        return {key: value for key, value in said.items() if not is_reserved(key, RESERVED)}

    @property
    def is_managed(self) -> bool:
        """Whether its versions are those that the metastore knows."""
        return self.record.parameters.get(MANAGED_BY, "").lower() == ManagedBy.IMPL.value

    @property
    def version(self) -> int:
        """The number of the latest version, 0 for none, where the metastore knows."""
        said = self.record.parameters.get(VERSION, "")
        return int(said) if said.isascii() and said.isdecimal() else 0

    @property
    def is_new(self) -> bool:
        """Whether the metastore has never known a version of it."""
        return not self.version and LATEST not in self.record.parameters

    @property
    def latest(self) -> TableVersion | None:
        """What the metastore knows of the latest version; None if others have moved it."""
        said = self.record.parameters.get(LATEST)
        found = None if said is None else TableVersion.from_json(self.version, said)
        return found if found is not None and number_of(found.manifest) == self.version else None

    @property
    def entry(self) -> TableEntry:
        """What a catalog tells of it."""
        version = self.version if self.is_managed else None
        return TableEntry(self.location, self.properties, self.is_managed, version)

    def replaced_by(self, other: Self) -> Self:
        """The table with the location and the parameters of another, under its own name."""
        location, said = other.record.location, other.record.parameters
        return type(self)(
            replace(self.record, location=location, parameters=said, table_type=EXTERNAL_TABLE)
        )

    def with_properties(self, properties: Mapping[str, str]) -> Self:
        """The table with other properties."""
        kept = {k: v for k, v in self.record.parameters.items() if is_reserved(k, RESERVED)}
        return self.with_parameters({**properties, **kept})

    def with_parameters(self, parameters: Mapping[str, str]) -> Self:
        """The table with other parameters."""
        return type(self)(replace(self.record, parameters=parameters))

    def at_version(self, version: TableVersion | None) -> Self:
        """The table with another latest version, or none. Raises `InvalidInputError`."""
        number, known = (0, "{}") if version is None else (version.number, version.to_json("."))
        check_value("metadata", known)
        said = {**self.record.parameters, VERSION: str(number), LATEST: known}
        return self.with_parameters(said)

    def made_external(self) -> Self:
        """The table as one whose files the server leaves alone."""
        said = {**self.record.parameters, "EXTERNAL": "TRUE"}
        return type(self)(replace(self.record, table_type=EXTERNAL_TABLE, parameters=said))

    def renamed(self, where: DatabaseName, name: str) -> Self:
        """The table under another name; it stays where it lies."""
        return type(self)(replace(self.record, where=where, name=name))

    def marked(self) -> Self:
        """The table with a new mark, by which the change is known to have been made."""
        return self.with_parameters({**self.record.parameters, CHANGE: uuid.uuid4().hex})


def is_lance(record: HiveTable) -> bool:
    """Whether a table of the metastore says that it is a Lance table."""
    return record.parameters.get(TYPE, "").lower() == LANCE
