"""New columns: what a request to add some asks for, checked against the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.namespace.content.metadata import check_metadata
from lanceyard.namespace.content.sql import whole
from lanceyard.namespace.requests import NewColumn
from lanceyard.namespace.schema import from_json

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset

COMPUTED = "lanceyard.computed"
"""In the metadata of a field: the SQL expression that backfilling sets it to."""

SYSTEM = frozenset(
    (
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
        "_distance",
        "_score",
    )
)
"""Columns that Lance adds itself: a table that has its own cannot be read any more."""


def check_name(name: str) -> str:
    """The name of a column, if tables stay usable with it. Raises `InvalidInputError`."""
    if not name or "`" in name or "\0" in name or name in SYSTEM:
        raise errors.InvalidInputError(f"a column cannot have the name {name!r}")
    return name


class NewColumns:
    """Columns that a table does not have yet."""

    def __init__(self, dataset: LanceDataset, entries: Sequence[NewColumn]) -> None:
        """Check all entries. Raises `InvalidInputError` and `UnsupportedOperationError`."""
        self._dataset = dataset
        self._check_names([entry.name for entry in entries])
        self._expressions: dict[str, str] = {}
        self._empty: list[pa.Field] = []
        for entry in entries:
            self._read(entry)
        self._check_types()

    def add(self) -> None:
        """Add all columns: first those with values, which can fail, then the others."""
        import pyarrow as pa

        if self._expressions:
            self._dataset.add_columns(self._expressions)
            self._let_be_null()
        if self._empty:
            self._dataset.add_columns(pa.schema(self._empty))

    def _check_names(self, names: Sequence[str]) -> None:
        if not names:
            raise errors.InvalidInputError("there are no columns to add")
        taken = set(self._dataset.schema.names)
        for name in names:
            if check_name(name) in taken:
                raise errors.InvalidInputError(f"there is a column {name!r} already")
            taken.add(name)

    def _read(self, entry: NewColumn) -> None:
        given = [entry.expression, entry.computed, entry.virtual_column, entry.data_type]
        if sum(each is not None for each in given) != 1:
            raise errors.InvalidInputError(
                f"column {entry.name!r} needs one of expression, computed and data_type"
            )
        if entry.virtual_column is not None:
            raise errors.UnsupportedOperationError(
                f"column {entry.name!r} needs a function, and functions do not run here"
            )
        if entry.metadata is not None and entry.data_type is None:
            raise errors.InvalidInputError(f"column {entry.name!r} has metadata but no data_type")
        if entry.expression is not None:
            self._expressions[entry.name] = whole(entry.expression)
        else:
            self._empty.append(self._empty_column(entry))

    def _empty_column(self, entry: NewColumn) -> pa.Field:
        import pyarrow as pa

        if entry.data_type is not None:
            check_metadata(entry.metadata or {})
            return pa.field(entry.name, from_json(entry.data_type), metadata=entry.metadata)
        assert entry.computed is not None
        kind = self._type_of(entry.computed)
        return pa.field(entry.name, kind, metadata={COMPUTED: entry.computed})

    def _type_of(self, expression: str) -> pa.DataType:
        # Lance scans at least one real column, which a constant is not.
        columns = {"computed": whole(expression), "any": f"`{self._dataset.schema.names[0]}`"}
        return self._dataset.scanner(columns=columns).projected_schema.field("computed").type

    def _check_types(self) -> None:
        """Refuse what Lance has no types for now, and not after the first commit."""
        import pyarrow as pa
        from lance.schema import LanceSchema

        LanceSchema.from_pyarrow(pa.schema(self._empty))

    def _let_be_null(self) -> None:
        """Rows that are appended later have no values, whatever the expressions say."""
        fields = map(self._dataset.schema.field, self._expressions)
        strict = [field.name for field in fields if not field.nullable]
        if strict:
            alterations: Any = [{"path": name, "nullable": True} for name in strict]
            self._dataset.alter_columns(*alterations)
