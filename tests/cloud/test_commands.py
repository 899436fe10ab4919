"""The command line on a catalog in a bucket, which a profile knows how to reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Shell
from tests.cloud import bucket

Do = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def do(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Do:
    """Carries out a command on the profile ``lake``, and tells what it wrote."""
    shell = Shell(capsys)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    keys = [f"dir.{name}={value}" for name, value in bucket.storage().items()]
    shown = shell.ok("config", "set", "lake", "impl=dir", f"dir.root={root}", *keys).out
    assert bucket.storage()[f"storage.{bucket.KIND.secret}"] not in shown
    (tmp_path / "rows.csv").write_text("n,s\n1,pear\n2,plum\n")

    def carry_out(command: str, *words: str) -> list[dict[str, Any]]:
        return shell.ok(*command.split(), "-c", "lake", *words).rows

    return carry_out


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


def test_files_come_in_and_go_out_and_what_was_dropped_comes_back(do: Do, tmp_path: Path) -> None:
    do("create shop")
    do("import shop.fruits rows.csv")
    do("import shop.fruits rows.csv --append")
    do("export shop.fruits out.csv")
    assert (tmp_path / "out.csv").read_text().count("pear") == 2
    do("drop shop.fruits --yes")
    assert do("ls shop") == []
    do("undrop shop.fruits shop.again")
    assert len(do("head shop.again")) == 4
    state = do("log")[-1]["version"]
    assert names(do(f"ls -R --as-of {state}")) == ["shop"]


def test_tables_are_compacted_indexed_expired_and_restored(do: Do) -> None:
    do("import t rows.csv")
    do("import t rows.csv --append")
    assert do("maintain compact t")[0]["outcome"] == "2 fragments became 1"
    do("maintain index t n")
    assert do("show t")[0]["indexes"][0]["status"] == "SUCCEEDED"
    do("maintain expire t --older-than 0 --keep 2 --yes")
    left = [row["version"] for row in do("versions t")]
    assert len(left) == 2
    do(f"restore t {left[-1]}")
    assert len(do("head t")) == 4


@pytest.mark.parametrize("told", [(), ("-p", "dir_listing_enabled=false")], ids=["compat", "v2"])
def test_tables_found_by_their_directories_are_migrated(do: Do, told: tuple[str, ...]) -> None:
    v1 = ("-p", "manifest_enabled=false")
    do("import t rows.csv", *v1)
    do("declare u", *v1)
    assert names(do("migrate", *told)) == ["t", "u"]
    assert names(do("ls -p dir_listing_enabled=false")) == ["t", "u"]
    assert len(do("head t -p dir_listing_enabled=false")) == 2
    assert do("doctor") == []
