"""The page `docs/cli.md`, made from the commands; ``make reference`` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from lanceyard.cli.exits import BY_CODE, Exit
from lanceyard.cli.main import SECTIONS, cli

COMMON = 4
"""How many options all commands on a catalog have."""
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
INTRODUCTION = """# The command line

`lanceyard` works on any catalog. This page is made from the commands themselves; each tells the
same with `--help`.

## Which catalog

The first word after a command is the catalog: a path, a URI, or the address of a server.

```text
lanceyard ls ./market
lanceyard ls s3://bucket/market
lanceyard ls https://catalog.example.com
```

Or give it a name, and use that: by `--catalog`, or by `LANCEYARD_CATALOG` for all commands. Then
there is no first word, unless it is a path or a URI: what has a slash in it is never the name of
an object.

```text
lanceyard config set prod impl=rest rest.uri=https://catalog.example.com
lanceyard ls --catalog prod shop
```

Such profiles are in `lanceyard/config.toml` in the folder for configuration (`XDG_CONFIG_HOME`,
or `~/.config`), or in the file that `LANCEYARD_CONFIG` names. `impl` says what a catalog is, the
other keys are its [properties](properties.md), with that for a prefix:

```toml
[catalogs.prod]
impl = "rest"
rest.uri = "https://catalog.example.com"

[catalogs.local]
impl = "dir"
dir.path = "/data/market"
dir.drop_retention = "86400"

[catalogs.lake]
impl = "hive"
hive.uri = "thrift://metastore:9083"
hive.root = "s3://lake/lance"
```

Environment variables override them: `LANCEYARD_CATALOG__PROD__REST__URI` is `rest.uri` of `prod`.
So do properties on the command line: `-p drop_retention=3600`.

Objects are named as in `shop.fruits`; a name with a dot in it is written with `$` between the
names: `shop$v1.2`.

## What it writes

Tables to a terminal, a JSON object in each line (ndjson) to all else. `--output` chooses `table`,
`ndjson`, `json` or `csv`, and so does `LANCEYARD_OUTPUT`. Times are ISO 8601, bytes are base64,
vectors are arrays. Tables cut what is long, and show no more than 1,000 rows; the other formats
have all.

What changes something takes `--dry-run`, says in the end what was done, and which command takes
it back (`undo`). What destroys something asks for its name first; scripts say `--yes`. Progress
of long work is shown on the standard error stream, if that is a terminal.

Every command on a catalog takes these:

{common}

## How it ends

A failure is told in one line, with the next step; `--debug` tells the rest. The exit code says of
which class it is:

"""
COMPLETION = """
## Completion

```text
source <(lanceyard completion bash)
```

completes commands, options, profiles, and names of namespaces and tables. Names are those that
`lanceyard ls -R` has seen last, and what was created and dropped since; they are kept in
`lanceyard/names` in the folder for caches (`XDG_CACHE_HOME`, or `~/.cache`).
"""


def page() -> str:
    """All that the page says."""
    codes = "\n".join(f"| {end.value} | {end.meaning} | {_errors(end)} |" for end in Exit)
    introduction = INTRODUCTION.replace("{common}", _table([*_common()]))
    head = f"{introduction}| exit code | meaning | [errors](errors.md) |\n|---|---|---|\n{codes}\n"
    return head + COMPLETION + "\n" + "\n".join(_sections())


def _errors(end: Exit) -> str:
    return ", ".join(str(code) for code, found in sorted(BY_CODE.items()) if found is end)


def _sections() -> Iterator[str]:
    top = click.Context(cli, info_name="lanceyard")
    for title, section in SECTIONS.items():
        yield f"## {title}\n"
        for name in section:
            found = cli.get_command(top, name)
            assert found is not None
            yield from _command(found, click.Context(found, parent=top, info_name=name))


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f"### {ctx.command_path.removeprefix('lanceyard ')}\n"
    yield f"{_text(command)}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            assert found is not None
            yield from _command(found, click.Context(found, parent=ctx, info_name=name))
        return
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f"```text\n{ctx.command_path} {usage}\n```\n"
    rows = [_row(each, ctx) for each in command.params if isinstance(each, click.Option)]
    own = [row for row in rows if row not in [*_common()]]
    if own:
        yield f"{_table(own)}\n"


def _common() -> Iterator[str]:
    """The options of all commands on a catalog, as rows."""
    found = cli.get_command(click.Context(cli), "log")
    assert found is not None
    ctx = click.Context(found)
    options = [each for each in found.params if isinstance(each, click.Option)]
    return (_row(each, ctx) for each in options[-COMMON:])


def _table(rows: list[str]) -> str:
    return "| option | meaning |\n|---|---|\n" + "\n".join(rows)


def _text(command: click.Command) -> str:
    return re.sub(r"[<>]", lambda found: f"\\{found[0]}", inspect.cleandoc(command.help or ""))


def _row(option: click.Option, ctx: click.Context) -> str:
    shown = option.get_help_record(ctx)
    assert shown is not None
    name, meaning = (each.replace("|", "\\|") for each in shown)
    return f"| `{name}` | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page())
