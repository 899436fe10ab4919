"""What a shell completes, without opening a catalog."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from lanceyard.cli import completion
from lanceyard.cli.main import cli
from tests.cli.running import Shell


def completed(*words: str) -> list[str]:
    """What is offered for the last word."""
    *before, last = words
    asked = ShellComplete(cli, {}, "lanceyard", "_LANCEYARD_COMPLETE")
    return [item.value for item in asked.get_completions(before, last) if item.type == "plain"]


def kinds(*words: str) -> list[str]:
    """What kinds of things are offered for the last word."""
    *before, last = words
    asked = ShellComplete(cli, {}, "lanceyard", "_LANCEYARD_COMPLETE")
    return [item.type for item in asked.get_completions(before, last)]


def test_commands_are_completed() -> None:
    assert completed("de") == ["declare", "deregister", "demo"]
    assert completed("maintain", "re") == ["refresh"]


def test_names_are_those_that_a_listing_has_seen(shell: Shell, market: str) -> None:
    assert completed("head", market, "shop.") == []
    shell.ok("ls", "-R", market)
    assert completed("head", market, "shop.p") == ["shop.products"]
    assert completed("ls", market, "m") == ["media", "media.images", "media.labels"]
    assert completed("rename", market, "shop.orders", "shop.o") == ["shop.orders"]


def test_names_come_and_go_with_what_is_done(shell: Shell, market: str) -> None:
    shell.ok("ls", "-R", market)
    shell.ok("create", market, "attic")
    shell.ok("rename", market, "shop.orders", "bills")
    shell.ok("drop", market, "media", "--cascade", "--yes")
    assert completed("ls", market, "a") == ["attic"]
    assert completed("head", market, "shop.o") == []
    assert completed("head", market, "shop.b") == ["shop.bills"]
    assert completed("head", market, "media") == []


def test_an_earlier_state_is_not_what_is_remembered(shell: Shell, market: str) -> None:
    shell.ok("tag", "create", market, "before")
    shell.ok("create", market, "attic")
    shell.ok("ls", "-R", market)
    shell.ok("ls", "-R", market, "--as-of", "before")
    assert completed("ls", market, "att") == ["attic"]


def test_a_catalog_has_its_names_however_it_is_named(
    shell: Shell, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.ok("ls", "-R", market)
    assert completed("ls", str(Path(market).resolve()), "sh")[0] == "shop"
    monkeypatch.setenv("LANCEYARD_CATALOG", market)
    assert completed("head", "shop.p") == ["shop.products"]


def test_profiles_are_completed(shell: Shell) -> None:
    shell.ok("config", "set", "prod", "impl=dir")
    shell.ok("config", "set", "local", "impl=dir")
    assert completed("ls", "--catalog", "") == ["local", "prod"]


def test_files_are_completed_where_they_come(market: str) -> None:
    assert kinds("ls", "") == ["file"]
    assert kinds("import", market, "shop.t", "") == ["file"]
    assert kinds("import", market, "shop.t", "a.csv", "") == ["file"]


def test_a_cache_that_is_broken_or_cannot_be_written_is_no_failure(
    shell: Shell, market: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = home / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    shell.ok("ls", "-R", market)
    (file,) = cache.rglob("*.json")
    for broken in ("[", "{}", "[1]"):
        file.write_text(broken)
        assert completed("ls", market, "s") == []
    shutil.rmtree(cache)
    cache.write_text("a file")
    shell.ok("ls", "-R", market)


def test_no_more_names_are_remembered_than_are_useful(home: Path) -> None:
    completion.remember("c", [f"{number:05}" for number in range(6_000)])
    assert len(completion.names_of("c", "")) == completion.MOST


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: Shell, name: str) -> None:
    assert "_LANCEYARD_COMPLETE" in shell.ok("completion", name).out


def test_a_shell_is_answered_without_anything_heavy(shell: Shell, market: str) -> None:
    shell.ok("ls", "-R", market)
    code = (
        "import sys, atexit; atexit.register(lambda: print(*{'lance', 'pyarrow', 'rich'} & "
        "sys.modules.keys(), file=sys.stderr)); from lanceyard.__main__ import main; main()"
    )
    asked = {"COMP_WORDS": f"lanceyard head {market} shop.p", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked, "_LANCEYARD_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("plain,shop.products\n", "\n")
