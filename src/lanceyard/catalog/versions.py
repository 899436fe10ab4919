"""Table versions as a catalog keeps them (documents 003 and 004), and what is done in batches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from lanceyard.catalog.ranges import Ranges
from lanceyard.identifier import DELIMITER, Identifier

STAGED = ".manifest-"
"""Between the number and the random part in the name of a manifest that is not published yet."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table: where its manifest lies, and what was said of it."""

    number: int
    manifest: str
    """The name of the manifest file in ``_versions``; a staged one until it is published."""
    size: int | None = None
    e_tag: str | None = None
    timestamp_millis: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    staged_as: str | None = None
    """The name under which its writer staged the manifest: the same request again succeeds."""

    @property
    def is_staged(self) -> bool:
        """Whether the manifest has not been seen under its final name."""
        return STAGED in self.manifest

    @property
    def final(self) -> str:
        """The name that the manifest has, or gets, once it is published."""
        return final_name(self.manifest)

    def published(self) -> Self:
        """The version once its manifest has its final name."""
        return replace(self, manifest=self.final)

    def is_same_request(self, other: TableVersion) -> bool:
        """Whether two requests were one and the same, sent twice."""
        if self.staged_as is not None and self.staged_as == other.staged_as:
            return True
        return self.e_tag is not None and self.e_tag == other.e_tag and self.size == other.size

    def to_json(self, location: str) -> str:
        """The metadata of a row; paths count from the root of the catalog."""
        folder = f"{location}/_versions"
        said = {
            "manifest_path": f"{folder}/{self.manifest}",
            "manifest_size": self.size,
            "e_tag": self.e_tag,
            "naming_scheme": "V2" if len(self.final.partition(".")[0]) == 20 else "V1",  # noqa: PLR2004
            "timestamp_millis": self.timestamp_millis,
            "metadata": dict(self.metadata),
            "staging_path": self.staged_as and f"{folder}/{self.staged_as}",
        }
        return json.dumps({k: v for k, v in said.items() if v}, ensure_ascii=False)

    @classmethod
    def from_json(cls, number: int, text: str | None) -> Self:
        """Read the metadata of a row; what others left out is unknown."""
        said = json.loads(text or "{}")
        staged_as = said.get("staging_path")
        return cls(
            number,
            _name(said.get("manifest_path", "")),
            said.get("manifest_size"),
            said.get("e_tag"),
            said.get("timestamp_millis"),
            said.get("metadata") or {},
            None if staged_as is None else _name(staged_as),
        )


@dataclass(frozen=True, slots=True)
class Declare:
    """Reserve a name and a location, as a step of a batch."""

    identifier: Identifier
    location: str | None
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CreateVersion:
    """Publish a staged manifest as a version of a table."""

    identifier: Identifier
    version: TableVersion


@dataclass(frozen=True, slots=True)
class DeleteVersions:
    """Forget versions of a table; data files stay."""

    identifier: Identifier
    numbers: Ranges
    must_exist: bool = False


@dataclass(frozen=True, slots=True)
class Deregister:
    """Forget a table and keep its files, as a step of a batch."""

    identifier: Identifier


Step = Declare | CreateVersion | DeleteVersions | Deregister


def final_name(manifest: str) -> str:
    """The name under which a manifest is published."""
    return manifest.partition(".")[0] + ".manifest"


def version_id(table: str, number: int) -> str:
    """The object id of a version."""
    return f"{table}{DELIMITER}{number}"


def split_version_id(object_id: str) -> tuple[str, int] | None:
    """The table and the number that an object id of a version speaks of.

    None for others: the reference once padded the number with zeros.
    """
    table, _, text = object_id.rpartition(DELIMITER)
    number = int(text) if text.isascii() and text.isdecimal() else 0
    return (table, number) if table and number and str(number) == text else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]
