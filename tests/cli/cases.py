"""Every command: how it is called on the sample catalog, and on what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import click

from lanceyard.cli.exits import Exit
from lanceyard.cli.main import cli

MARKET = "./market"
NOWHERE = "./nowhere"
DRY_RUN = "--dry-run"


class Check(Enum):
    """What is to be seen of every command."""

    OUTPUT = "what it tells people"
    NDJSON = "what it tells programs"
    NO_CATALOG = "how it fails where there is no catalog"
    NO_OBJECT = "how it fails on an object that does not exist"
    READ_ONLY = "what it does in a folder that may only be read"


@dataclass(frozen=True)
class Case:
    """A command, and how the tests call it."""

    command: str
    """As in ``tag create``."""
    words: tuple[str, ...] = ()
    """What comes after the catalog."""
    missing: tuple[str, ...] | None = None
    """The same with an object that does not exist, where a command names one."""
    writes: bool = False
    """Whether it changes files."""
    code: Exit = Exit.DONE
    catalog: str | None = MARKET
    """What it is called on; None if it is about no catalog."""
    makes: bool = False
    """Whether it makes that catalog."""

    def __str__(self) -> str:
        return self.command.replace(" ", "-")

    def on(self, catalog: str | None, *more: str) -> list[str]:
        """The words of the command on a catalog."""
        return self._line(catalog, *self.words, *more)

    def called(self, *more: str) -> list[str]:
        """The words of the command as it succeeds."""
        return self.on(self.catalog, *more)

    def on_missing(self) -> list[str]:
        """The words of the command on what does not exist."""
        assert self.missing is not None
        return self._line(self.catalog, *self.missing)

    @property
    def needs_catalog(self) -> bool:
        """Whether it is about a catalog that is there."""
        return self.catalog is not None and not self.makes

    @property
    def checks(self) -> Iterator[Check]:
        """What the tests over all cases look at."""
        yield from (Check.OUTPUT, Check.NDJSON, Check.READ_ONLY)
        if self.needs_catalog:
            yield Check.NO_CATALOG
        if self.missing is not None:
            yield Check.NO_OBJECT

    def _line(self, catalog: str | None, *words: str) -> list[str]:
        return [*self.command.split(), *([] if catalog is None else [catalog]), *words]


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
    _writes("export", "shop.products", "out/products.csv", missing=("shop.nope", "x.csv")),
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
    _writes("manage", "--wait", "0", "--yes"),
    _writes("maintain compact", "shop.orders", missing=("shop.nope",)),
    _writes("maintain index", "shop.customers", "id", missing=("shop.nope", "id")),
    _writes("maintain refresh", "library.documents", missing=("shop.nope",)),
    _writes("maintain backfill", "shop.customers", "big=id * 2", missing=("shop.nope", "a=1")),
    _writes(
        "maintain expire", "shop.orders", "--older-than", "0", "--yes", missing=("nope", "--yes")
    ),
    _writes("maintain sweep", "shop", "--yes", missing=("nope", "--yes")),
    _writes("bench", "-n", "1"),
    Case("demo", writes=True, catalog="./sample", makes=True),
    Case("key", catalog=None),
    Case("config path", catalog=None),
    Case("config list", catalog=None),
    Case("config set", ("local", "dir.window=60"), writes=True, catalog=None),
    Case("config unset", ("local", "dir.path"), ("nope",), writes=True, catalog=None),
]
"""Those that end by themselves and take ``--output``."""
OWN_TESTS = {
    ("serve", Check.OUTPUT): "test_serving.test_the_address_is_printed_once_it_answers",
    ("serve", Check.NO_CATALOG): "test_serving.test_what_is_not_there_is_not_served",
    ("serve", Check.NO_OBJECT): "test_serving.test_what_is_not_there_is_not_served",
    ("serve", Check.READ_ONLY): "test_serving.test_a_read_only_folder_is_served_to_readers",
    ("completion", Check.OUTPUT): "test_completion.test_a_shell_is_told_how_to_complete",
}
"""What other tests look at."""
_OF_ALL = ("log", "doctor", "repair", "migrate", "manage", "bench")
_OF_NONE = ("key", "completion", "config path", "config list", "config set", "config unset")
NOTHING_TO_SEE = {
    ("serve", Check.NDJSON): "it prints one address, for people and for programs",
    ("completion", Check.NDJSON): "it prints a program, for a shell to run",
    ("completion", Check.READ_ONLY): "it knows of no files",
    ("completion", Check.NO_OBJECT): "it names no object",
    ("demo", Check.NO_CATALOG): "it makes one",
    ("demo", Check.NO_OBJECT): "it names no object",
    ("key", Check.NO_OBJECT): "it names no object",
    ("config set", Check.NO_OBJECT): "it makes the profile",
    ("config path", Check.NO_OBJECT): "it names no profile",
    ("config list", Check.NO_OBJECT): "it names no profile",
    **dict.fromkeys([(name, Check.NO_OBJECT) for name in _OF_ALL], "it is about the whole catalog"),
    **dict.fromkeys([(name, Check.NO_CATALOG) for name in _OF_NONE], "it is about no catalog"),
}
"""Where a check makes no sense, and why."""


def commands() -> Iterator[str]:
    """The names of all commands, with those of the groups that they are in."""
    ctx = click.Context(cli)
    for name in cli.list_commands(ctx):
        found = cli.get_command(ctx, name)
        if isinstance(found, click.Group):
            yield from (f"{name} {each}" for each in found.list_commands(ctx))
        else:
            yield name
