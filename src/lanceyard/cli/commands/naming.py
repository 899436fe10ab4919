"""Names: `create`, `declare`, `register`, `deregister`, `rename`, `drop` and `undrop`."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli import progress
from lanceyard.cli.command import Effect, Operand, catalog_command, optional, read_pairs, word
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    import pyarrow as pa

    from lanceyard.yard.names import Name

RETENTION = "86400"
"""Seconds for which what was dropped by hand can be brought back: a day."""

with_properties = click.option(
    "--set", "put", metavar="NAME=VALUE", multiple=True, help="A property of it."
)


@catalog_command("create", optional("NAME"), effect=Effect.CHANGES)
@click.option("--schema", metavar="COLUMNS", help="Make an empty table: id:int64,text:string,…")
@click.option("--exist-ok", is_flag=True, help="It may be there already.")
@with_properties
def create_command(
    session: Session, name: str | None, schema: str | None, exist_ok: bool, put: tuple[str, ...]
) -> None:
    """Create a namespace, an empty table, or a catalog.

    Without NAME it is a catalog, in a folder that does not exist yet.

    Types of columns are Arrow's, as in vector:fixed_size_list<float,3>. To make a table of a file,
    see import.
    """
    if name is None:
        _create_catalog(session)
        return
    columns = None if schema is None else read_schema(schema)
    kind = "namespace" if columns is None else "table"
    is_there = require_free(session, name, unless=kind if exist_ok else None)
    if not session.goes_ahead("create", name, kind=kind):
        return
    if columns is None:
        session.yard.create_namespace(name, read_pairs(put), exist_ok=exist_ok)
    else:
        mode = "exist_ok" if exist_ok else "create"
        session.yard.create_table(name, columns, properties=read_pairs(put), mode=mode)
    session.came(name)
    undo = None if is_there else session.command("drop", name)
    session.done("create", name, kind=kind, undo=undo)


@catalog_command("declare", Operand("TABLE"), effect=Effect.CHANGES)
@click.option("--location", help="Where its data will be, inside the root.")
@with_properties
def declare_command(
    session: Session, table: str, location: str | None, put: tuple[str, ...]
) -> None:
    """Reserve the name and the location of a table, without data."""
    require_free(session, table)
    if session.goes_ahead("declare", table, location=location):
        made = session.yard.declare(table, location=location, properties=read_pairs(put))
        session.came(table)
        undo = session.command("drop", table)
        session.done("declare", table, location=made.location, undo=undo)


@catalog_command("register", Operand("TABLE"), word("LOCATION"), effect=Effect.CHANGES)
@with_properties
def register_command(session: Session, table: str, location: str, put: tuple[str, ...]) -> None:
    """Give a table that lies inside the root a name.

    LOCATION is relative to the root.
    """
    require_free(session, table)
    if session.goes_ahead("register", table, location=location):
        session.yard.register(table, location, properties=read_pairs(put))
        session.came(table)
        undo = session.command("deregister", table)
        session.done("register", table, location=location, undo=undo)


@catalog_command("deregister", Operand("TABLE"), effect=Effect.CHANGES)
def deregister_command(session: Session, table: str) -> None:
    """Take a table out of the catalog, and keep its files."""
    session.yard.table(table)
    if session.goes_ahead("deregister", table):
        location = session.yard.deregister(table)
        session.gone(table)
        root = session.address.root
        inside = location if root is None else os.path.relpath(location, os.path.realpath(root))
        undo = session.command("register", table, inside)
        session.done("deregister", table, location=location, undo=undo)


@catalog_command("rename", Operand("TABLE"), Operand("NEW_NAME"), effect=Effect.CHANGES)
def rename_command(session: Session, table: str, new_name: str) -> None:
    """Give a table another name.

    One of a single part stays in its namespace.
    """
    from lanceyard.yard.names import read_name

    found = session.yard.table(table)
    target = read_name(new_name)
    require_free(session, target if len(target) > 1 else [*read_name(table).parent, *target])
    if session.goes_ahead("rename", table, to=new_name):
        with progress.shown_of_files():
            renamed = session.yard.rename(table, new_name)
        session.gone(found.name)
        session.came(renamed.name)
        undo = session.command("rename", renamed.name, found.name)
        session.done("rename", table, to=renamed.name, undo=undo)


@catalog_command("drop", Operand("NAME"), effect=Effect.DESTROYS)
@click.option("--cascade", is_flag=True, help="With all that is below the namespace.")
@click.option("--purge", is_flag=True, help="Delete at once what else could come back for a day.")
def drop_command(session: Session, name: str, cascade: bool, purge: bool) -> None:
    """Drop a table or a namespace.

    It is confirmed by typing its name. Where the catalog keeps what was dropped (a day, or as its
    property drop_retention says), undrop brings it back.
    """
    from lanceyard.yard import listing

    found = session.yard.find(name)
    below = [] if found.is_table else listing.children(session.yard.namespace, found.identifier)
    if below and not cascade:
        step = session.command("drop", found.name, "--cascade")
        raise RefusalError(f"namespace {found.name} is not empty", Exit.TAKEN, step)
    kept = {} if purge or not _can_keep(session) else {"drop_retention": RETENTION}
    if not session.goes_ahead("drop", found.name, destroys=True, kind=found.kind):
        return
    with session.open(**kept) as yard, progress.shown_of_files():
        yard.drop(name, cascade=cascade)
        back = _dropped(yard, found.identifier)
    session.gone(found.name)
    undo = session.command("undrop", found.name) if back else None
    session.done("drop", found.name, kind=found.kind, undo=undo)


@catalog_command("undrop", optional("NAME"), optional("NEW_NAME"), effect=Effect.CHANGES)
def undrop_command(session: Session, name: str | None, new_name: str | None) -> None:
    """Bring back what was dropped, or list what can be.

    Without NAME, list.
    """
    from lanceyard.errors import TableNotFoundError
    from lanceyard.yard.names import read_name, write_name

    dropped = session.yard.dropped()
    if name is None:
        rows = [
            {"name": write_name(d.name), "dropped": d.at, "tables": len(d.tables)} for d in dropped
        ]
        session.output.rows(("name", "dropped", "tables"), rows)
        return
    if not any(each.name == read_name(name) for each in dropped):
        raise TableNotFoundError(f"nothing that was dropped as {name} can be brought back")
    target = new_name or name
    require_free(session, target)
    if session.goes_ahead("undrop", name, to=target):
        session.yard.undrop(name, new_name)
        session.came(target)
        session.done("undrop", name, to=target, undo=session.command("drop", target))


def read_schema(text: str) -> pa.Schema:
    """A schema as people write it: ``id:int64,text:string``."""
    import pyarrow as pa

    fields = []
    for each in _split(text):
        name, colon, kind = each.partition(":")
        if not (name and colon):
            raise click.BadParameter(f"{each!r} is not NAME:TYPE", param_hint="--schema")
        fields.append(pa.field(name.strip(), _type(kind.strip())))
    names = [field.name for field in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"there are two columns {twice!r}", param_hint="--schema")
    return pa.schema(fields)


def _split(text: str) -> list[str]:
    """Parts between commas that are not inside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _type(text: str) -> Any:
    import pyarrow as pa

    if text.startswith("fixed_size_list<") and text.endswith(">"):
        inner, _, size = text[len("fixed_size_list<") : -1].rpartition(",")
        if size.strip().isdecimal():
            return pa.list_(_type(inner.strip()), int(size))
    if text.startswith("list<") and text.endswith(">"):
        return pa.list_(_type(text[len("list<") : -1].strip()))
    try:
        return pa.type_for_alias(text)
    except ValueError as cause:
        raise click.BadParameter(f"{text!r} is no type of Arrow", param_hint="--schema") from cause


