"""Setting up: `config` and `completion`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from lanceyard.cli import profiles
from lanceyard.cli.command import read_pairs, telling_command
from lanceyard.cli.commands.properties import taken_back
from lanceyard.cli.failures import command_line
from lanceyard.cli.output import Output

SHELLS = ("bash", "zsh", "fish")


@click.group("config")
def config_command() -> None:
    """Show and edit profiles: catalogs with names.

    They are in a TOML file, a table for each: impl (dir, rest, hive) and keys with its prefix, as
    in rest.uri. LANCEYARD_CATALOG__PROD__REST__URI overrides rest.uri of the profile prod.
    """


def _command(name: str, *, changes: bool = False) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        made = telling_command(name, changes=changes)(function)
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
    before = profiles.kept_of(profile)
    profiles.put(profile, put, dry_run=dry_run)
    undo = None if dry_run else _undo(profile, before, put)
    told = {"keys": profiles.masked(put)}
    output.outcome("would" if dry_run else "done", "config set", profile, told, undo)


@_command("unset", changes=True)
@click.argument("profile")
@click.argument("keys", nargs=-1, metavar="[KEY...]")
def unset_keys(output: Output, profile: str, keys: tuple[str, ...], dry_run: bool) -> None:
    """Take keys of a profile out of the file; without KEY, the whole profile."""
    before = profiles.kept_of(profile)
    profiles.remove(profile, keys, dry_run=dry_run)
    gone = {key: value for key, value in before.items() if not keys or key in keys}
    undo = None if dry_run else _undo(profile, gone, dict.fromkeys(gone, ""))
    told = {"keys": list(keys) or None}
    output.outcome("would" if dry_run else "done", "config unset", profile, told, undo)


def _undo(profile: str, before: Mapping[str, str], put: Mapping[str, str]) -> str | None:
    """What gives keys of a profile the values that they had; None if that would tell secrets."""
    if profiles.has_secrets(key for key in put if key in before):
        return None
    return taken_back(
        lambda verb, *words: command_line("config", verb, profile, *words), before, put
    )


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
