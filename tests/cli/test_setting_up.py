"""Commands that need no catalog: the sample, and keys."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import lanceyard
from lanceyard.cli import profiles, sample
from lanceyard.cli.exits import Exit
from tests.cli.running import Shell


def test_the_sample_has_all_that_there_is_to_see(shell: Shell, home: Path) -> None:
    done = shell.ok("demo", "./shop")
    assert done.row == {
        "done": "demo",
        "name": "./shop",
        "namespaces": 3,
        "tables": 8,
        "undo": "rm -r ./shop",
    }
    rows = shell.ok("ls", "-R", "./shop").rows
    assert [row["kind"] for row in rows].count("namespace") == 3
    assert [row["kind"] for row in rows].count("table") == 8
    assert os.listdir() == ["shop"]


def test_the_sample_is_always_the_same(shell: Shell, market: str) -> None:
    shell.ok("demo", "./again")
    for name in ("shop.products", "library.documents", "media.images"):
        tables = [lanceyard.open(root).table(name).read() for root in (market, "./again")]
        assert tables[0] == tables[1]


def test_the_sample_is_made_in_an_empty_folder_or_not_at_all(shell: Shell, home: Path) -> None:
    (home / "empty").mkdir()
    shell.ok("demo", "./empty")
    (home / "file").write_text("")
    assert shell("demo", "./file").code == Exit.TAKEN
    shell.ok("demo", "./deep/down")
    assert shell.ok("demo", "./dry", "--dry-run").row["would"] == "demo"
    assert not (home / "dry").exists()


def test_a_sample_that_fails_leaves_nothing(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "_media", lambda *_: 1 / 0)
    assert shell("demo", "./shop").code == Exit.FAILED
    assert os.listdir() == []


def test_a_catalog_is_created_and_then_used(shell: Shell, home: Path) -> None:
    assert shell.ok("create", "./new", "--dry-run").row["would"] == "create"
    assert shell.ok("create", "./new").row["undo"] == "rmdir ./new"
    assert shell.ok("ls", "./new").rows == []
    shell.ok("create", "./new", "shop")
    shell.ok("create", "./new", "shop", "--exist-ok")
    assert shell.ok("ls", "./new").row == {"name": "shop", "kind": "namespace"}


def test_a_key_comes_with_its_digest(shell: Shell) -> None:
    made = shell.ok("key").row
    assert hashlib.sha256(made["key"].encode()).hexdigest() == made["sha256"]


def test_who_has_no_home_can_look_all_the_same(
    shell: Shell, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert shell.ok("ls", "-R", market).rows
    shell.ok("create", market, "attic")
    done = shell("config", "set", "prod", "impl=dir")
    assert (done.code, done.out) == (Exit.MISSING, "")
    assert "no home folder: set HOME or XDG_CONFIG_HOME" in done.error


def test_a_file_that_cannot_be_written_whole_leaves_nothing(home: Path) -> None:
    file = home / "config.toml"
    file.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        profiles.put_in_place(file, "\udcff")
    assert [(path.name, path.read_text()) for path in home.iterdir()] == [("config.toml", "before")]
