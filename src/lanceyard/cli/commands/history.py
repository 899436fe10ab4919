"""Time: `versions`, `log`, `diff` and `restore`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli.command import Effect, Operand, catalog_command, word
from lanceyard.cli.commands.reading import read_version
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from lanceyard.catalog.history import Difference, State
    from lanceyard.yard import Yard

VERSION = ("version", "at", "tags")
STATE = ("version", "at", "tags", "changes")
CHANGE = ("change", "name", "before", "after")


@catalog_command("versions", Operand("TABLE"))
@click.option("-n", "--limit", type=click.IntRange(1), help="Only the latest.")
def versions_command(session: Session, table: str, limit: int | None) -> None:
    """List the versions of a table, the latest first."""
    held = session.yard.table(table)
    tags: dict[int, list[str]] = {}
    for tag, number in held.tags().items():
        tags.setdefault(number, []).append(tag)
    known = sorted(held.to_lance().versions(), key=lambda each: -each["version"])
    session.output.rows(
        VERSION,
        (
            {
                "version": each["version"],
                "at": moment_of(each),
                "tags": tags.get(each["version"], []),
            }
            for each in known[:limit]
        ),
    )


@catalog_command("log")
@click.option(
    "-n", "--limit", default=20, show_default=True, type=click.IntRange(1), help="At most."
)
@click.option("--all", "everything", is_flag=True, help="Those too in which nothing changed.")
def log_command(session: Session, limit: int, everything: bool) -> None:
    """List the states of the catalog, and what was changed in each.

    The latest comes first.
    """
    told = _told(session.yard, session.yard.states())
    shown = (row for row in told if everything or row["changes"] or row["tags"])
    session.output.rows(STATE, islice(shown, limit))


@catalog_command("diff", word("BEFORE"), Operand("AFTER", required=False, names_object=False))
@click.option("--table", help="Of this table: BEFORE and AFTER are its versions or tags.")
def diff_command(session: Session, before: str, after: str | None, table: str | None) -> None:
    """Compare two states of the catalog, or versions of a table.

    A state is a version of the catalog (see log), a tag, or a time. AFTER is now unless said.
    """
    if table is None:
        session.output.rows(CHANGE, rows_of(session.yard.diff(before, after)))
        return
    found = session.yard.table(table).diff(
        read_version(before), None if after is None else read_version(after)
    )
    retyped = [each._asdict() for each in found.columns_retyped]
    session.output.record({"table": table, **asdict(found), "columns_retyped": retyped})


@catalog_command("restore", Operand("TABLE"), word("VERSION"), effect=Effect.CHANGES)
def restore_command(session: Session, table: str, version: str) -> None:
    """Make an earlier version of a table the latest one again.

    VERSION is a number or a tag.
    """
    held = session.yard.table(table)
    before = held.version
    target = held.to_lance(read_version(version)).version
    if session.goes_ahead("restore", table, version=target):
        held.restore(target)
        undo = session.command("restore", table, str(before))
        session.done("restore", table, version=target, now=held.version, undo=undo)


def moment_of(version: Mapping[str, Any]) -> datetime:
    """When a version of a table was made, in the time zone of this machine."""
    at: datetime = version["timestamp"]
    return at.astimezone()


def _told(yard: Yard, states: list[State]) -> Iterator[dict[str, Any]]:
    """States, the latest first; the oldest that is kept has nothing to be compared with."""
    for number in reversed(range(len(states))):
        state, before = states[number], states[number - 1] if number else None
        changes = [] if before is None else rows_of(yard.diff(before.version, state.version))
        yield {
            "version": state.version,
            "at": state.at.astimezone(),
            "tags": list(state.tags),
            "changes": [_line(row) for row in changes],
        }


def _line(row: dict[str, Any]) -> str:
    return " ".join(str(value) for value in row.values() if value is not None)


def rows_of(difference: Difference) -> Iterator[dict[str, Any]]:
    """A difference as rows."""
    from lanceyard.yard.names import write_name

    def row(change: str, name: Any, before: Any = None, after: Any = None) -> dict[str, Any]:
        return {"change": change, "name": write_name(name), "before": before, "after": after}

    yield from (row("created", name) for name in difference.created)
    yield from (row("dropped", name) for name in difference.dropped)
    yield from (row("renamed", was, after=write_name(now)) for was, now in difference.renamed)
    yield from (row("committed", name, a, b) for name, a, b in difference.committed)
    yield from (row("altered", name) for name in difference.altered)
