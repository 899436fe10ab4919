"""Habits of all commands: formats, dry runs, confirmation, undo, exit codes, one-line errors."""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lanceyard
from lanceyard import errors
from lanceyard.cli import addresses, failures
from lanceyard.cli.exits import BY_CODE, Exit
from lanceyard.namespace.implementations import SCHEMES
from tests.cli.running import Shell

UNDOABLE = [
    "create ./market attic",
    "create ./market shop.empty --schema id:int64,v:fixed_size_list<float,3>,tags:list<string>",
    "declare ./market shop.later",
    "deregister ./market shop.orders",
    "rename ./market shop.orders media.bills",
    "drop ./market shop --cascade --yes",
    "set ./market shop owner=ann floor=2",
    "set ./market shop.products comment=new",
    "unset ./market shop.products comment",
    "restore ./market shop.products opening",
    "tag create ./market closing",
    "tag create ./market closing --table shop.orders --at 2",
    "tag delete ./market sale --table shop.products",
    "branch create ./market shop.orders trial --at 2",
    "import ./market shop.fruits fruits.csv",
    "import ./market shop.customers people.csv --append",
    "import ./market shop.customers people.csv --overwrite",
    "maintain compact ./market shop.orders",
]


def state(market: str) -> object:
    """All that a catalog shows: names, rows, properties, tags and branches."""
    yard = lanceyard.open(market)
    return {
        found.name: (
            yard.space(found.identifier).properties
            if not found.is_table
            else _table(yard.table(found.identifier))
        )
        for found in yard.walk()
    }, [*yard.tags.list()]


def _table(table: lanceyard.Table) -> object:
    try:
        rows = table.read().to_pylist()
    except errors.InvalidTableStateError:
        rows = None
    return rows, table.properties, rows and (table.tags(), table.branches())


@pytest.mark.parametrize("line", UNDOABLE)
def test_what_was_done_is_taken_back_by_the_command_that_is_printed(
    shell: Shell, market: str, home: Path, line: str
) -> None:
    (home / "fruits.csv").write_text("name,price\npear,3.5\n")
    (home / "people.csv").write_text("id,name\n11,Kim\n")
    before = state(market)
    done = shell.ok(*line.split(), "--output", "table")
    assert state(market) != before or "compact" in line
    undo = done.lines[-1].removeprefix("undo: ")
    for step in undo.split(" && "):
        words = shlex.split(step)
        assert words[0] == "lanceyard"
        yes = ["--yes"] if words[1:3] in (["drop", market], ["branch", "delete"]) else []
        shell.ok(*words[1:], *yes)
    assert state(market) == before


def test_what_destroys_is_not_done_unless_confirmed(shell: Shell, market: str) -> None:
    for line in (
        "drop ./market shop.orders",
        "maintain expire ./market",
        "maintain sweep ./market",
        "manage ./market",
    ):
        done = shell(*line.split())
        assert done.code == Exit.UNCONFIRMED
        assert done.error.endswith("next: say --yes if you mean it")
    assert shell.ok("head", market, "shop.orders").rows


def test_a_catalog_that_manages_versions_has_transactions(shell: Shell, market: str) -> None:
    with pytest.raises(errors.UnsupportedOperationError, match="manages versions"):
        lanceyard.open(market).transaction()
    assert shell.ok("manage", market, "--wait", "0", "--yes").row["tables"] == 8
    with lanceyard.open(market).transaction() as tx:
        tx.table("shop.orders").delete("true")
    assert shell.ok("head", market, "shop.orders").rows == []


def test_what_was_purged_cannot_come_back(shell: Shell, market: str) -> None:
    done = shell.ok("drop", market, "shop.orders", "--purge", "--yes")
    assert "undo" not in done.row
    assert shell.ok("undrop", market).rows == []


def test_a_namespace_that_is_not_empty_is_dropped_only_with_all_below(
    shell: Shell, market: str
) -> None:
    done = shell("drop", market, "shop", "--dry-run")
    assert done.code == Exit.TAKEN
    assert "not empty" in done.error
    assert shell.ok("drop", market, "shop", "--cascade", "--dry-run").row["would"] == "drop"


def test_a_catalog_without_a_manifest_has_tables_and_no_past(shell: Shell, home: Path) -> None:
    v1 = ("-p", "manifest_enabled=false")
    (home / "v1").mkdir()
    (home / "rows.json").write_text('{"n": 1}')
    shell.ok("import", "./v1", "t", "rows.json", *v1)
    assert shell.ok("ls", "./v1", *v1).row == {"name": "t", "kind": "table"}
    assert shell("show", "./v1", "u", *v1).code == Exit.MISSING
    assert shell.ok("log", "./v1").rows == []
    shell.ok("migrate", "./v1")
    assert shell.ok("ls", "./v1", "-p", "dir_listing_enabled=false").row["name"] == "t"


def test_every_format_has_the_same_rows(shell: Shell, market: str) -> None:
    words = ("head", market, "shop.products", "-n", "4", "--output")
    rows = shell.ok(*words, "ndjson").rows
    assert json.loads(shell.ok(*words, "json").out) == rows
    read = [*csv.DictReader(io.StringIO(shell.ok(*words, "csv").out))]
    assert read == [{name: str(value) for name, value in row.items()} for row in rows]
    assert [line.split() for line in shell.ok(*words, "table").lines[1:]] == [
        [str(value) for value in row.values()] for row in rows
    ]


def test_the_environment_chooses_a_format(
    shell: Shell, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCEYARD_OUTPUT", "csv")
    assert shell.ok("ls", market).lines[0] == "name,kind"


def test_values_of_all_kinds_are_written(shell: Shell, market: str) -> None:
    row = shell.ok("head", market, "media.images", "-n", "1").row
    assert row["picture"].startswith("iVBOR")
    assert len(row["colour"]) == 3
    (cells,) = shell.ok("head", market, "media.images", "-n", "1", "-o", "table").lines[1:]
    assert "bytes>" in cells
    found = shell.ok("sql", market, "SELECT 'NaN'::double AS x, NULL AS y, DATE '2020-01-02' AS d")
    assert found.row == {"x": None, "y": None, "d": "2020-01-02"}


def test_times_that_python_has_no_values_for_are_written(home: Path) -> None:
    nanoseconds = 1_700_000_000_123_456_789
    columns = {
        "at": pa.array([nanoseconds], pa.timestamp("ns")),
        "there": pa.array([nanoseconds], pa.timestamp("ns", "Europe/Berlin")),
        "late": pa.array([2**62], pa.timestamp("us")),
        "took": pa.array([1], pa.duration("ns")),
        "each": pa.array([[nanoseconds]], pa.list_(pa.timestamp("ns"))),
    }
    lanceyard.open("./c").create_table("t", columns)
    told = {
        "at": "2023-11-14T22:13:20.123456789",
        "there": "2023-11-14T23:13:20.123456789+01:00",
        "late": "17036-07-06T14:00:27.387904",
        "took": 1e-09,
        "each": ["2023-11-14 22:13:20.123456789"],
    }
    for line in ("head ./c t", "export ./c t - --format json"):
        # Another process, for in this one there may be pandas, which has values for some of them.
        command = [sys.executable, "-m", "lanceyard", *line.split()]
        assert (
            json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) == told
        )


def test_data_cannot_command_a_terminal(shell: Shell, home: Path) -> None:
    lanceyard.open("./c").create_table("t", {"a\x1b[2J": ["\x1b]0;gotcha\x07\n\u202e"]})
    for kind in ("table", "ndjson"):
        out = shell.ok("head", "./c", "t", "-o", kind).out
        assert "\x1b" not in out
        assert "\x07" not in out
    assert "\u202e" not in shell.ok("head", "./c", "t", "-o", "table").out
    done = shell("sql", "./c", "SELECT \x1b[2J")
    assert "\x1b" not in done.err


