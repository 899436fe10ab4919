"""Output: the same rows as a table for people, or as ndjson, JSON or CSV for programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli.cells import cell, line, visible
from lanceyard.values import as_json, plain

if TYPE_CHECKING:
    import pyarrow as pa

TABLE, NDJSON, JSON, CSV = "table", "ndjson", "json", "csv"
FORMATS = (TABLE, NDJSON, JSON, CSV)
MOST = 1_000
"""Rows that a table shows."""
WIDEST = 100_000
"""Columns of what is no terminal."""
NARROWEST = 4
"""Characters that are left of a column."""
GAP = 2
"""Characters between columns."""

Row = Mapping[str, Any]


class Output:
    """Where a command writes what it found and what it did."""

    def __init__(self, kind: str | None = None) -> None:
        """Write in a format: unless said, tables to a terminal, and ndjson to all else."""
        self.kind = kind or (TABLE if sys.stdout.isatty() else NDJSON)

    @property
    def is_table(self) -> bool:
        """Whether people read it."""
        return self.kind == TABLE

    def rows(self, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Write rows that have these columns."""
        {TABLE: _table, NDJSON: _ndjson, JSON: _json, CSV: _csv}[self.kind](columns, rows)

    def arrow(self, reader: pa.RecordBatchReader) -> None:
        """Write rows as they come."""
        self.rows(reader.schema.names, _arrow_rows(reader))

    def record(self, record: Row) -> None:
        """Write one thing with all that is known of it; lists of things in it are tables."""
        if self.kind == JSON:
            click.echo(as_json(record, indent=2))
        elif not self.is_table:
            self.rows([*record], [record])
        else:
            tables = {name: each for name, each in record.items() if _is_rows(each)}
            facts = {n: v for n, v in record.items() if n not in tables and v not in (None, [], {})}
            _print(["", ""], [(name, line(value)) for name, value in facts.items()], set())
            for name, found in tables.items():
                click.echo(f"\n{name}")
                self.rows([*found[0]], found)

    def outcome(
        self, state: str, verb: str, name: str, facts: Mapping[str, Any], undo: str | None
    ) -> None:
        """Write what was done, or would be, and how it is taken back."""
        if not self.is_table:
            found = {state: verb, "name": name, **facts, **({"undo": undo} if undo else {})}
            self.record(found)
            return
        told = [f"{key} {line(value)}" for key, value in facts.items() if value is not None]
        click.echo(f"{state}: {verb} {visible(name)}{_inside(told)}")
        if undo:
            click.echo(f"undo: {visible(undo)}")

    def line(self, text: str) -> None:
        """Write a line for people."""
        if self.is_table:
            click.echo(visible(text))


def _inside(told: Sequence[str]) -> str:
    return f" ({', '.join(told)})" if told else ""


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _arrow_rows(reader: pa.RecordBatchReader) -> Iterator[Row]:
    from lanceyard.yard.rows import rows_of

    for batch in reader:
        yield from rows_of(batch)


def _ndjson(columns: Sequence[str], rows: Iterable[Row]) -> None:  # noqa: ARG001 - rows have them
    for row in rows:
        click.echo(as_json(row))


def _json(columns: Sequence[str], rows: Iterable[Row]) -> None:  # noqa: ARG001 - rows have them
    click.echo(as_json(list(rows), indent=2))


def _csv(columns: Sequence[str], rows: Iterable[Row]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_cell(row.get(name)) for name in columns])


def _csv_cell(value: Any) -> Any:
    found = plain(value)
    return as_json(found) if isinstance(found, dict | list) else found


def _table(columns: Sequence[str], rows: Iterable[Row]) -> None:
    shown = [*islice(iter(rows), MOST + 1)]
    numbers = {
        name for name in columns if shown and all(_is_number(row.get(name)) for row in shown)
    }
    cells = [tuple(cell(row.get(name)) for name in columns) for row in shown[:MOST]]
    _print(columns, cells, numbers)
    if len(shown) > MOST:
        click.echo(f"only {MOST:,} rows are shown: --output ndjson gives all", err=True)


def _print(columns: Sequence[str], cells: Sequence[Sequence[str]], numbers: set[str]) -> None:
    """Print a table; one that is no terminal's has no colour, and lines as long as they are."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if is_terminal else WIDEST, highlight=False)
    table = Table(box=None, pad_edge=False, show_header=any(columns), header_style="bold")
    titles = [visible(name) for name in columns]
    needed = [max(map(cell_len, column)) for column in zip(titles, *cells, strict=True)]
    widths = fit(needed, console.width - GAP * (len(columns) - 1))
    for name, title, width in zip(columns, titles, widths, strict=True):
        text = Text(title, justify="right" if name in numbers else "left")
        table.add_column(
            text, justify=text.justify or "left", width=width, no_wrap=True, overflow="ellipsis"
        )
    for row in cells:
        table.add_row(*map(Text, row))
    if is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for printed in captured.get().splitlines():
        click.echo(printed.rstrip())


def fit(needed: Sequence[int], room: int) -> list[int]:
    """Widths for columns, of which the widest give way first, though not to nothing."""
    widths = list(needed)
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths
