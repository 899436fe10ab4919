"""Properties: `set` and `unset`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lanceyard.cli.command import Effect, Operand, catalog_command, read_pairs
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from lanceyard.yard import Space, Table

PAIRS = Operand("NAME=VALUE", many=True, names_object=False, key="pairs")
KEYS = Operand("PROPERTY", many=True, names_object=False, key="keys")


@catalog_command("set", Operand("NAME"), PAIRS, effect=Effect.CHANGES)
def set_command(session: Session, name: str, pairs: tuple[str, ...]) -> None:
    """Set properties of a namespace or a table."""
    put = read_pairs(pairs)
    held = _held(session, name)
    before = held.properties
    if session.goes_ahead("set", name, properties=put):
        held.set_properties(put)
        undo = taken_back(lambda verb, *words: session.command(verb, name, *words), before, put)
        session.done("set", name, properties=put, undo=undo)


@catalog_command("unset", Operand("NAME"), KEYS, effect=Effect.CHANGES)
def unset_command(session: Session, name: str, keys: tuple[str, ...]) -> None:
    """Take properties of a namespace or a table away."""
    held = _held(session, name)
    before = held.properties
    missing = [key for key in keys if key not in before]
    if missing:
        raise RefusalError(f"{name} has no property {missing[0]!r}", Exit.MISSING)
    if session.goes_ahead("unset", name, properties=list(keys)):
        held.unset_properties(*keys)
        undo = session.command("set", name, *(f"{key}={before[key]}" for key in keys))
        session.done("unset", name, properties=list(keys), undo=undo)


def _held(session: Session, name: str) -> Space | Table:
    """The table or the namespace of a name."""
    found = session.yard.find(name)
    return session.yard.table(name) if found.is_table else session.yard.space(name)


def taken_back(
    command: Callable[..., str], before: Mapping[str, str], put: Mapping[str, str]
) -> str | None:
    """What gives properties the values they had, and takes those away that were not there.

    `command` makes a command of ``set`` or ``unset`` and its words.
    """
    changed = [f"{key}={before[key]}" for key in put if before.get(key, put[key]) != put[key]]
    new = [key for key in put if key not in before]
    steps = [command("set", *changed)] if changed else []
    steps += [command("unset", *new)] if new else []
    return " && ".join(steps) or None
