"""Looking around: `ls`, `tree` and `show`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli.command import Operand, catalog_command, optional
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from lanceyard.yard import Table
    from lanceyard.yard.listing import Found

ENTRY = ("name", "kind")


@catalog_command("ls", optional("NAMESPACE"), at=True)
@click.option("-R", "--recursive", is_flag=True, help="All that is below, at any depth.")
def ls_command(session: Session, namespace: str | None, recursive: bool) -> None:
    """List namespaces and tables."""
    from lanceyard.yard import listing
    from lanceyard.yard.names import read_name

    top = namespace or ""
    if recursive:
        found: Iterable[Found] = session.yard.walk(top)
    else:
        found = listing.children(session.yard.namespace, read_name(top))
    names: list[str] = []
    session.output.rows(ENTRY, _told(found, names))
    if recursive and not top:
        session.remember(names)


@catalog_command("tree", optional("NAMESPACE"), at=True)
def tree_command(session: Session, namespace: str | None) -> None:
    """Draw namespaces and tables as a tree."""
    top = namespace or ""
    names: list[str] = []
    if session.output.is_table:
        click.echo(session.yard.tree(top))
    else:
        session.output.rows(ENTRY, _told(session.yard.walk(top), names))
        if not top:
            session.remember(names)


@catalog_command("show", Operand("NAME", required=False), at=True)
def show_command(session: Session, name: str | None) -> None:
    """Show all about a namespace or a table.

    Of a table: schema, versions, indexes, size, tags, branches, properties.
    """
    found = session.yard.find(name or "")
    if found.is_table:
        session.output.record(_table(session.yard.table(found.identifier)))
        return
    space = session.yard.space(found.identifier)
    session.output.record(
        {
            "name": found.name,
            "kind": found.kind,
            "namespaces": len(space.namespaces()),
            "tables": len(space.tables()),
            "properties": space.properties,
        }
    )


def _told(found: Iterable[Found], names: list[str]) -> Iterator[dict[str, str]]:
    """Rows of what was found, whose names are kept."""
    for each in found:
        names.append(each.name)
        yield {"name": each.name, "kind": each.kind}


def _table(table: Table) -> dict[str, Any]:
    from lanceyard.cli.commands.history import moment_of
    from lanceyard.errors import InvalidTableStateError

    facts: dict[str, Any] = {"name": table.name, "kind": "table", "location": table.location}
    facts["properties"] = table.properties
    try:
        dataset = table.to_lance()
    except InvalidTableStateError as reason:
        return {**facts, "state": str(reason)}
    stats = table.stats()
    versions = dataset.versions()
    return {
        **facts,
        "version": dataset.version,
        "versions": len(versions),
        "changed": moment_of(versions[-1]),
        "rows": stats.num_rows,
        "bytes": stats.total_bytes,
        "fragments": stats.fragment_stats.num_fragments,
        "tags": [{"tag": tag, "version": number} for tag, number in table.tags().items()],
        "branches": [{"branch": b, "from": number} for b, number in table.branches().items()],
        "indexes": [
            {"index": each.index_name, "columns": list(each.columns), "status": each.status}
            for each in table.indexes()
        ],
        "schema": [
            {"column": field.name, "type": str(field.type), "nullable": field.nullable}
            for field in dataset.schema
        ],
    }
