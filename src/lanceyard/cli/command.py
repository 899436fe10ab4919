"""Commands on a catalog: what all of them take, and how their words are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import click
from click.shell_completion import CompletionItem

from lanceyard.cli import addresses, completion, deferral
from lanceyard.cli.output import FORMATS, Output
from lanceyard.cli.session import Session

PROPERTY = "NAME=VALUE"


class Effect(Enum):
    """What a command does to a catalog."""

    READS = auto()
    CHANGES = auto()
    """It can be taken back, and takes ``--dry-run``."""
    DESTROYS = auto()
    """It cannot, so that it is confirmed as well, and takes ``--yes``."""


@dataclass(frozen=True)
class Operand:
    """A word that a command takes after the catalog."""

    name: str
    required: bool = True
    many: bool = False
    """Whether it takes all words that are left."""
    names_object: bool = True
    """Whether it is the name of a namespace or a table, which completion knows."""
    key: str = ""
    """How the function of the command calls it; as its name says, unless said."""

    def __post_init__(self) -> None:
        """Find what the function calls it."""
        object.__setattr__(self, "key", self.key or self.name.lower())

    def __str__(self) -> str:
        shown = f"{self.name}..." if self.many else self.name
        return shown if self.required else f"[{shown}]"


def word(name: str) -> Operand:
    """An operand that is no name of an object."""
    return Operand(name, names_object=False)


def optional(name: str) -> Operand:
    """The name of an object that may be left out."""
    return Operand(name, required=False)


class Words(click.Argument):
    """The words of a command: the catalog, unless it is named otherwise, and its operands."""

    def __init__(self, operands: Sequence[Operand]) -> None:
        """Take operands, of which the last one may be many."""
        shown = " ".join(["[CATALOG]", *map(str, operands)])
        super().__init__(["words"], nargs=-1, type=click.UNPROCESSED, metavar=shown)
        self.operands = tuple(operands)

    def split(self, words: list[str], ctx: click.Context) -> dict[str, Any]:
        """Words as the operands they are for; those that may be left out take what is left."""
        spare = len(words) - sum(each.required for each in self.operands)
        values: dict[str, Any] = {}
        for each in self.operands:
            if each.many:
                values[each.key] = tuple(words)
                spare, words = 0, []
            elif each.required or spare > 0:
                spare -= not each.required
                values[each.key] = words.pop(0) if words else None
            else:
                values[each.key] = None
            if each.required and not values[each.key]:
                raise click.UsageError(f"Missing {each.name}.", ctx)
        if words:
            raise click.UsageError(f"Got an unexpected extra word: {words[0]}", ctx)
        return values

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that are remembered of the catalog; paths where the catalog comes."""
        words = [*(ctx.params.get("words") or ())]
        address = addresses.read(ctx.params.get("catalog"), words, {})
        if address is None or len(words) >= len(self.operands) + any(o.many for o in self.operands):
            return [CompletionItem(incomplete, type="file")]
        operand = self.operands[min(len(words), len(self.operands) - 1)]
        if not operand.names_object:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(name) for name in completion.names_of(address.key, incomplete)]


class CatalogCommand(click.Command):
    """A command on a catalog: its function is given a session, then operands and options."""

    def __init__(
        self, *args: Any, operands: Sequence[Operand], effect: Effect, at: bool, **more: Any
    ) -> None:
        """Take operands beside the catalog; `at` is for commands that read earlier states."""
        super().__init__(*args, **more)
        self._words = Words(operands)
        self.effect = effect
        self.params = [self._words, *self.params, *_common(effect, at=at)]

    def invoke(self, ctx: click.Context) -> Any:
        """Read the words, and carry the command out."""
        assert self.callback is not None
        given = dict(ctx.params)
        extra = read_pairs(given.pop("property"), ctx)
        words = list(given.pop("words"))
        address = addresses.read(given.pop("catalog"), words, extra)
        if address is None:
            raise click.UsageError("Missing CATALOG: a path, a URI, or --catalog NAME.", ctx)
        values = self._words.split(words, ctx)
        session = Session(
            address,
            Output(given.pop("output")),
            moment=given.pop("as_of", None),
            dry_run=given.pop("dry_run", False),
            yes=given.pop("yes", False),
        )
        ctx.meta[ADDRESS], ctx.meta[DEBUG] = address.words, given.pop("debug")
        if not ctx.params.get("as_of"):  # what an earlier state lacks, the table may have now
            ctx.meta[TABLE] = values.get("table") or given.get("table")
        deferral.import_arrow_alone()
        with session:
            return ctx.invoke(self.callback, session, **values, **given)


