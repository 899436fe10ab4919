"""The command line on a metastore that a profile names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.cli import profiles
from lanceyard.cli.exits import Exit
from tests.cli.running import Shell

from .metastore import MetastoreServer

PROFILE = ("--catalog", "lake")


@pytest.fixture
def shell(
    hive: MetastoreServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    """What carries out commands, where a file has a profile of the metastore."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(profiles.FILE, str(tmp_path / "config.toml"))
    made = Shell(capsys)
    properties = ("impl=hive", f"hive.uri={hive.uri}", f"hive.root={tmp_path / 'lake'}")
    made.ok("config", "set", "lake", *properties)
    return made


@pytest.fixture
def database(store: Metastore) -> str:
    """The name of a database that is not there; Hive 3 and newer have catalogs around them."""
    return "hive.profiled" if store.has_catalogs() else "profiled"


def test_a_metastore_is_worked_on_by_its_profile(shell: Shell, database: str) -> None:
    table = f"{database}.fruit"
    shell.ok("create", *PROFILE, database, "--set", "comment=sweet")
    done = shell.ok("create", *PROFILE, table, "--schema", "id:int64,name:string")
    assert done.row["undo"] == f"lanceyard drop --catalog lake {table}"
    assert shell.ok("ls", *PROFILE, database).row == {"name": table, "kind": "table"}
    assert database in [row["name"] for row in shell.ok("ls", "-R", *PROFILE).rows]
    assert shell.ok("show", *PROFILE, database).row["properties"]["comment"] == "sweet"
    shown = shell.ok("show", *PROFILE, table).row
    assert (shown["rows"], [each["column"] for each in shown["schema"]]) == (0, ["id", "name"])
    shell.ok("drop", *PROFILE, table, "--yes")
    shell.ok("drop", *PROFILE, database, "--yes")
    assert shell("ls", *PROFILE, database).code == Exit.MISSING


def test_rows_go_in_and_out_by_a_profile(shell: Shell, database: str, tmp_path: Path) -> None:
    file = tmp_path / "fruit.parquet"
    pa.parquet.write_table(pa.table({"name": ["pear", "plum"]}), file)
    shell.ok("create", *PROFILE, database)
    shell.ok("import", *PROFILE, f"{database}.fruit", file)
    assert [row["name"] for row in shell.ok("head", *PROFILE, f"{database}.fruit").rows] == [
        "pear",
        "plum",
    ]
    done = shell("drop", *PROFILE, database, "--yes")
    assert (done.code, "not empty" in done.error) == (Exit.TAKEN, True)
    shell.ok("drop", *PROFILE, database, "--cascade", "--yes")


def test_a_metastore_that_does_not_answer_is_told_in_one_line(shell: Shell) -> None:
    done = shell("ls", *PROFILE, "-p", "uri=thrift://127.0.0.1:9", "-p", "client.pool-size=1")
    assert (done.code, done.out) == (Exit.UNAVAILABLE, "")
    assert "next: try again later" in done.error
