"""A session: the catalog that a command works on, and how it speaks of what it does."""

from __future__ import annotations

import sys
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from lanceyard.cli import completion, interruption
from lanceyard.cli.addresses import Address
from lanceyard.cli.cells import visible
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError, command_line
from lanceyard.cli.output import Output

if TYPE_CHECKING:
    from lanceyard.yard import Yard


class Session:
    """One command on one catalog. The catalog is opened when it is first asked for."""

    def __init__(
        self,
        address: Address,
        output: Output,
        *,
        moment: str | None = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> None:
        """Open nothing yet."""
        self.address = address
        self.output = output
        self.dry_run = dry_run
        self._moment = moment
        self._yes = yes

    @cached_property
    def yard(self) -> Yard:
        """The catalog, as it is or as it was at the moment that was asked for."""
        return self.open()

    def open(self, **properties: str) -> Yard:
        """The catalog, with more properties unless they were given."""
        import lanceyard

        self.address.require()
        yard = lanceyard.open({**properties, **self.address.properties})
        return yard if self._moment is None else yard.as_of(self._moment)

    def command(self, name: str, *words: str) -> str:
        """Another command on the same catalog, to be copied into a shell."""
        return command_line(*name.split(), *self.address.words, *words)

    def goes_ahead(self, verb: str, name: str, *, destroys: bool = False, **facts: Any) -> bool:
        """Whether to do something; a dry run says that it would, what destroys is confirmed."""
        if self.dry_run:
            self.output.outcome("would", verb, name, facts, None)
            return False
        if destroys:
            self.confirm(verb, name)
        return True

    def confirm(self, verb: str, name: str) -> None:
        """Let a person type the name of what is to be destroyed; scripts say ``--yes``."""
        if self._yes:
            return
        if not sys.stdin.isatty():
            raise RefusalError(
                f"{verb} {name} destroys something", Exit.UNCONFIRMED, "say --yes if you mean it"
            )
        click.echo(f"Type {visible(name)} to {verb} it: ", nl=False, err=True)
        if interruption.typed_line() != name:
            raise RefusalError(f"{verb} {name} was not confirmed", Exit.UNCONFIRMED)

    def done(self, verb: str, name: str, *, undo: str | None = None, **facts: Any) -> None:
        """Tell what was done, and the command that takes it back."""
        self.output.outcome("done", verb, name, facts, undo)

    def remember(self, names: list[str]) -> None:
        """Let completion know names of the catalog as it is."""
        if self._moment is None:
            completion.remember(self.address.key, names)

    def came(self, name: str) -> None:
        """Let completion know a name that is new."""
        completion.merge(self.address.key, come=name)

    def gone(self, name: str) -> None:
        """Let completion forget a name, and all below it."""
        completion.merge(self.address.key, gone=name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if "yard" in self.__dict__:
            self.yard.close()
