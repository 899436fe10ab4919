"""The library: the tables that the pipeline makes, and those that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lanceyard
from lanceyard.errors import InvalidTableStateError, TableNotFoundError

if TYPE_CHECKING:
    from lance import LanceDataset

NAMESPACE = "library"


@dataclass(frozen=True)
class Library:
    """A namespace of a catalog."""

    yard: lanceyard.Yard

    def find(self, table: str) -> LanceDataset | None:
        """A table, or None if there is none yet."""
        try:
            return self.require(table)
        except (TableNotFoundError, InvalidTableStateError):
            return None

    def require(self, table: str) -> LanceDataset:
        """A table."""
        return self.yard.table(f"{NAMESPACE}.{table}").to_lance()

    def rows(self, table: str, *columns: str) -> list[dict[str, Any]]:
        """Some columns of a table; no rows if there is none yet."""
        dataset = self.find(table)
        return [] if dataset is None else dataset.to_table([*columns]).to_pylist()

    def count(self, table: str) -> int:
        """How many rows a table has."""
        dataset = self.find(table)
        return 0 if dataset is None else dataset.count_rows()

    def write(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Replace the content of a table, or create it."""
        if self.find(table) is None:
            self.yard.create_table(f"{NAMESPACE}.{table}", rows)
        else:
            self.yard.table(f"{NAMESPACE}.{table}").overwrite(rows)
