"""What a metastore keeps: catalogs, databases, tables; and locks, which it keeps for a while."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from lanceyard.catalog.hive.metastore.generated import ttypes

EXTERNAL_TABLE = "EXTERNAL_TABLE"
USER = 1
"""Of the kinds of owners: users, roles, groups."""


@dataclass(frozen=True, slots=True)
class DatabaseName:
    """The name of a database, in a catalog where the server has such."""

    name: str
    catalog: str | None = None

    def __str__(self) -> str:
        """As calls carry it that know of no catalogs."""
        return self.name if self.catalog is None else f"@{self.catalog}#{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveCatalog:
    """A catalog of Hive 3 and newer."""

    name: str
    location: str
    description: str | None = None

    @classmethod
    def received(cls, said: Any) -> Self:
        """Read what a server sent."""
        return cls(name=said.name, location=said.locationUri or "", description=said.description)

    def sent(self) -> Any:
        """What a server is sent."""
        return ttypes.Catalog(
            name=self.name, locationUri=self.location, description=self.description
        )


@dataclass(frozen=True, slots=True)
class HiveDatabase:
    """A database; what came from a server keeps what has no field here."""

    where: DatabaseName
    location: str | None = None
    """Where its tables are, by default; None lets the server decide."""
    description: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    owner_type: int = USER
    _origin: Any = field(default=None, repr=False, compare=False, kw_only=True)

    @classmethod
    def received(cls, said: Any, where: DatabaseName) -> Self:
        """Read what a server sent."""
        return cls(
            DatabaseName(said.name, where.catalog),
            said.locationUri,
            said.description,
            said.parameters or {},
            said.ownerName,
            said.ownerType or USER,
            _origin=said,
        )

    def sent(self) -> Any:
        """What a server is sent."""
        made = ttypes.Database() if self._origin is None else copy.copy(self._origin)
        made.name = self.where.name
        made.catalogName = self.where.catalog
        made.locationUri = self.location
        made.description = self.description
        made.parameters = dict(self.parameters)
        made.ownerName = self.owner
        made.ownerType = None if self.owner is None else self.owner_type
        return made


@dataclass(frozen=True, slots=True)
class Column:
    """A column, as Hive sees it."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Formats:
    """The Java classes with which Hive would read the files of a table."""

    input: str
    output: str
    serde: str


@dataclass(frozen=True, slots=True)
class HiveTable:
    """A table; what came from a server keeps what has no field here."""

    where: DatabaseName
    name: str
    location: str | None
    """None for views."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    table_type: str = EXTERNAL_TABLE
    """What is external and says ``EXTERNAL=TRUE`` among its parameters, too, keeps its files."""
    owner: str | None = None
    columns: Sequence[Column] = ()
    formats: Formats | None = None
    _origin: Any = field(default=None, repr=False, compare=False, kw_only=True)

    @classmethod
    def received(cls, said: Any, where: DatabaseName) -> Self:
        """Read what a server sent."""
        storage = said.sd or ttypes.StorageDescriptor()
        serde = storage.serdeInfo
        return cls(
            DatabaseName(said.dbName, where.catalog),
            said.tableName,
            storage.location,
            said.parameters or {},
            said.tableType or "",
            said.owner,
            tuple(Column(each.name, each.type, each.comment) for each in storage.cols or ()),
            Formats(
                storage.inputFormat or "",
                storage.outputFormat or "",
                (serde.serializationLib if serde else None) or "",
            ),
            _origin=said,
        )

    def sent(self) -> Any:
        """What a server is sent."""
        made = _new_table() if self._origin is None else copy.deepcopy(self._origin)
        made.tableName = self.name
        made.dbName = self.where.name
        made.catName = self.where.catalog
        made.owner = self.owner
        made.parameters = dict(self.parameters)
        made.tableType = self.table_type
        made.sd.location = self.location
        made.sd.cols = [
            ttypes.FieldSchema(each.name, each.type, each.comment) for each in self.columns
        ]
        if self.formats is not None:
            made.sd.inputFormat = self.formats.input
            made.sd.outputFormat = self.formats.output
            made.sd.serdeInfo.serializationLib = self.formats.serde
        return made


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock on a table: held, or asked for."""

    number: int
    is_held: bool


def _new_table() -> Any:
    """A table with all that servers take for granted."""
    storage = ttypes.StorageDescriptor(
        cols=[],
        compressed=False,
        numBuckets=-1,
        serdeInfo=ttypes.SerDeInfo(parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
        storedAsSubDirectories=False,
    )
    return ttypes.Table(
        createTime=0, lastAccessTime=0, retention=0, sd=storage, partitionKeys=[], temporary=False
    )