class TellingCommand(click.Command):
    """A command about no catalog: its function is given an output, then its parameters."""

    def __init__(self, *args: Any, changes: bool, **more: Any) -> None:
        """Take the options of all that tells something, and of what changes something."""
        super().__init__(*args, **more)
        self.params += [*_dry_run(Effect.CHANGES if changes else Effect.READS), *output_options()]

    def invoke(self, ctx: click.Context) -> Any:
        """Carry the command out."""
        assert self.callback is not None
        given = dict(ctx.params)
        ctx.meta[DEBUG] = given.pop("debug")
        return ctx.invoke(self.callback, Output(given.pop("output")), **given)


ADDRESS, TABLE, DEBUG = "lanceyard.address", "lanceyard.table", "lanceyard.debug"
"""Where the context keeps how catalog and table were named, and whether to tell all."""


def catalog_command(
    name: str, *operands: Operand, effect: Effect = Effect.READS, at: bool = False
) -> Callable[[Callable[..., Any]], CatalogCommand]:
    """Make a function a command on a catalog."""
    return click.command(name, cls=CatalogCommand, operands=operands, effect=effect, at=at)


def telling_command(
    name: str, *, changes: bool = False
) -> Callable[[Callable[..., Any]], TellingCommand]:
    """Make a function a command that is about no catalog."""
    return click.command(name, cls=TellingCommand, changes=changes)


def read_pairs(texts: Sequence[str], ctx: click.Context | None = None) -> dict[str, str]:
    """Texts such as ``name=value`` as what they say."""
    return dict(_pairs(texts, ctx))


def _pairs(texts: Sequence[str], ctx: click.Context | None) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise click.UsageError(f"{text!r} is not {PROPERTY}", ctx)
        yield name, value


def _common(effect: Effect, *, at: bool) -> Iterator[click.Option]:
    if at:
        yield click.Option(
            ["--as-of"], metavar="MOMENT", help="The catalog as it was: a tag, version or time."
        )
    yield from _dry_run(effect)
    if effect is Effect.DESTROYS:
        yield click.Option(["-y", "--yes"], is_flag=True, help="Do not ask; for scripts.")
    yield click.Option(
        ["-c", "--catalog"],
        metavar="NAME",
        is_eager=True,
        help="A profile (see config) instead of a path.",
        shell_complete=lambda _, __, incomplete: completion.profiles_of(incomplete),
    )
    yield click.Option(
        ["-p", "--property"],
        metavar=PROPERTY,
        multiple=True,
        help="A property of the catalog, as often as needed.",
    )
    yield from output_options()


def _dry_run(effect: Effect) -> Iterator[click.Option]:
    if effect is not Effect.READS:
        yield click.Option(
            ["--dry-run"], is_flag=True, help="Change nothing, and tell what would be done."
        )


def output_options() -> Iterator[click.Option]:
    """The options of everything that tells something."""
    yield click.Option(
        ["-o", "--output"],
        type=click.Choice(FORMATS),
        envvar="LANCEYARD_OUTPUT",
        help="A table on a terminal, else ndjson, unless said.",
    )
    yield click.Option(["--debug"], is_flag=True, help="Tell all there is about a failure.")
