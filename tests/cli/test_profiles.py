"""Catalogs with names: profiles, what overrides them, and how they are shown and edited."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import lanceyard
from lanceyard.cli import profiles
from lanceyard.cli.exits import Exit
from tests.cli.running import Shell
from tests.rest.serving import server


@pytest.fixture
def config(home: Path) -> Path:
    """The file of profiles, which is not there yet."""
    return profiles.path()


def test_a_profile_names_a_catalog(shell: Shell, market: str, config: Path) -> None:
    shell.ok("config", "set", "local", "impl=dir", f"dir.path={Path(market).resolve()}")
    assert shell.ok("ls", "--catalog", "local", "media").rows == [
        {"name": "media.images", "kind": "table"},
        {"name": "media.labels", "kind": "table"},
    ]
    undo = shell.ok("rename", "-c", "local", "shop.orders", "bills").row["undo"]
    assert undo == "lanceyard rename --catalog local shop.bills shop.orders"


def test_a_profile_names_a_server(shell: Shell, market: str) -> None:
    address = server().serve(lanceyard.open(market).namespace)
    shell.ok("config", "set", "prod", "impl=rest", f"rest.uri={address}", "rest.retries=0")
    assert shell.ok("tree", "-c", "prod", "shop", "-o", "table").lines[0] == "shop"
    assert shell.ok("head", "-c", "prod", "shop.customers", "-n", "1").row["name"] == "Ada"
    assert shell.ok("head", address, "shop.customers", "-n", "1").row["name"] == "Ada"


def test_the_environment_names_a_catalog(
    shell: Shell, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCEYARD_CATALOG", market)
    assert [row["name"] for row in shell.ok("ls").rows] == ["library", "media", "shop"]
    assert shell.ok("set", "shop", "a=1").row["undo"] == "lanceyard unset shop a"
    lanceyard.open("./other").create_namespace("elsewhere")
    assert shell.ok("ls", "./other").row["name"] == "elsewhere"


def test_the_environment_overrides_a_profile(
    shell: Shell, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.ok("config", "set", "my-yard", "impl=dir", "dir.path=/nowhere")
    monkeypatch.setenv("LANCEYARD_CATALOG__MY_YARD__DIR__PATH", market)
    assert len(shell.ok("ls", "-c", "my-yard").rows) == 3
    monkeypatch.setenv("LANCEYARD_CATALOG__ANOTHER__PATH", market)
    assert len(shell.ok("ls", "-c", "another").rows) == 3


def test_the_command_line_overrides_both(shell: Shell, market: str) -> None:
    shell.ok("config", "set", "local", "impl=dir", f"dir.path={market}", "dir.window=600")
    done = shell("ls", "-c", "local", "-p", "window=frob")
    assert done.code == Exit.USAGE
    assert "property 'window' is a number of seconds" in done.error


def test_a_profile_that_is_not_there_is_told(shell: Shell, config: Path) -> None:
    shell.ok("config", "set", "prod", "impl=rest", "rest.uri=http://127.0.0.1:9")
    done = shell("ls", "-c", "nope")
    assert done.code == Exit.MISSING
    assert "there is no profile 'nope' (known: prod); next: lanceyard config set nope" in done.error


def test_profiles_are_listed_without_secrets(shell: Shell) -> None:
    shell.ok("config", "set", "prod", "impl=rest", "rest.uri=http://x", "rest.api_key=s3cret")
    done = shell.ok("config", "list")
    assert done.rows == [
        {"profile": "prod", "key": "impl", "value": "rest"},
        {"profile": "prod", "key": "rest.api_key", "value": "***"},
        {"profile": "prod", "key": "rest.uri", "value": "http://x"},
    ]
    again = shell.ok("config", "set", "prod", "rest.token=s3cret")
    assert "s3cret" not in done.out + again.out


def test_the_file_is_for_its_owner_alone(shell: Shell, config: Path) -> None:
    shell.ok("config", "set", "prod", "rest.api_key=s3cret")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert shell.ok("config", "path").row == {"path": str(config)}
    assert os.listdir(config.parent) == ["config.toml"]


def test_comments_and_other_keys_of_the_file_stay(shell: Shell, config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('# mine\n[catalogs.a]\nimpl = "dir"  # plain\ndir.path = "/x"\n')
    shell.ok("config", "set", "a", "dir.path=/y", "dir.window=60")
    assert "# mine" in config.read_text()
    assert "# plain" in config.read_text()
    assert profiles.load() == {"a": {"impl": "dir", "dir.path": "/y", "dir.window": "60"}}
    shell.ok("config", "unset", "a", "dir.path")
    assert profiles.load() == {"a": {"impl": "dir", "dir.window": "60"}}
    shell.ok("config", "unset", "a")
    assert profiles.load() == {}
    assert "# mine" in config.read_text()


def test_values_of_the_file_need_not_be_texts(config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text("[catalogs.a]\ndir.manifest_enabled = false\ndir.window = 60\n")
    assert profiles.load() == {"a": {"dir.manifest_enabled": "false", "dir.window": "60"}}


@pytest.mark.parametrize("text", ["[catalogs", "catalogs = 1", "[catalogs]\na = 1\n"])
def test_a_file_that_cannot_be_read_is_told(shell: Shell, config: Path, text: str) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(text)
    for words in (["config", "list"], ["config", "set", "a", "b=c"], ["ls", "-c", "a"]):
        done = shell(*words)
        assert done.code == Exit.USAGE
        assert str(config) in done.error
    assert config.read_text() == text


def test_what_is_not_in_the_file_cannot_be_taken_out(shell: Shell) -> None:
    assert shell("config", "unset", "a").code == Exit.MISSING
    shell.ok("config", "set", "a", "impl=dir")
    assert "has no key 'frob'" in shell("config", "unset", "a", "frob").error
    assert shell("config", "set", "a/b", "impl=dir").code == Exit.USAGE


def test_a_dry_run_does_not_edit_the_file(shell: Shell, config: Path) -> None:
    assert shell.ok("config", "set", "a", "impl=dir", "--dry-run").row["would"] == "config set"
    assert not config.exists()
    shell.ok("config", "set", "a", "impl=dir")
    assert shell.ok("config", "unset", "a", "--dry-run").row["would"] == "config unset"
    assert profiles.load() == {"a": {"impl": "dir"}}


def test_another_file_can_be_named(
    shell: Shell, config: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCEYARD_CONFIG", str(home / "mine.toml"))
    shell.ok("config", "set", "a", "impl=dir")
    assert (home / "mine.toml").exists()
    assert not config.exists()


def test_properties_are_part_of_other_commands_but_for_secrets(shell: Shell, market: str) -> None:
    given = ("-p", "window=60", "-p", "storage.secret_access_key=s3cret")
    undo = shell.ok("rename", market, "shop.orders", "bills", *given).row["undo"]
    assert undo == "lanceyard rename ./market -p window=60 shop.bills shop.orders"


def test_a_path_may_be_a_uri(shell: Shell, market: str) -> None:
    place = Path(market).resolve()
    place.rename(place.with_name("my market"))
    address = f"file://{place.with_name('my%20market')}"
    assert len(shell.ok("ls", address).rows) == 3
    assert shell("ls", f"{address}x").code == Exit.MISSING


@pytest.mark.parametrize(
    "line",
    [
        "config set a dir.path=/y dir.window=60",
        "config set b impl=dir",
        "config unset a dir.path",
        "config unset a",
    ],
)
def test_an_edit_is_taken_back_by_the_command_that_is_printed(shell: Shell, line: str) -> None:
    shell.ok("config", "set", "a", "impl=dir", "dir.path=/x")
    before = profiles.load()
    done = shell.ok(*line.split())
    assert profiles.load() != before
    for step in done.row["undo"].split(" && "):
        shell.ok(*step.split()[1:])
    assert profiles.load() == before


def test_no_undo_tells_a_secret(shell: Shell) -> None:
    shell.ok("config", "set", "prod", "rest.api_key=s3cret")
    for words in (["set", "prod", "rest.api_key=other"], ["unset", "prod"]):
        assert "undo" not in shell.ok("config", *words).row


def test_a_profile_of_a_server_says_so(shell: Shell) -> None:
    shell.ok("config", "set", "far", "rest.uri=http://127.0.0.1:9")
    done = shell("ls", "-c", "far")
    assert done.code == Exit.USAGE
    assert done.error.endswith("next: lanceyard config set far impl=rest")


def test_a_default_that_is_empty_is_none(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEYARD_CATALOG", "")
    assert "Missing CATALOG" in shell("ls").error
