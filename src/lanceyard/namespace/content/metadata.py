"""The operations on the metadata in the schema of a table, and of its fields."""

from __future__ import annotations

from collections.abc import Iterable

from lance_namespace import (
    UpdateFieldMetadataRequest,
    UpdateFieldMetadataResponse,
    UpdateTableSchemaMetadataRequest,
    UpdateTableSchemaMetadataResponse,
)

from lanceyard import errors
from lanceyard.catalog.properties import PENDING
from lanceyard.namespace.content.base import ContentOperations
from lanceyard.namespace.content.fields import check_unique, find_field
from lanceyard.namespace.operations import operation
from lanceyard.namespace.requests import read_texts

INTERNAL = PENDING.decode()

MEANINGFUL = ("ARROW:extension:", "lance-encoding:blob")
"""How keys begin by which Arrow and Lance know the type of a field."""


def check_metadata(metadata: Iterable[str]) -> None:
    """Refuse keys that change what the values of a field are; tables would become unreadable.

    Raises `InvalidInputError`.
    """
    for key in metadata:
        if key.startswith(MEANINGFUL):
            raise errors.InvalidInputError(f"the key {key!r} says what the values are: leave it")


class MetadataOperations(ContentOperations):
    """Update what the schemas of tables say beside names and types."""

    @operation
    def update_field_metadata(
        self, request: UpdateFieldMetadataRequest
    ) -> UpdateFieldMetadataResponse:
        """Merge into, or replace, the metadata of fields, in one commit. A null deletes a key."""
        from lance import LanceDataset, LanceOperation

        request = read_texts(UpdateFieldMetadataRequest, request)
        if not request.updates:
            raise errors.InvalidInputError("there are no fields to update")
        for entry in request.updates:
            check_metadata(entry.metadata)
        with self._writing(request.id, branch=request.branch) as dataset:
            fields = [find_field(dataset, entry.path) for entry in request.updates]
            check_unique(fields)
            updates = {
                field.number: LanceOperation.UpdateMap(dict(entry.metadata), bool(entry.replace))
                for field, entry in zip(fields, request.updates, strict=True)
            }
            change = LanceOperation.UpdateConfig(field_metadata_updates=updates)
            after = LanceDataset.commit(dataset, change, read_version=dataset.version)
            return UpdateFieldMetadataResponse(
                version=after.version,
                fields={f.path: dict(find_field(after, f.path).metadata) for f in fields},
            )

    @operation
    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        """Put metadata over that of the schema, and return all of it."""
        request = read_texts(UpdateTableSchemaMetadataRequest, request)
        metadata: dict[str, str | None] = {**(request.metadata or {})}
        if INTERNAL in metadata:
            raise errors.InvalidInputError(f"the key {INTERNAL!r} is used by Lanceyard itself")
        with self._writing(request.id, branch=request.branch) as dataset:
            if metadata:
                dataset.update_schema_metadata(metadata)
            found = dataset.schema_metadata
            return UpdateTableSchemaMetadataResponse(
                metadata={key: value for key, value in found.items() if key != INTERNAL}
            )
