"""What a person sees and types at a real terminal."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import lanceyard
from lanceyard.cli.exits import Exit
from tests.cli.terminal import Terminal


def test_a_terminal_gets_tables_that_fit(market: str) -> None:
    with Terminal("head", market, "library.documents", "-n", "3", columns=60) as terminal:
        assert terminal.end() == Exit.DONE
    head, *rows = terminal.seen.splitlines()
    assert head.split() == ["id", "topic", "text", "vector"]
    assert len(rows) == 3
    assert all(len(line) <= 60 for line in terminal.seen.splitlines())
    assert "…" in rows[0]
    assert "\x1b[1m" in terminal.raw


def test_what_destroys_is_confirmed_by_its_name(market: str) -> None:
    with Terminal("drop", market, "shop.orders") as terminal:
        terminal.wait_for("Type shop.orders to drop it: ")
        terminal.type("shop.orders\n")
        assert terminal.end() == Exit.DONE
    assert terminal.seen.splitlines()[-2:] == [
        "done: drop shop.orders (kind table)",
        "undo: lanceyard undrop ./market shop.orders",
    ]
    assert "orders" not in lanceyard.open(market).tables("shop")


def test_another_name_confirms_nothing(market: str) -> None:
    with Terminal("drop", market, "shop.orders") as terminal:
        terminal.wait_for("Type shop.orders to drop it: ")
        terminal.type("yes\n")
        assert terminal.end() == Exit.UNCONFIRMED
    assert terminal.seen.splitlines()[-1] == "lanceyard: drop shop.orders was not confirmed"
    assert "orders" in lanceyard.open(market).tables("shop")


def test_who_is_asked_can_go_away(market: str) -> None:
    with Terminal("maintain", "sweep", market) as terminal:
        terminal.wait_for("Type ./market to sweep it: ")
        assert terminal.interrupt() == Exit.INTERRUPTED
    assert terminal.seen.splitlines()[-1] == "lanceyard: interrupted"


def test_who_is_asked_can_go_away_at_once(market: str) -> None:
    for _ in range(8):
        with Terminal("drop", market, "shop.orders") as terminal:
            terminal.wait_for("Type shop.orders")
            assert terminal.interrupt(after=0) == Exit.INTERRUPTED


@pytest.mark.parametrize("seconds", [0, 0.05, 0.2])
def test_who_confirmed_can_still_change_their_mind(market: str, seconds: float) -> None:
    with Terminal("drop", market, "shop.orders") as terminal:
        terminal.wait_for("Type shop.orders to drop it: ")
        terminal.type("shop.orders\n")
        assert terminal.interrupt(after=seconds) in (Exit.INTERRUPTED, Exit.DONE)
    yard = lanceyard.open(market)
    if "orders" not in yard.tables("shop"):  # it was too late, and can be taken back
        yard.undrop("shop.orders")
    assert yard.table("shop.orders").count()


def test_long_work_can_be_interrupted_and_done_again(home: Path) -> None:
    rows = pa.table({"n": range(300_000), "s": ["some text"] * 300_000})
    pyarrow.csv.write_csv(rows, home / "rows.csv")
    (home / "c").mkdir()
    with Terminal("import", "./c", "t", *["rows.csv"] * 100) as terminal:
        terminal.wait_for("00/?")
        assert terminal.interrupt() == Exit.INTERRUPTED
    assert terminal.seen.splitlines()[-1] == "lanceyard: interrupted"
    assert lanceyard.open("./c").tables() == []
    assert {path.name for path in Path("c").iterdir()} <= {"__manifest", "_lanceyard"}
    with Terminal("import", "./c", "t", "rows.csv") as terminal:
        assert terminal.end() == Exit.DONE
    assert lanceyard.open("./c").table("t").count() == 300_000


@pytest.mark.parametrize(("step", "times"), [("create namespace", 100_000), ("create table", 90)])
def test_what_is_interrupted_is_cleaned_up_after(market: str, step: str, times: int) -> None:
    before = sorted(Path(market).iterdir())
    with Terminal("bench", market, "-n", str(times)) as terminal:
        terminal.wait_for(step)
        assert terminal.interrupt() == Exit.INTERRUPTED, terminal.seen
    assert lanceyard.open(market).namespaces() == ["library", "media", "shop"]
    assert sorted(Path(market).iterdir()) == before


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_ends_when_it_is_interrupted(market: str, workers: str) -> None:
    with Terminal("serve", market, "--port", "0", "--workers", workers) as terminal:
        terminal.wait_for("http://")
        assert terminal.interrupt() == Exit.INTERRUPTED
    assert terminal.seen.splitlines()[-1] == "lanceyard: interrupted"


def test_long_work_shows_how_far_it_is(home: Path) -> None:
    rows = pa.table({"n": range(300_000), "s": ["some text"] * 300_000})
    pyarrow.csv.write_csv(rows, home / "rows.csv")
    (home / "c").mkdir()
    with Terminal("import", "./c", "t", "rows.csv") as terminal:
        terminal.wait_for("━")
        terminal.wait_for("300000/?")
        assert terminal.end() == Exit.DONE
    assert terminal.seen.splitlines()[-2:] == [
        "done: import t (rows 300000, version 1)",
        "undo: lanceyard drop ./c t",
    ]


def test_repair_shows_its_phases(market: str) -> None:
    with Terminal("doctor", market) as terminal:
        assert terminal.end() == Exit.DONE
    assert "8/8" in terminal.seen
    assert terminal.seen.splitlines()[-1] == "8 tables looked at, 0 things found"
