"""Setting up: `config` and `completion`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lanceyard.cli import profiles
from lanceyard.cli.command import output_options, read_pairs
from lanceyard.cli.failures import command_line
from lanceyard.cli.output import Output

SHELLS = ("bash", "zsh", "fish")


class ConfigCommand(click.Command):
    """A command on the file of profiles: its function is given an output first."""

    def __init__(self, *args: Any, changes: bool, **more: Any) -> None:
        """Take the options of all that tells something, and of what changes something."""
        super().__init__(*args, **more)
        dry = click.Option(["--dry-run"], is_flag=True, help="Change nothing, and tell what would.")
        self.params += [*([dry] if changes else []), *output_options()]

    def invoke(self, ctx: click.Context) -> Any:
        """Carry the command out."""
        assert self.callback is not None
        given = dict(ctx.params)
        given.pop("debug")
        return ctx.invoke(self.callback, Output(given.pop("output")), **given)


@click.group("config")
def config_command() -> None:
    """Show and edit profiles: catalogs with names.

    They are in a TOML file, a table for each: impl (dir, rest, hive) and keys with its prefix, as
    in rest.uri. LANCEYARD_CATALOG__PROD__REST__URI overrides rest.uri of the profile prod.
    """


def _command(name: str, *, changes: bool = False) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        made = click.command(name, cls=ConfigCommand, changes=changes)(function)
        config_command.add_command(made)
        return made

    return decorate


@_command("path")
def show_path(output: Output) -> None:
    """Print where the profiles are kept."""
    output.record({"path": str(profiles.path())})


@_command("list")
def list_profiles(output: Output) -> None:
    """List all profiles with what environment variables override; secrets are masked."""
    rows = [
        {"profile": name, "key": key, "value": value}
        for name, found in sorted(profiles.load().items())
        for key, value in sorted(profiles.masked(found).items())
    ]
    output.rows(("profile", "key", "value"), rows)


@_command("set", changes=True)
@click.argument("profile")
@click.argument("pairs", nargs=-1, required=True, metavar="KEY=VALUE...")
def set_keys(output: Output, profile: str, pairs: tuple[str, ...], dry_run: bool) -> None:
    """Set keys of a profile: impl (dir, rest, hive), and those with its prefix.

    As in: lanceyard config set prod impl=rest rest.uri=https://catalog.example.com
    """
    put = read_pairs(pairs)
    if not dry_run:
        profiles.put(profile, put)
    undo = None if dry_run else command_line("config", "unset", profile, *put)
    state = "would" if dry_run else "done"
    output.outcome(state, "config set", profile, {"keys": profiles.masked(put)}, undo)


@_command("unset", changes=True)
@click.argument("profile")
@click.argument("keys", nargs=-1, metavar="[KEY...]")
def unset_keys(output: Output, profile: str, keys: tuple[str, ...], dry_run: bool) -> None:
    """Take keys of a profile out of the file; without KEY, the whole profile."""
    if not dry_run:
        profiles.remove(profile, keys)
    state = "would" if dry_run else "done"
    output.outcome(state, "config unset", profile, {"keys": list(keys) or None}, None)


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print what makes a shell complete commands and names.

    As in: source <(lanceyard completion bash)
    """
    from click.shell_completion import get_completion_class

    from lanceyard.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "lanceyard", "_LANCEYARD_COMPLETE").source())