def test_a_table_for_people_shows_no_more_than_they_can_read(shell: Shell, market: str) -> None:
    query = "SELECT unnest(range(0, 1500)) AS n"
    done = shell("sql", market, query, "--output", "table")
    assert len(done.lines) == 1_001
    assert done.error == "only 1,000 rows are shown: --output ndjson gives all"
    assert len(shell.ok("sql", market, query).rows) == 1_500


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["frob"], Exit.USAGE, "No such command 'frob'; next: lanceyard --help"),
        (["lss"], Exit.USAGE, "Did you mean 'ls'?; next: lanceyard --help"),
        (["ls"], Exit.USAGE, "Missing CATALOG"),
        (["head", "./market"], Exit.USAGE, "Missing TABLE; next: lanceyard head --help"),
        (["ls", "./market", "shop", "x"], Exit.USAGE, "unexpected extra word: x"),
        (["ls", "./market", "--frob"], Exit.USAGE, "No such option"),
        (["ls", "./market", "-p", "frob=1"], Exit.USAGE, "unknown property 'frob'"),
        (["ls", "./market", "-p", "frob"], Exit.USAGE, "'frob' is not NAME=VALUE"),
        (["ls", "./market", "a..b"], Exit.USAGE, "1 to 200 bytes"),
        (["ls", "-c", "x", "./market"], Exit.USAGE, "the catalog is named twice"),
        (["ls", "./market", "nope"], Exit.MISSING, "next: lanceyard ls -R ./market"),
        (["ls", "./market", "--as-of", "nope"], Exit.MISSING, "neither a tag"),
        (["sql", "./market", "SELECT nope FROM shop.products"], Exit.MISSING, "No field named"),
        (["sql", "./market", "DROP TABLE shop.products"], Exit.USAGE, "DDL not supported"),
        (["query", "./market", "shop.products", "--vector", "a,b"], Exit.USAGE, "list of numbers"),
        (["create", "./market", "shop"], Exit.TAKEN, "it exists"),
        (["create", "./market", "x.y"], Exit.MISSING, "namespace 'x' does not exist"),
        (["create", "./market", "x", "--schema", "a:frob"], Exit.USAGE, "no type of Arrow"),
        (["create", "./market"], Exit.TAKEN, "is there already"),
        (["register", "./market", "x", "nowhere"], Exit.USAGE, "nothing lies at"),
        (["import", "./market", "shop.products", "f.csv"], Exit.TAKEN, "it exists"),
        (["import", "./market", "shop.x", "none.csv"], Exit.MISSING, "none.csv"),
        (["import", "./market", "shop.x", "none.xyz"], Exit.USAGE, "does not say its format"),
        (["unset", "./market", "shop", "nope"], Exit.MISSING, "no property 'nope'"),
        (["tag", "create", "./market", "sale", "--table", "shop.products"], Exit.TAKEN, "already"),
        (["ls", "http://127.0.0.1:9"], Exit.UNAVAILABLE, "next: try again later"),
        (["log", "http://127.0.0.1:9"], Exit.UNSUPPORTED, "where it lies"),
        (["demo", "./market"], Exit.TAKEN, "exists and is not empty"),
        (["demo", "http://127.0.0.1:9"], Exit.USAGE, "give a path"),
        (["ls", ""], Exit.USAGE, "Missing CATALOG"),
        (["ls", "./market/a/../.."], Exit.MISSING, "no catalog at ./market/a/../..; next:"),
        (["ls", "./f.csv"], Exit.MISSING, "./f.csv is a file, and no catalog"),
        (["ls", "thrift://127.0.0.1:9"], Exit.UNAVAILABLE, "no Hive Metastore answers"),
        (["drop", "./market", "shop"], Exit.TAKEN, "next: lanceyard drop ./market shop --cascade"),
        (["create", "./market", "x", "--schema", "a:int8,a:int8"], Exit.USAGE, "two columns 'a'"),
        (
            ["head", "./market", "shop.orders", "--version", "99"],
            Exit.MISSING,
            "next: lanceyard versions ./market shop.orders",
        ),
        (
            ["head", "./market", "shop.orders", "--version", "nope"],
            Exit.MISSING,
            "next: lanceyard tag list ./market --table shop.orders",
        ),
        (
            ["query", "./market", "shop.orders", "--columns", "nope"],
            Exit.MISSING,
            "next: lanceyard show ./market shop.orders",
        ),
        (["query", "./market", "shop.orders", "--columns", "a,"], Exit.USAGE, "not name columns"),
        (["import", "./market", "shop.x", "-"], Exit.USAGE, "say --format"),
        (["import", "./market", "shop.x", "none.csv"], Exit.MISSING, "directory: none.csv"),
        (["serve", "./nowhere"], Exit.MISSING, "there is no catalog"),
        (["serve"], Exit.USAGE, "Missing CATALOG"),
    ],
    ids=lambda value: "-".join(value).replace("/", "") if isinstance(value, list) else None,
)
def test_a_failure_is_one_line_with_a_code(
    shell: Shell, market: str, words: list[str], code: Exit, told: str
) -> None:
    Path("f.csv").touch()
    done = shell(*words)
    assert (done.code, done.out) == (code, "")
    assert told in done.error


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("create ./market nope.x --exist-ok", Exit.MISSING),
        ("create ./market shop.orders --exist-ok", Exit.TAKEN),
        ("rename ./market shop.orders shop.products", Exit.TAKEN),
        ("rename ./market shop.orders products", Exit.TAKEN),
        ("rename ./market shop.orders nope.orders", Exit.MISSING),
        ("undrop ./market shop.reviews shop.orders", Exit.TAKEN),
        ("tag create ./market new --at 99999", Exit.MISSING),
        ("tag create ./market new --at 99 --table shop.orders", Exit.MISSING),
        ("export ./market shop.orders nowhere/x.csv", Exit.MISSING),
        ("export ./market shop.orders x.xyz", Exit.USAGE),
        ("export ./market shop.orders ./market --format csv --force", Exit.USAGE),
        ("config set a:b impl=dir", Exit.USAGE),
        ("config unset nope", Exit.MISSING),
    ],
)
def test_a_dry_run_refuses_what_would_fail(
    shell: Shell, market: str, line: str, code: Exit
) -> None:
    shell.ok("drop", market, "shop.reviews", "--yes")
    done = shell(*line.split(), "--dry-run")
    assert (done.code, done.out) == (code, "")


