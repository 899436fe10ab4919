"""Every command: what it writes, and how it fails on what is not there or may not be changed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

import lanceyard
from lanceyard.cli import profiles
from lanceyard.cli.exits import Exit
from tests.cli import transcript
from tests.cli.cases import (
    CASES,
    DRY_RUN,
    NOTHING_TO_SEE,
    NOWHERE,
    OWN_TESTS,
    Case,
    Check,
    commands,
)
from tests.cli.permissions import read_only, without_the_rights_of_root
from tests.cli.running import Shell
from tests.cli.transcript import prepare, section, title

EVERY = pytest.mark.parametrize("case", CASES, ids=str)
WRITERS = pytest.mark.parametrize("case", [case for case in CASES if case.writes], ids=str)


@pytest.fixture
def prepared(market: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the cases need beside the sample catalog."""
    monkeypatch.setenv(profiles.FILE, "./config.toml")
    return prepare(home)


def files(root: Path) -> dict[str, bytes]:
    """All files below a folder, but for locks, which are empty."""
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if path.stat().st_size}


def test_everything_is_looked_at_of_every_command() -> None:
    seen = [(case.command, check) for case in CASES for check in case.checks]
    known = [*seen, *OWN_TESTS, *NOTHING_TO_SEE]
    assert sorted(known, key=str) == sorted(product(commands(), Check), key=str)


@pytest.mark.parametrize("test", {*OWN_TESTS.values()})
def test_what_other_tests_look_at_is_there(test: str) -> None:
    module, _, name = test.partition(".")
    assert callable(getattr(import_module(f"tests.cli.{module}"), name))


@EVERY
@pytest.mark.parametrize("kind", ["table", "ndjson"])
def test_a_command_writes_what_is_in_the_transcript(
    shell: Shell, prepared: dict[str, str], case: Case, kind: str
) -> None:
    found = section(case, kind, shell, prepared)
    if transcript.is_new():
        transcript.write({**transcript.read(), title(case, kind): found})
    assert found == transcript.read()[title(case, kind)]


@pytest.mark.parametrize("case", [case for case in CASES if case.needs_catalog], ids=str)
def test_a_command_fails_where_there_is_no_catalog(shell: Shell, case: Case) -> None:
    done = shell(*case.on(NOWHERE))
    assert (done.code, done.out) == (Exit.MISSING, "")
    assert "there is no catalog at ./nowhere; next: lanceyard create ./nowhere" in done.error
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("case", [case for case in CASES if case.missing], ids=str)
def test_a_command_fails_on_an_object_that_is_not_there(
    shell: Shell, prepared: dict[str, str], case: Case
) -> None:
    done = shell(*case.on_missing())
    assert (done.code, done.out) == (Exit.MISSING, "")
    assert done.error.startswith("lanceyard: ")


@WRITERS
def test_a_dry_run_changes_nothing(
    shell: Shell, prepared: dict[str, str], home: Path, case: Case
) -> None:
    before = files(home)
    done = shell.ok(*[word.format(**prepared) for word in case.called(DRY_RUN)])
    assert done.rows
    assert all("done" not in row for row in done.rows)
    assert files(home) == before


SEVERAL = """
import contextlib, io, json, sys
from lanceyard.cli.main import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(json.loads(line))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""
REFUSED = (Exit.FORBIDDEN, Exit.FINDINGS)
"""What is said of one object, and of several of which each may fail."""


def test_commands_read_a_read_only_folder_and_fail_to_change_it(
    prepared: dict[str, str], home: Path
) -> None:
    lines = [json.dumps([word.format(**prepared) for word in case.called()]) for case in CASES]
    with read_only(home):
        done = subprocess.run(
            [sys.executable, "-c", SEVERAL],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=without_the_rights_of_root,
        )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    for case, (code, out, err) in zip(CASES, ends, strict=True):
        assert code in (REFUSED if case.writes else [case.code]), (case, out, err)
        assert len(err.splitlines()) == (code == Exit.FORBIDDEN), (case, err)
        if case.writes:
            assert "ermission denied" in out + err, case


def test_a_table_that_was_only_declared_is_shown_as_such(shell: Shell, market: str) -> None:
    lanceyard.open(market).declare("shop.later")
    assert "declared and has no data" in shell.ok("show", market, "shop.later").row["state"]
    done = shell("head", market, "shop.later")
    assert done.code == Exit.CONFLICT
    assert re.search("append to it, or create it", done.error)
