"""Maintenance of tables: `maintain`, in this process or on a Spark master."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli import progress
from lanceyard.cli.command import Effect, Operand, catalog_command, optional, read_pairs, word
from lanceyard.cli.exits import Exit
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from lanceyard.yard.listing import Found

RESULT = ("table", "outcome", "tasks", "fragments", "bytes", "version")
SCOPE = optional("NAME")
DESTROYERS = ("expire", "sweep")

on_master = click.option(
    "--master", metavar="URL", help="Do it on Spark: local[2], spark://host:7077, yarn, …"
)
with_options = click.option(
    "--option", "options", metavar="NAME=VALUE", multiple=True, help="More parameters, see docs."
)


def older_than(days: float) -> Callable[[Any], Any]:
    """The option for an age."""
    return click.option(
        "--older-than",
        "days",
        default=days,
        show_default=True,
        type=click.FloatRange(0),
        help="Days.",
    )


@click.group("maintain")
def maintain_command() -> None:
    """Compact, index and clean tables.

    NAME is a table, a namespace with all below it, or nothing for the whole catalog.
    """


@maintain_command.add_command
@catalog_command("compact", SCOPE, effect=Effect.CHANGES)
@with_options
@on_master
def compact(
    session: Session, name: str | None, options: tuple[str, ...], master: str | None
) -> Exit:
    """Make large fragments of small ones, and let deleted rows go."""
    return _carry_out(session, "compact", name, master, **_read(options))


@maintain_command.add_command
@catalog_command("index", Operand("TABLE"), word("COLUMN"), effect=Effect.CHANGES)
@click.option("--kind", default="BTREE", show_default=True, help="BTREE, FTS, IVF_PQ, …")
@click.option("--replace", is_flag=True, help="Put it in place of the index that is there.")
@with_options
@on_master
def index(session: Session, table: str, column: str, master: str | None, **asked: Any) -> Exit:
    """Build an index on a column of a table."""
    given = {"kind": asked["kind"], "replace": asked["replace"], **_read(asked["options"])}
    return _carry_out(session, "index", table, master, column=column, **given)


@maintain_command.add_command
@catalog_command("refresh", SCOPE, effect=Effect.CHANGES)
@on_master
def refresh(session: Session, name: str | None, master: str | None) -> Exit:
    """Let indexes cover the rows that came since they were built."""
    return _carry_out(session, "refresh", name, master)


@maintain_command.add_command
@catalog_command("backfill", Operand("TABLE"),
                 Operand("COLUMN=EXPRESSION", many=True, names_object=False, key="values"),
                 effect=Effect.CHANGES)  # fmt: skip
@click.option("--only-missing", is_flag=True, help="Only where fragments lack the column.")
@on_master
def backfill(
    session: Session, table: str, values: tuple[str, ...], only_missing: bool, master: str | None
) -> Exit:
    """Compute columns of a table by SQL expressions, new ones or ones that it has."""
    found = read_pairs(values)
    return _carry_out(session, "backfill", table, master, values=found, only_missing=only_missing)


@maintain_command.add_command
@catalog_command("expire", SCOPE, effect=Effect.DESTROYS)
@older_than(14)
@click.option(
    "--keep", default=1, show_default=True, type=click.IntRange(1), help="Versions that stay."
)
@on_master
def expire(session: Session, name: str | None, days: float, keep: int, master: str | None) -> Exit:
    """Remove versions that were replaced long ago, and the files that only they have."""
    age = timedelta(days=days)
    return _carry_out(session, "expire", name, master, older_than=age, keep=keep)


@maintain_command.add_command
@catalog_command("sweep", SCOPE, effect=Effect.DESTROYS)
@older_than(7)
@on_master
def sweep(session: Session, name: str | None, days: float, master: str | None) -> Exit:
    """Delete files of tables that no version refers to."""
    return _carry_out(session, "sweep", name, master, older_than=timedelta(days=days))


def _read(options: tuple[str, ...]) -> dict[str, Any]:
    from lanceyard.spark.maintenance.operations import read_option

    return {name: read_option(text) for name, text in read_pairs(options).items()}


def _carry_out(
    session: Session, operation: str, name: str | None, master: str | None, **asked: Any
) -> Exit:
    """Do it here or on Spark, and tell what became of each table."""
    from lanceyard.spark.maintenance import operations
    from lanceyard.spark.maintenance.reports import rows_of

    found = session.yard.find(name or "")
    before = _version(session, found)
    if operation in DESTROYERS and not session.dry_run:
        session.confirm(operation, found.name or session.address.place)
    with _spark(master) as spark, progress.shown(operation) as tell:
        report = getattr(operations, operation)(
            spark,
            name,
            catalog=session.address.properties,
            dry_run=session.dry_run,
            progress=lambda come: tell(come.operation, come.done, come.total),
            **asked,
        )
    rows = (dict(zip(RESULT, row, strict=True)) for row in rows_of(report))
    session.output.rows(RESULT, rows)
    session.output.line(str(report).partition("\n")[0])
    if before is not None and report.tables and operation not in DESTROYERS:
        session.output.line(f"undo: {session.command('restore', found.name, str(before))}")
    return Exit.FINDINGS if report.failures else Exit.DONE


def _version(session: Session, found: Found) -> int | None:
    """The version of a table that is to be changed, so that it can be restored."""
    from lanceyard.errors import InvalidTableStateError

    try:
        return session.yard.table(found.identifier).version if found.is_table else None
    except InvalidTableStateError:
        return None


@contextlib.contextmanager
def _spark(master: str | None) -> Iterator[Any]:
    """A session of Spark that ends with the block; none for work in this process."""
    if master is None:
        yield None
        return
    from lanceyard.spark import session as start

    spark = start("lanceyard maintain", master=master)
    try:
        yield spark
    finally:
        spark.stop()
