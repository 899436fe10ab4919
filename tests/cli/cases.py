"""Every command: how it is called on the sample catalog, and on what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from lanceyard.cli.exits import Exit
from lanceyard.cli.main import cli

MARKET = "./market"
DRY_RUN = "--dry-run"


@dataclass(frozen=True)
class Case:
    """A command on a catalog."""

    command: str
    """As in ``tag create``."""
    words: tuple[str, ...] = ()
    """What comes after the catalog."""
    missing: tuple[str, ...] | None = None
    """The same with an object that does not exist, where a command names one."""
    writes: bool = False
    """Whether it changes the catalog."""
    code: Exit = Exit.DONE

    def __str__(self) -> str:
        return self.command.replace(" ", "-")

    def on(self, catalog: str, *more: str) -> list[str]:
        """The words of the command on a catalog."""
        return [*self.command.split(), catalog, *self.words, *more]

    def on_missing(self) -> list[str]:
        """The words of the command on what does not exist."""
        assert self.missing is not None
        return [*self.command.split(), MARKET, *self.missing]


def _reads(command: str, *words: str, missing: tuple[str, ...] | None = None) -> Case:
    return Case(command, words, missing)


def _writes(command: str, *words: str, missing: tuple[str, ...] | None = None) -> Case:
    return Case(command, words, missing, writes=True)


CASES = [
    _reads("ls", "shop", missing=("nope",)),
    _reads("tree", "media", missing=("nope",)),
    _reads("show", "library.documents", missing=("library.nope",)),
    _reads("head", "shop.products", "-n", "3", missing=("shop.nope",)),
    _reads(
        "sql",
        "SELECT topic, count(*) AS n FROM library.documents GROUP BY topic ORDER BY topic",
        missing=("SELECT * FROM shop.nope",),
    ),
    _reads(
        "query",
        "library.documents",
        "--vector",
        "1,0,0,0,0,0,0,0",
        "-k",
        "3",
        "--columns",
        "id,topic",
        missing=("library.nope", "--text", "x"),
    ),
    _writes("create", "attic", missing=("nope.attic",)),
    _writes("declare", "shop.later", missing=("nope.later",)),
    _writes("register", "shop.again", "{reviews}", missing=("nope.again", "nowhere")),
    _writes("deregister", "shop.orders", missing=("shop.nope",)),
    _writes("rename", "shop.orders", "bills", missing=("shop.nope", "x")),
    _writes("drop", "shop.orders", "--yes", missing=("shop.nope", "--yes")),
    _writes("undrop", "shop.gone", missing=("shop.nope",)),
    _writes("set", "shop", "owner=ann", "floor=2", missing=("nope", "a=b")),
    _writes("unset", "shop", "owner", missing=("nope", "a")),
    _writes("import", "shop.fruits", "fruits.csv", missing=("nope.fruits", "fruits.csv")),
    _reads("export", "shop.products", "out/products.csv", missing=("shop.nope", "x.csv")),
    _reads("versions", "shop.products", missing=("shop.nope",)),
    _reads("log", "-n", "3"),
    _reads("diff", "opening", missing=("yesteryear",)),
    _writes("restore", "shop.products", "opening", missing=("shop.products", "99")),
    _reads("tag list", "--table", "shop.products", missing=("--table", "shop.nope")),
    _writes("tag create", "closing", missing=("x", "--table", "shop.nope")),
    _writes("tag delete", "opening", missing=("yesteryear",)),
    _reads("branch list", "shop.products", missing=("shop.nope",)),
    _writes("branch create", "shop.customers", "trial", missing=("shop.nope", "trial")),
    _writes("branch delete", "shop.products", "old", "--yes", missing=("shop.products", "nope")),
    Case("doctor", code=Exit.FINDINGS),
    _writes("repair"),
    _writes("migrate"),
    _writes("maintain compact", "shop.orders", missing=("shop.nope",)),
    _writes("maintain index", "shop.customers", "id", missing=("shop.nope", "id")),
    _writes("maintain refresh", "library.documents", missing=("shop.nope",)),
    _writes("maintain backfill", "shop.customers", "big=id * 2", missing=("shop.nope", "a=1")),
    _writes(
        "maintain expire", "shop.orders", "--older-than", "0", "--yes", missing=("nope", "--yes")
    ),
    _writes("maintain sweep", "shop", "--yes", missing=("nope", "--yes")),
    _writes("bench", "-n", "1"),
]
"""Those on a catalog that exists."""
OTHERS = {
    "serve",
    "key",
    "config path",
    "config list",
    "config set",
    "config unset",
    "completion",
    "demo",
}
"""The rest, which have tests of their own."""


def commands() -> Iterator[str]:
    """The names of all commands, with those of the groups that they are in."""
    ctx = click.Context(cli)
    for name in cli.list_commands(ctx):
        found = cli.get_command(ctx, name)
        if isinstance(found, click.Group):
            yield from (f"{name} {each}" for each in found.list_commands(ctx))
        else:
            yield name
