"""Flows: which tables they read, and whether Spark sees that.

Some operations of a data frame make Spark resolve the tables below them at once. If such a table is
one of the pipeline's own, and there is one already, the flow then reads what is there before the
run has filled it, and nobody would notice. So that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lanceyard import errors

HASTY = {
    "with_columns": "withColumn",
    "with_columns_renamed": "withColumnRenamed",
    "drop": "drop",
    "fill_na": "fillna",
    "drop_na": "dropna",
    "replace": "replace",
}
"""Operations that look at the tables below them too early, by their names in Connect."""

Name = tuple[str, ...]
Message = Any
"""Of protocol buffers, which come without types."""


class Flows:
    """The flows of a pipeline, as they are declared."""

    def __init__(self, catalog: str | None, database: str | None) -> None:
        """Names without a catalog or database are of these."""
        self._home = ([catalog or "spark_catalog"], (database or "default").split("."))
        self._tables: set[Name] = set()
        self._hasty: list[tuple[str, str, Name]] = []

    def add_table(self, name: str) -> None:
        """A table that the pipeline makes."""
        self._tables.add(self._named(name))

    def add_flow(self, name: str, relation: Message) -> None:
        """A flow, by what Connect is told of it."""
        for operation, table in _read_hastily(relation):
            self._hasty.append((name, operation, self._named(table)))

    def check(self) -> None:
        """Refuse to run if a flow would read a table before it is filled.

        Raises
        ------
        InvalidInputError
            There is such a flow.
        """
        for flow, operation, table in self._hasty:
            if table in self._tables:
                raise errors.InvalidInputError(
                    f"flow {flow} calls {operation} on {'.'.join(table)}, a table of the same "
                    "pipeline: Spark would not wait for it. Use select or selectExpr instead, as "
                    'in select("*", expression.alias("name"))'
                )

    def _named(self, name: str) -> Name:
        parts = name.replace("`", "").split(".")
        catalog, database = self._home
        if len(parts) == 1:
            return (*catalog, *database, *parts)
        return (*(catalog if len(parts) == 2 else ()), *parts)  # noqa: PLR2004 - database, table


def _read_hastily(relation: Message, operation: str | None = None) -> Iterator[tuple[str, str]]:
    """The tables below operations that look at them early, each with the operation."""
    for field, value in relation.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        found = operation or HASTY.get(field.name)
        for part in value if isinstance(value, Sequence) else [value]:
            if field.name == "named_table" and found is not None:
                yield found, part.unparsed_identifier
            yield from _read_hastily(part, found)
