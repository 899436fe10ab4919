"""References: `tag` and `branch`."""

from __future__ import annotations

import click

from lanceyard.cli.command import Effect, Operand, catalog_command, word
from lanceyard.cli.commands.reading import read_version
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError
from lanceyard.cli.session import Session

TAG = ("tag", "version", "at")
BRANCH = ("branch", "from")

with_table = click.option("--table", help="Of this table instead of the whole catalog.")


@click.group("tag")
def tag_command() -> None:
    """Name states of the catalog, or versions of a table."""


@click.group("branch")
def branch_command() -> None:
    """List, create and delete branches of a table."""


@tag_command.add_command
@catalog_command("list")
@with_table
def list_tags(session: Session, table: str | None) -> None:
    """List tags."""
    known = _tags(session, table)
    if table is not None:
        session.output.rows(TAG[:2], [{"tag": t, "version": v} for t, v in known.items()])
        return
    at = {state.version: state.at for state in session.yard.tags.list().values()}
    rows = [{"tag": t, "version": v, "at": at[v].astimezone()} for t, v in known.items()]
    session.output.rows(TAG, rows)


@tag_command.add_command
@catalog_command("create", word("TAG"), effect=Effect.CHANGES)
@with_table
@click.option("--at", metavar="VERSION", help="Of this state or version, not the latest.")
def create_tag(session: Session, tag: str, table: str | None, at: str | None) -> None:
    """Name a state, which is then kept for ever; or a version of a table."""
    about = _about(table)
    undo = session.command("tag delete", tag, *about)
    if tag in _tags(session, table):
        raise RefusalError(f"there is a tag {tag!r} already", Exit.TAKEN, undo)
    if table is None:
        _tag_state(session, tag, at, undo)
    else:
        _tag_version(session, tag, table, at, undo)


@tag_command.add_command
@catalog_command("delete", word("TAG"), effect=Effect.CHANGES)
@with_table
def delete_tag(session: Session, tag: str, table: str | None) -> None:
    """Take a name away; what it names is kept no longer than others."""
    version = _tags(session, table).get(tag)
    if version is None:
        known = session.command("tag list", *_about(table))
        raise RefusalError(f"there is no tag {tag!r}", Exit.MISSING, known)
    if not session.goes_ahead("tag delete", tag, table=table, version=version):
        return
    if table is None:
        session.yard.tags.delete(tag)
    else:
        session.yard.table(table).untag(tag)
    undo = session.command("tag create", tag, "--at", str(version), *_about(table))
    session.done("tag delete", tag, table=table, version=version, undo=undo)


@branch_command.add_command
@catalog_command("list", Operand("TABLE"))
def list_branches(session: Session, table: str) -> None:
    """List the branches of a table, and the versions that they began at."""
    found = session.yard.table(table).branches()
    session.output.rows(BRANCH, [{"branch": b, "from": v} for b, v in sorted(found.items())])


@branch_command.add_command
@catalog_command("create", Operand("TABLE"), word("BRANCH"), effect=Effect.CHANGES)
@click.option(
    "--at", type=read_version, metavar="VERSION", help="Where it begins: a version or a tag."
)
def create_branch(session: Session, table: str, branch: str, at: int | str | None) -> None:
    """Let a branch begin at the latest version of a table, or at another."""
    held = session.yard.table(table)
    undo = session.command("branch delete", table, branch)
    if branch in held.branches():
        raise RefusalError(f"{table} has a branch {branch!r} already", Exit.TAKEN, undo)
    version = held.to_lance(at).version
    if session.goes_ahead("branch create", branch, table=table, version=version):
        held.branch(branch, version)
        session.done("branch create", branch, table=table, version=version, undo=undo)


@branch_command.add_command
@catalog_command("delete", Operand("TABLE"), word("BRANCH"), effect=Effect.DESTROYS)
def delete_branch(session: Session, table: str, branch: str) -> None:
    """Delete a branch of a table, and its versions."""
    held = session.yard.table(table)
    if branch not in held.branches():
        known = session.command("branch list", table)
        raise RefusalError(f"{table} has no branch {branch!r}", Exit.MISSING, known)
    if session.goes_ahead("branch delete", branch, destroys=True, table=table):
        held.drop_branch(branch)
        session.done("branch delete", branch, table=table)


def _tag_state(session: Session, tag: str, at: str | None, undo: str) -> None:
    if at is not None:
        session.yard.as_of(at)  # which tells that it is not kept, also in a dry run
    if session.goes_ahead("tag create", tag, table=None, at=at):
        state = session.yard.tags.create(tag, at)
        session.done("tag create", tag, table=None, version=state.version, undo=undo)


def _tag_version(session: Session, tag: str, table: str, at: str | None, undo: str) -> None:
    held = session.yard.table(table)
    version = held.to_lance(None if at is None else read_version(at)).version
    if session.goes_ahead("tag create", tag, table=table, version=version):
        held.tag(tag, version)
        session.done("tag create", tag, table=table, version=version, undo=undo)


def _about(table: str | None) -> tuple[str, ...]:
    return () if table is None else ("--table", table)


def _tags(session: Session, table: str | None) -> dict[str, int]:
    """Tags by name, with the versions that they name."""
    if table is not None:
        return dict(sorted(session.yard.table(table).tags().items()))
    known = session.yard.tags.list()
    return {tag: known[tag].version for tag in sorted(known)}
