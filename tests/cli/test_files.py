"""Files in and out: every format, what is refused, and an export that is killed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import lanceyard
from lanceyard.cli.exits import Exit
from lanceyard.yard.files import SUFFIXES, read_files
from tests.cli.running import Shell

ROWS = [{"n": 1, "s": "a"}, {"n": 2, "s": None}]
NAMES = [f"rows{suffix}" for suffix in SUFFIXES]


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def catalog(home: Path) -> str:
    """A catalog with one small table."""
    lanceyard.open("./c").create_table("t", pa.Table.from_pylist(ROWS))
    return "./c"


@pytest.mark.parametrize("name", NAMES)
def test_a_table_goes_out_and_comes_back(shell: Shell, catalog: str, name: str) -> None:
    assert shell.ok("export", catalog, "t", name).row["rows"] == 2
    shell.ok("import", catalog, "back", name)
    assert [
        {**row, "s": row["s"] or None} for row in shell.ok("head", catalog, "back").rows
    ] == ROWS


@pytest.mark.parametrize("name", ["images.parquet", "images.arrow", "images.csv", "images.json"])
def test_pictures_and_vectors_go_out(shell: Shell, market: str, name: str) -> None:
    assert shell.ok("export", market, "media.images", name).row["rows"] == 20
    if name.endswith(("parquet", "arrow")):
        shell.ok("import", market, "media.back", name)
        assert lanceyard.open(market).table("media.back").schema.names == [
            "id",
            "picture",
            "colour",
        ]
    elif name.endswith("csv"):
        (first, *_) = pyarrow.csv.read_csv(name).to_pylist()
        assert first["picture"].startswith("iVBOR")
        assert len(json.loads(first["colour"])) == 3


def test_columns_rows_and_versions_are_chosen(shell: Shell, market: str) -> None:
    words = ("--columns", "name", "--where", "id < 3", "--version", "opening")
    assert shell.ok("export", market, "shop.products", "p.csv", *words).row["rows"] == 2
    assert Path("p.csv").read_text() == '"name"\n"apple"\n"banana"\n'


def test_json_may_be_an_array_and_csv_may_be_packed(shell: Shell, catalog: str) -> None:
    Path("a.json").write_text(json.dumps(ROWS))
    shell.ok("import", catalog, "a", "a.json")
    with gzip.open("b.csv.gz", "wt") as file:
        file.write("n,s\n1,a\n")
    shell.ok("import", catalog, "b", "b.csv.gz")
    assert shell.ok("head", catalog, "a").rows == ROWS
    assert shell.ok("head", catalog, "b").rows == ROWS[:1]


def test_several_files_make_one_table(shell: Shell, catalog: str) -> None:
    for number in range(3):
        Path(f"{number}.csv").write_text(f"n,s\n{number},x\n")
    assert shell.ok("import", catalog, "all", "0.csv", "1.csv", "2.csv").row["rows"] == 3


def test_rows_are_appended_and_replaced(shell: Shell, catalog: str) -> None:
    Path("r.json").write_text('{"n": 3, "s": "c"}\n')
    done = shell.ok("import", catalog, "t", "r.json", "--append")
    assert (done.row["rows"], done.row["version"]) == (1, 2)
    assert shell.ok("sql", catalog, "SELECT count(*) AS n FROM t").row == {"n": 3}
    shell.ok("import", catalog, "t", "r.json", "--overwrite")
    assert shell.ok("sql", catalog, "SELECT count(*) AS n FROM t").row == {"n": 1}


def test_a_table_that_was_declared_gets_its_first_rows(shell: Shell, catalog: str) -> None:
    shell.ok("declare", catalog, "later")
    Path("r.json").write_text('{"n": 3}\n')
    shell.ok("import", catalog, "later", "r.json", "--append")
    assert shell.ok("head", catalog, "later").row == {"n": 3}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bad.parquet", "no parquet"),
        ("bad.arrow", "no arrow"),
        ("bad.json", '{"a": 1'),
        ("bad.json", "[1, 2]"),
        ("bad.csv", 'a,b\n1,2\n"x'),
        ("empty.csv", ""),
    ],
)
def test_a_file_that_is_not_what_it_says_makes_no_table(
    shell: Shell, catalog: str, name: str, text: str
) -> None:
    Path(name).write_text(text)
    done = shell("import", catalog, "new", name)
    assert done.code == Exit.USAGE
    assert name in done.error
    assert [row["name"] for row in shell.ok("ls", catalog).rows] == ["t"]


def test_a_file_with_other_columns_makes_no_table(shell: Shell, catalog: str) -> None:
    Path("a.csv").write_text("n,s\n1,x\n")
    Path("b.csv").write_text("m\n1\n")
    done = shell("import", catalog, "new", "a.csv", "b.csv")
    assert done.code == Exit.USAGE
    assert [row["name"] for row in shell.ok("ls", catalog).rows] == ["t"]
    assert shell("import", catalog, "t", "b.csv", "--append").code == Exit.USAGE
    assert shell.ok("head", catalog, "t").rows == ROWS


def test_a_file_that_exists_is_replaced_only_if_told(shell: Shell, catalog: str) -> None:
    Path("t.csv").write_text("precious")
    done = shell("export", catalog, "t", "t.csv")
    assert done.code == Exit.TAKEN
    assert "next: --force" in done.error
    assert Path("t.csv").read_text() == "precious"
    shell.ok("export", catalog, "t", "t.csv", "--force")
    assert Path("t.csv").read_text() == '"n","s"\n1,"a"\n2,\n'


def test_an_export_that_fails_leaves_nothing(shell: Shell, catalog: str) -> None:
    assert shell("export", catalog, "t", "t.csv", "--where", "n / 0 = s").code == Exit.USAGE
    assert shell("export", catalog, "t", "none/t.csv").code == Exit.MISSING
    assert contents(Path()) == ["c"]


def test_streams_go_through_pipes(catalog: str) -> None:
    run = [sys.executable, "-m", "lanceyard"]
    out = subprocess.run([*run, "export", catalog, "t", "-"], capture_output=True, check=True)
    assert out.stdout == b'"n","s"\n1,"a"\n2,\n'
    words = ["import", catalog, "piped", "-", "--format", "csv"]
    done = subprocess.run([*run, *words], input=out.stdout, capture_output=True, check=True)
    assert json.loads(done.stdout)["rows"] == 2


def test_an_export_that_is_killed_leaves_no_file_of_that_name(home: Path) -> None:
    rows = pa.table({"n": pa.array(range(2_000_000)), "s": ["some text"] * 2_000_000})
    lanceyard.open("./c").create_table("t", rows)
    command = [sys.executable, "-m", "lanceyard", "export", "./c", "t", "out/t.json"]
    (home / "out").mkdir()
    with subprocess.Popen(command) as process:
        while not any(path.stat().st_size for path in (home / "out").iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    assert not (home / "out" / "t.json").exists()
    (left,) = contents(home / "out")
    assert left.startswith(".t.json.")


def test_the_second_file_is_read_when_the_first_is_done(home: Path) -> None:
    (home / "a.csv").write_text("n\n1\n")
    (home / "b.csv").write_text("n\n2\n")
    stream = read_files(["a.csv", "b.csv"])
    (home / "b.csv").write_text("n\n3\n")
    assert stream.read_all().to_pydict() == {"n": [1, 3]}


def test_no_file_is_read_if_one_of_them_is_not_there(home: Path) -> None:
    (home / "a.csv").write_text("n\n1\n")
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_files(["a.csv", "none.csv"])