def test_what_was_there_already_is_not_taken_back(shell: Shell, market: str) -> None:
    assert "undo" not in shell.ok("create", market, "shop", "--exist-ok").row
    words = ("--schema", "day:int64", "--exist-ok")
    assert "undo" not in shell.ok("create", market, "shop.orders", *words).row
    assert "undo" in shell.ok("create", market, "shop.new", *words).row


def test_the_addresses_of_servers_are_those_that_python_knows() -> None:
    assert addresses.SERVED == SCHEMES


def test_columns_may_have_blanks_between_them_and_versions_tags(shell: Shell, market: str) -> None:
    words = ("--columns", "id, price", "--version", "opening", "-k", "1")
    assert [*shell.ok("query", market, "shop.products", *words).row] == ["id", "price"]
    shell.ok("export", market, "shop.products", "p.csv", *words[:2])
    assert Path("p.csv").read_text().startswith('"id","price"')


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(market: str, closed: str) -> None:
    command = shlex.join([sys.executable, "-m", "lanceyard", "drop", market, "shop.orders"])
    for more, code in (("", Exit.UNCONFIRMED), (" --dry-run", Exit.DONE)):
        line = f"{command}{more} < /dev/null {closed}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert ("destroys" in done.stderr) is (code is not Exit.DONE and "2>" not in closed)


def test_all_that_led_to_a_failure_is_told_if_asked_for(shell: Shell, market: str) -> None:
    done = shell("ls", market, "nope", "--debug")
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("lanceyard: namespace 'nope' does not exist")


@pytest.mark.parametrize("code", errors.ErrorCode, ids=lambda code: code.name)
def test_every_error_of_the_specification_ends_with_its_class(code: errors.ErrorCode) -> None:
    told = failures.read(errors.from_error_code(int(code), "it\nbroke"), ["./market"])
    assert (told.message, told.code) == ("it broke", BY_CODE[int(code)])


@pytest.mark.parametrize(
    ("error", "code", "step"),
    [
        (errors.UnknownOutcomeError("lost"), Exit.FAILED, "look whether it was done"),
        (ModuleNotFoundError("no", name="uvicorn.x"), Exit.UNSUPPORTED, "'lanceyard[server]'"),
        (PermissionError(13, "denied"), Exit.FORBIDDEN, ""),
        (OSError(28, "no space left"), Exit.FAILED, ""),
        (RuntimeError("odd"), Exit.FAILED, "--debug tells more"),
        (RuntimeError("long " * 500), Exit.FAILED, "--debug tells more"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_other_failures_have_a_code_and_a_step(error: Exception, code: Exit, step: str) -> None:
    told = failures.read(error, [])
    assert told.code is code
    assert step in (told.step or "")
    assert len(told.message) < 500


def test_a_reader_that_has_seen_enough_is_no_failure(market: str) -> None:
    query = "SELECT unnest(range(0, 200000)) AS n"
    command = shlex.join([sys.executable, "-m", "lanceyard", "sql", market, query])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (141, '{"n": 0}\n', "")


def test_help_is_there_at_once_and_imports_nothing_heavy(home: Path) -> None:
    code = (
        "import sys, time; t = time.process_time(); from lanceyard.cli.main import main\n"
        "main(['--help']); seconds = time.process_time() - t\n"
        "heavy = {'lance', 'pyarrow', 'pydantic', 'lance_namespace', 'numpy', 'rich', 'pyspark'}\n"
        "print(sorted(heavy & sys.modules.keys()), seconds, file=sys.stderr)"
    )
    ends = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert all(end.stderr.startswith("[] ") for end in ends)
    assert min(float(end.stderr.split()[-1]) for end in ends) < 0.2
    assert "Commands" not in ends[0].stdout
    assert "  maintain" in ends[0].stdout


def test_a_look_imports_no_more_than_it_takes(market: str) -> None:
    code = (
        "import sys; from lanceyard.cli.main import main\n"
        f"main(['ls', {market!r}]); main(['head', {market!r}, 'shop.products'])\n"
        "heavy = {'lance_namespace_urllib3_client.api', 'pandas', 'datafusion', 'uvicorn'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
        "from lance_namespace_urllib3_client import ListTablesRequest, TableApi\n"
        "print('lance_namespace_urllib3_client.api' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["[]", "True"]


def test_the_version_is_told(shell: Shell) -> None:
    assert shell.ok("--version").out == f"lanceyard {lanceyard.__version__}\n"
