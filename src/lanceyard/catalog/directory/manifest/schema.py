"""The schema of the manifest table (document 000) and rows as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import pyarrow as pa

from lanceyard.catalog.directory.manifest.homes import Residents
from lanceyard.catalog.ranges import NONE
from lanceyard.catalog.snapshot import Edit, Row
from lanceyard.catalog.versions import version_id
from lanceyard.errors import UnsupportedOperationError

PRIMARY_KEY = {"lance-schema:unenforced-primary-key:position": "0"}
SCHEMA = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata=PRIMARY_KEY),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("object_id", pa.string()))),
        # Document 003 has it, 000 has not: used if present, never required, and not put back
        # after another writer removed it.
        pa.field("created_at", pa.timestamp("us", tz="UTC")),
    ]
)
ROW_COLUMNS = [*Row._fields]
BASES = "base_objects"


def to_arrow(rows: Iterable[Row], schema: pa.Schema, now: datetime) -> pa.Table:
    """New rows in the schema of a manifest; columns we do not know are null."""
    rows = list(rows)
    columns: dict[str, pa.Array] = {}
    for field in schema:
        if field.name in ROW_COLUMNS:
            cells: list[object] = [getattr(row, field.name) for row in rows]
        elif field.name == BASES and pa.types.is_list(field.type):
            cells = [row.base_objects or None for row in rows]
        elif field.name == "created_at" and pa.types.is_timestamp(field.type):
            cells = [now] * len(rows)
        elif field.nullable:
            cells = [None] * len(rows)
        else:
            raise UnsupportedOperationError(
                f"the manifest has a column {field.name!r} that must be filled and that this "
                "version does not know; upgrade lanceyard to write to this catalog"
            )
        columns[field.name] = pa.array(cells, field.type)
    return pa.table(columns, schema=schema)


def from_arrow(table: pa.Table) -> list[Row]:
    """Rows of a manifest, from the columns that make up a `Row`."""
    return list(map(Row, *(table.column(name).to_pylist() for name in ROW_COLUMNS)))


def residents(table: pa.Table) -> Residents:
    """What Arrow rows are about."""
    return Residents.of(
        zip(
            table.column("object_id").to_pylist(),
            table.column("object_type").to_pylist(),
            strict=True,
        )
    )


def remaining(table: pa.Table, edit: Edit) -> pa.Table:
    """Arrow rows without those that an edit removes, under the names that it gives them."""
    kept: list[bool] = []
    names: list[str] = []
    renamed = False
    for row in map(
        Row, table.column("object_id").to_pylist(), table.column("object_type").to_pylist()
    ):
        version = row.version if edit.gone or edit.moved else None
        kept.append(row.object_id not in edit.removed)
        names.append(row.object_id)
        if version is not None:
            owner, number = version
            kept[-1] = kept[-1] and not edit.gone.get(owner, NONE).has(number)
            if owner in edit.moved:
                names[-1] = version_id(edit.moved[owner], number)
                renamed = True
    if renamed:
        at = table.schema.get_field_index("object_id")
        field = table.schema.field(at)
        table = table.set_column(at, field, pa.array(names, field.type))
    return table.filter(pa.array(kept, pa.bool_()))


def carried_on(table: pa.Table, rows: Mapping[str, Row], origin: Mapping[str, str]) -> pa.Table:
    """Old Arrow rows under new cells: renamed and altered objects keep what we do not know."""
    position = {object_id: i for i, object_id in enumerate(table.column("object_id").to_pylist())}
    kept = [row for row in rows.values() if origin.get(row.object_id) in position]
    old = table.take(pa.array([position[origin[row.object_id]] for row in kept], pa.int64()))
    before = from_arrow(old)
    for name in ROW_COLUMNS:
        at = old.schema.get_field_index(name)
        cells = pa.array([getattr(row, name) for row in kept], old.schema.field(at).type)
        old = old.set_column(at, old.schema.field(at), cells)
    at = old.schema.get_field_index(BASES)
    if at >= 0 and pa.types.is_list(old.schema.field(at).type):
        # What others wrote into it stays, except for what we know to be, or to have been, a view.
        bases = [
            row.base_objects or (None if was.base_objects else cell)
            for row, was, cell in zip(kept, before, old.column(at).to_pylist(), strict=True)
        ]
        field = old.schema.field(at)
        old = old.set_column(at, field, pa.array(bases, field.type))
    return old
