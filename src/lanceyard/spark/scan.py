"""A scan: one version of a table, and which of its columns are read."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

import pyarrow as pa
from pyspark.sql.types import FloatType, LongType, StructType

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.spark.options import Options
from lanceyard.spark.reference import Place, open_table
from lanceyard.spark.types import spark_schema
from lanceyard.spark.worker import spare_imports

if TYPE_CHECKING:
    from lance import LanceDataset

Version = int | tuple[str, int]
"""A version of the main line, or of a branch."""

FRAGMENT = "_fragment"
EXTRA = {
    "_rowid": LongType(),
    "_rowaddr": LongType(),
    FRAGMENT: LongType(),
    "_distance": FloatType(),
    "_score": FloatType(),
}
"""Columns that Lance, or `lanceyard.spark.reader`, adds to those of the table."""


@dataclass(frozen=True, eq=False)
class Scan:
    """A version of a table that was looked up once; tasks open it without asking the catalog."""

    options: Options
    place: Place
    version: Version
    id: str
    """Of this scan alone: the same version of the same place may be another table tomorrow."""
    found: LanceDataset | None = field(default=None, repr=False)
    """The version, in the process that has looked it up."""

    @classmethod
    def open(cls, options: Options) -> Self:
        """Look up the table, and the version that the options ask for.

        Raises
        ------
        LanceNamespaceError
            The table, or the version, tag or branch of it, does not exist.
        """
        place = options.reference.require()
        found = _checkout(options, place)
        spare_imports()
        return cls(options, place, _version(found, options), uuid.uuid4().hex, found)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "found": None}

    def at(self, version: Version) -> Self:
        """The same at another version."""
        return self if version == self.version else replace(self, version=version, found=None)

    @property
    def dataset(self) -> LanceDataset:
        """The open version; opened once in each process."""
        if self.found is not None:
            return self.found
        try:
            return _open(self.place, self.version, self.id)
        except (ValueError, OSError) as cause:
            raise failed(self, cause) from cause

    @property
    def schema(self) -> StructType:
        """The Spark schema of what is read."""
        from lanceyard.namespace import datasets

        schema = datasets.schema(self.dataset)
        if self.options.columns is not None:
            self.require_columns(self.options.columns)
            schema = pa.schema([schema.field(name) for name in self.options.columns])
        found = spark_schema(schema)
        for name in self._extra():
            found.add(name, EXTRA[name])
        return found

    def require_columns(self, names: Iterable[str]) -> None:
        """Refuse columns that this version does not have."""
        has = self.dataset.schema.names
        for name in names:
            if name not in has and name not in EXTRA:
                raise errors.InvalidInputError(
                    f"version {self.version} of table {self.options.reference} has no column "
                    f"{name!r}: it has {', '.join(has)}"
                )

    def _extra(self) -> list[str]:
        asked = {
            "_distance": self.options.nearest is not None,
            "_score": self.options.full_text_query is not None,
            "_rowid": self.options.with_row_id,
            "_rowaddr": self.options.with_row_address,
        }
        return [name for name, wanted in asked.items() if wanted]


def failed(scan: Scan, cause: Exception) -> Exception:
    """What to tell of a read that failed."""
    table = scan.options.reference
    if "not found" in str(cause).lower():
        return errors.ConcurrentModificationError(
            f"table {table} was dropped, or version {scan.version} of it was cleaned away, while "
            f"it was read: {cause}"
        )
    if isinstance(cause, OSError):
        return errors.storage_failure(f"reading table {table}", cause)
    return errors.InvalidInputError(f"cannot read table {table}: {cause}")


@lru_cache(maxsize=16)
def _open(place: Place, version: Version, scan_id: str) -> LanceDataset:  # noqa: ARG001
    number = version if isinstance(version, int) else None
    dataset = open_table(place, number)
    spare_imports()
    return dataset if number is not None else dataset.checkout_version(version)


def _checkout(options: Options, place: Place) -> LanceDataset:
    from lanceyard.namespace import datasets

    dataset = open_table(place)
    if options.timestamp is not None:
        return _as_of(dataset, options)
    identifier = Identifier(options.reference.table or (str(options.reference),))
    return datasets.open_at(
        dataset, identifier, version=options.version, tag=options.tag, branch=options.branch
    )


def _as_of(dataset: LanceDataset, options: Options) -> LanceDataset:
    assert options.timestamp is not None
    try:
        moment = datetime.fromisoformat(options.timestamp)
    except ValueError as cause:
        raise errors.InvalidInputError(f"option timestamp: {cause}") from cause
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    # Lance's own `asof` compares naive local times.
    numbers = [
        found["version"]
        for found in dataset.versions()
        if cast("datetime", found["timestamp"]).astimezone(UTC) <= moment
    ]
    if not numbers:
        raise errors.TableVersionNotFoundError(
            f"table {options.reference} had no version at {options.timestamp}"
        )
    return dataset.checkout_version(max(numbers))


def _version(dataset: LanceDataset, options: Options) -> Version:
    from lanceyard.namespace import datasets

    branch = options.branch
    if options.tag is not None:
        branch = datasets.list_tags(dataset)[options.tag]["branch"]
    on_branch = branch is not None and branch != "main"
    return (str(branch), int(dataset.version)) if on_branch else int(dataset.version)
