"""The command ``lanceyard``: its commands are imported when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

import lanceyard
from lanceyard.cli import deferral, failures
from lanceyard.cli.command import ADDRESS, DEBUG, TABLE
from lanceyard.cli.exits import Exit
from lanceyard.cli.interruption import noticed

SECTIONS = {
    "Look": {
        "ls": "looking",
        "tree": "looking",
        "show": "looking",
        "head": "reading",
        "sql": "reading",
        "query": "reading",
    },
    "Change": {
        "create": "naming",
        "declare": "naming",
        "register": "naming",
        "deregister": "naming",
        "rename": "naming",
        "drop": "naming",
        "undrop": "naming",
        "set": "properties",
        "unset": "properties",
        "import": "files",
        "export": "files",
    },
    "Time": {
        "versions": "history",
        "log": "history",
        "diff": "history",
        "restore": "history",
        "tag": "references",
        "branch": "references",
    },
    "Care": {
        "doctor": "care",
        "repair": "care",
        "migrate": "care",
        "manage": "care",
        "maintain": "maintain",
    },
    "Serve and set up": {
        "serve": "serving",
        "key": "serving",
        "config": "config",
        "completion": "config",
        "demo": "demo",
        "bench": "bench",
    },
}
"""The commands, in the order of the help, and the modules that they are in."""
MODULES = {name: module for section in SECTIONS.values() for name, module in section.items()}
BROKEN_PIPE = 141


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in MODULES:
            return None
        module = import_module(f"lanceyard.cli.commands.{MODULES[cmd_name]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them by section."""
        for title, section in SECTIONS.items():
            found = [(name, self.get_command(ctx, name)) for name in section]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, each.get_short_help_str(62)) for name, each in found if each]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words begin with; of one that is not there the nearest is told."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as unknown:
            import difflib

            near = difflib.get_close_matches(args[0], MODULES, n=1)
            if not near:
                raise
            raise click.UsageError(f"{unknown.message} Did you mean {near[0]!r}?", ctx) from None


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(lanceyard.__version__, message="lanceyard %(version)s")
def cli() -> None:
    """A catalog for Lance tables.

    CATALOG is a path, a URI or the address of a server; or leave it out, and name a profile by
    --catalog or LANCEYARD_CATALOG. Names of objects are written as in shop.fruits.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    contexts: list[click.Context] = []
    deferral.defer()
    try:
        with noticed(), cli.make_context("lanceyard", given) as ctx:
            contexts.append(ctx)
            return int(cli.invoke(ctx) or Exit.DONE)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        where = error.ctx if isinstance(error, click.UsageError) else None
        path = "lanceyard" if where is None else where.command_path
        message = error.format_message().rstrip(".")
        print(failures.Told(message, Exit.USAGE, f"{path} --help"), file=sys.stderr)
        return Exit.USAGE
    except BrokenPipeError:
        # Nobody reads any further; what is still buffered must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        begin = "\n" if sys.stderr.isatty() else ""  # the line that ^C was typed on
        print(f"{begin}lanceyard: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except Exception as error:
        meta: dict[str, Any] = contexts[0].meta if contexts else {}
        return failures.tell(
            error, meta.get(ADDRESS, ()), meta.get(TABLE), debug=meta.get(DEBUG, False)
        )
