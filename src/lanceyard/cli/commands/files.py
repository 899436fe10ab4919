"""Files: `import` and `export`."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import click

from lanceyard.cli import progress
from lanceyard.cli.command import Effect, Operand, catalog_command, word
from lanceyard.cli.commands.naming import require_free
from lanceyard.cli.commands.reading import of_columns, of_version
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError
from lanceyard.cli.interruption import heeded
from lanceyard.cli.session import Session

FORMATS = click.Choice(["parquet", "csv", "json", "arrow"])
STREAM = "-"

with_format = click.option(
    "--format", "kind", type=FORMATS, help="Unless the name of the file says it."
)


@catalog_command(
    "import",
    Operand("TABLE"),
    Operand("FILE", many=True, names_object=False, key="files"),
    effect=Effect.CHANGES,
)
@with_format
@click.option("--append", "mode", flag_value="append", help="Add rows to a table that exists.")
@click.option("--overwrite", "mode", flag_value="overwrite", help="Replace the rows of one.")
def import_command(
    session: Session, table: str, files: tuple[str, ...], kind: str | None, mode: str | None
) -> None:
    """Make a table of Parquet, CSV, JSON or Arrow files.

    JSON has an object in each line, or is an array of them. All files have the columns of the
    first one. FILE is - to read the standard input.
    """
    from lanceyard.yard.files import read_files

    if STREAM in files and kind is None:
        raise click.UsageError("The standard input has no name that says its format: say --format.")
    before = _version_before(session, table, mode)
    given = [sys.stdin.buffer if file == STREAM else file for file in files]
    stream = read_files(given, kind)
    if not session.goes_ahead("import", table, files=list(files), columns=stream.schema.names):
        return
    with heeded() as heed, progress.shown(f"import {table}") as tell:
        rows = progress.Counted(stream, tell, heed)
        if mode is None:
            held = session.yard.create_table(table, rows.reader)
            session.came(table)
        else:
            held = getattr(session.yard.table(table), mode)(rows.reader)
    undo = session.command("drop", table)
    if before is not None:
        undo = session.command("restore", table, str(before))
    session.done("import", table, rows=rows.count, version=held.version, undo=undo)


@catalog_command("export", Operand("TABLE"), word("FILE"), effect=Effect.CHANGES, at=True)
@with_format
@of_columns
@click.option("--where", metavar="CONDITION", help="Only rows for which a SQL condition holds.")
@of_version
@click.option("--force", is_flag=True, help="Put it in the place of a file that exists.")
def export_command(session: Session, table: str, file: str, **asked: Any) -> None:
    """Write a table to a file: Parquet, CSV, JSON lines or Arrow.

    The file has its name once it is complete. FILE is - to write to the standard output.
    """
    from lanceyard.yard.files import write_file, write_stream

    stream = session.yard.table(table).stream(
        asked["columns"], where=asked["where"], version=asked["version"]
    )
    if file != STREAM:
        _require_place(file, asked["kind"], force=asked["force"])
    if not session.goes_ahead("export", table, file=file, columns=stream.schema.names):
        return
    with heeded() as heed, progress.shown(f"export {table}") as tell:
        rows = progress.Counted(stream, tell, heed)
        if file == STREAM:
            write_stream(rows.reader, sys.stdout.buffer, asked["kind"] or "csv")
            return
        write_file(rows.reader, file, asked["kind"], replace=asked["force"])
    undo = None if asked["force"] else shlex.join(["rm", file])
    session.done("export", table, file=file, rows=rows.count, undo=undo)


def _require_place(file: str, kind: str | None, *, force: bool) -> None:
    """Refuse a file that cannot be written, also in a dry run."""
    from lanceyard.yard.files import format_of

    if kind is None:
        format_of(file)
    folder = os.path.dirname(file) or "."
    if not os.path.isdir(folder):
        raise RefusalError(f"there is no folder {folder}", Exit.MISSING)
    if os.path.isdir(file):
        raise RefusalError(f"{file} is a folder", Exit.USAGE, "name a file in it")
    if os.path.exists(file) and not force:
        raise RefusalError(f"{file} exists", Exit.TAKEN, "--force puts another in its place")


def _version_before(session: Session, table: str, mode: str | None) -> int | None:
    """The version to go back to; a table that is to be made must not be there yet."""
    from lanceyard.errors import InvalidTableStateError

    if mode is None:
        require_free(session, table)
        return None
    try:
        return session.yard.table(table).version
    except InvalidTableStateError:  # it was declared only
        return None
