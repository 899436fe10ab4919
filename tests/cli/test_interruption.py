"""Ctrl-C in the middle of long work: it waits for the end of a step, and nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lanceyard
from lanceyard.cli import progress
from lanceyard.cli.exits import Exit
from lanceyard.cli.interruption import StoppedError, heeded
from tests.cli.running import Shell

KEPT = {"__manifest", "_lanceyard"}
"""What may lie in a catalog without tables."""


def press() -> None:
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_waits_until_it_is_heeded() -> None:
    steps = []

    def work() -> None:
        with heeded() as heed:
            heed()
            press()
            steps.append("not cut in two")
            heed()
            steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["not cut in two"]


def test_pressed_again_it_waits_no_longer() -> None:
    def work() -> None:
        with heeded():
            press()
            press()

    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    assert caught.value.__cause__ is None


def test_a_failure_after_ctrl_c_is_its_consequence() -> None:
    def work(before: Callable[[], None]) -> None:
        with heeded():
            before()
            raise OSError("the stream broke")

    with pytest.raises(KeyboardInterrupt):
        work(press)
    with pytest.raises(OSError, match="the stream broke"):
        work(lambda: None)


def test_what_was_too_late_is_done_and_ctrl_c_is_as_before() -> None:
    with heeded():
        press()
    with pytest.raises(KeyboardInterrupt):
        press()


def test_ctrl_c_that_somebody_else_handles_is_left_to_them() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with heeded() as heed:
            press()
            heed()
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_native_code_makes_of_ctrl_c_is_ctrl_c_still(
    shell: Shell, market: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_tables(*_: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            press()
        raise ValueError("External error: KeyboardInterrupt")

    monkeypatch.setattr(lanceyard.DirectoryNamespace, "list_tables", list_tables)
    done = shell("ls", market)
    assert (done.code, done.error) == (Exit.INTERRUPTED, "lanceyard: interrupted")


@pytest.mark.parametrize("read", [0, 2, 3])
def test_a_table_of_which_rows_may_be_missing_is_not_made(home: Path, read: int) -> None:
    stops = iter([False] * read + [True])

    def heed() -> None:
        if next(stops):
            raise StoppedError("interrupted")

    stream = pa.table({"n": range(30)}).to_reader(max_chunksize=10)
    rows = progress.Counted(stream, lambda *_: None, heed)
    Path("c").mkdir()
    with pytest.raises(Exception, match="interrupted"):
        lanceyard.open("./c").create_table("t", rows.reader)
    assert lanceyard.open("./c").tables() == []
    assert {path.name for path in Path("c").iterdir()} <= KEPT


@pytest.mark.parametrize("line", ["demo ./c", "bench ./c -n 3"])
def test_what_is_interrupted_leaves_nothing(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    Path("c").mkdir()
    monkeypatch.setattr(
        lanceyard.Yard, "create_table", _pressed_during(lanceyard.Yard.create_table)
    )
    done = shell(*line.split())
    assert (done.code, done.error) == (Exit.INTERRUPTED, "lanceyard: interrupted")
    assert [path.name for path in home.iterdir()] == ["c"]
    assert {path.name for path in Path("c").iterdir()} <= KEPT
    assert [*lanceyard.open("./c").walk()] == []


def _pressed_during(create: Callable[..., object]) -> Callable[..., object]:
    presses = iter([press])

    def create_and_press(*words: object, **more: object) -> object:
        made = create(*words, **more)
        for each in presses:
            each()
        return made

    return create_and_press