def _create_catalog(session: Session) -> None:
    root = session.address.root
    if root is None:
        raise RefusalError("there is nothing to create: name an object", Exit.USAGE)
    if os.path.isdir(root):
        raise RefusalError(f"{root} is there already", Exit.TAKEN, session.command("ls"))
    if session.goes_ahead("create", root, kind="catalog"):
        os.makedirs(root)
        session.done("create", root, kind="catalog", undo=shlex.join(["rmdir", root]))


def require_free(session: Session, name: Name, *, unless: str | None = None) -> bool:
    """Refuse a name that is taken, or in no namespace, also in a dry run.

    It may be taken by something of the kind `unless`; returns whether it is.
    """
    from lanceyard import errors
    from lanceyard.yard.names import read_name

    identifier = read_name(name)
    if identifier:
        session.yard.space(identifier.parent)
    try:
        found = session.yard.find(identifier)
    except errors.TableNotFoundError:
        return False
    if found.kind == unless:
        return True
    if found.is_table:
        raise errors.table_exists(identifier)
    raise errors.namespace_exists(identifier)


def _can_keep(session: Session) -> bool:
    """Whether a drop can be taken back: a directory with a manifest, of which we have the say."""
    given = session.address.properties
    return given["impl"] == "dir" and given.get("manifest_enabled", "true").lower() == "true"


def _dropped(yard: Any, identifier: Any) -> bool:
    """Whether what was dropped can come back."""
    from lanceyard.errors import UnsupportedOperationError

    try:
        return any(each.name == identifier for each in yard.dropped())
    except UnsupportedOperationError:
        return False
