"""Reading rows: `head`, `sql` and `query`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli.command import Operand, catalog_command, word
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

STDIN = "-"


def read_version(text: str) -> int | str:
    """A version of a table as its number, or as the tag that names it."""
    return int(text) if text.isdecimal() else text


of_version = click.option(
    "--version", type=read_version, metavar="VERSION", help="Of an earlier version, or of a tag."
)


def read_columns(text: str) -> list[str]:
    """Columns as people write them: ``id, text``."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise click.BadParameter(f"{text!r} does not name columns, with commas between them")
    return names


of_columns = click.option(
    "--columns", type=read_columns, metavar="A,B,…", help="Only these columns."
)


@catalog_command("head", Operand("TABLE"), at=True)
@click.option(
    "-n", "--rows", default=10, show_default=True, type=click.IntRange(1), help="How many."
)
@of_version
def head_command(session: Session, table: str, rows: int, version: int | str | None) -> None:
    """Print the first rows of a table."""
    found = session.yard.table(table).head(rows, version=version)
    session.output.arrow(found.to_reader())


@catalog_command("sql", word("QUERY"), at=True)
def sql_command(session: Session, query: str) -> None:
    """Query all tables of the catalog in SQL; nothing is changed.

    A table is written as in shop.fruits; below deeper namespaces as in "a.b.c".fruits. QUERY is -
    to read it from the standard input.
    """
    session.output.arrow(session.yard.sql(sys.stdin.read() if query == STDIN else query))


@catalog_command("query", Operand("TABLE"), at=True)
@click.option("--vector", metavar="NUMBERS", help="Nearest to it: 0.1,0.2,… or a JSON array.")
@click.option("--text", help="Rows that a text occurs in; needs an FTS index.")
@click.option("--where", metavar="CONDITION", help="Only rows for which a SQL condition holds.")
@of_columns
@click.option(
    "-k", "--limit", default=10, show_default=True, type=click.IntRange(1), help="At most."
)
@click.option("--vector-column", metavar="NAME", help="The column with the vectors.")
@click.option("--distance", type=click.Choice(["l2", "cosine", "dot"]), help="What near means.")
@of_version
def query_command(session: Session, table: str, **asked: Any) -> None:
    """Find rows by a vector, a text, a condition, or all of them."""
    held = session.yard.table(table)
    version = asked["version"]
    options = {
        "vector_column": asked["vector_column"],
        "distance_type": asked["distance"],
        "version": held.to_lance(version).version if isinstance(version, str) else version,
    }
    found = held.search(
        None if asked["vector"] is None else _vector(asked["vector"]),
        asked["text"],
        limit=asked["limit"],
        where=asked["where"],
        columns=asked["columns"],
        **{name: value for name, value in options.items() if value is not None},
    )
    session.output.arrow(found.to_reader())


def _vector(text: str) -> Sequence[float]:
    try:
        found = json.loads(text if text.lstrip().startswith("[") else f"[{text}]")
        return [float(number) for number in found]
    except (ValueError, TypeError) as cause:
        raise click.BadParameter(
            f"{text[:40]!r} is not a list of numbers", param_hint="--vector"
        ) from cause
