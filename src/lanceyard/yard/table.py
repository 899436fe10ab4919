"""A table as a person holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.yard.data import fit_data, read_data
from lanceyard.yard.names import write_name

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset

    from lanceyard.namespace import Namespace


class Table:
    """A table of a yard. It is looked up anew for every call, so it follows what others do."""

    def __init__(self, namespace: Namespace, identifier: Identifier) -> None:
        """Speak for a table that may or may not exist."""
        self._namespace = namespace
        self._identifier = identifier

    @property
    def name(self) -> str:
        """The name, with that of the namespaces above it."""
        return write_name(self._identifier)

    @property
    def location(self) -> str:
        """Where the table lies."""
        return str(self._describe().location)

    @property
    def properties(self) -> dict[str, str]:
        """The properties that the catalog keeps."""
        return dict(self._describe().properties or {})

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the latest version."""
        return self.to_lance().schema

    @property
    def version(self) -> int:
        """The number of the latest version."""
        return int(self.to_lance().version)

    def append(self, data: Any) -> Table:
        """Add rows. Arrow, pandas, dicts and iterables of batches are understood."""
        return self._write(data, "append")

    def overwrite(self, data: Any) -> Table:
        """Replace all rows, and the schema; earlier versions stay readable."""
        return self._write(data, "overwrite")

    def read(self, columns: Sequence[str] | None = None, *, where: str | None = None) -> pa.Table:
        """Read rows: all of them, or those for which a SQL condition holds."""
        wanted = None if columns is None else list(columns)
        return self.to_lance().to_table(columns=wanted, filter=where)

    def head(self, rows: int = 10) -> pa.Table:
        """Read the first rows."""
        return self.to_lance().head(rows)  # type: ignore[no-untyped-call]

    def count(self, where: str | None = None) -> int:
        """Count rows: all of them, or those for which a SQL condition holds."""
        return int(self.to_lance().count_rows(where))

    def to_lance(self) -> LanceDataset:
        """The table as pylance knows it, at its latest version."""
        import lance

        described = self._describe(check_declared=True)
        if described.is_only_declared:
            raise errors.InvalidTableStateError(
                f"table {self._identifier} was declared and has no data yet: append to it, "
                "or create it"
            )
        try:
            return lance.dataset(**self._address(described))
        except (ValueError, OSError) as cause:
            raise errors.InvalidTableStateError(
                f"table {self._identifier} cannot be opened: {cause}"
            ) from cause

    def __repr__(self) -> str:
        return f"<Table {self.name}>"

    def _describe(self, **asked: bool) -> Any:
        return self._namespace.describe_table({"id": list(self._identifier), **asked})  # type: ignore[arg-type]

    def _address(self, described: Any) -> dict[str, Any]:
        """How pylance opens the table: by its place, or through the catalog that keeps versions."""
        options = {"storage_options": described.storage_options}
        if described.managed_versioning:
            return {
                "namespace_client": self._namespace,
                "table_id": list(self._identifier),
                **options,
            }
        return {"uri": described.location, **options}

    def _write(self, data: Any, mode: str) -> Table:
        import lance

        described = self._describe(check_declared=True)
        if described.is_only_declared:
            # Where pylance goes through the catalog, `create` would declare the table again.
            mode = "overwrite" if described.managed_versioning else "create"
        stream = fit_data(data, self.schema) if mode == "append" else read_data(data)
        try:
            lance.write_dataset(stream, mode=mode, **self._address(described))
        except (ValueError, OSError) as cause:
            raise errors.InvalidInputError(
                f"cannot {mode} to table {self._identifier}: {cause}"
            ) from cause
        return self
