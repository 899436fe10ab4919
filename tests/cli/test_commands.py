"""Every command: what it writes, and how it fails on what is not there or may not be changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lanceyard
from lanceyard.cli.exits import Exit
from tests.cli import transcript
from tests.cli.cases import CASES, DRY_RUN, MARKET, OTHERS, Case, commands
from tests.cli.running import Shell
from tests.cli.transcript import prepare, section, title

EVERY = pytest.mark.parametrize("case", CASES, ids=str)
WRITERS = pytest.mark.parametrize("case", [case for case in CASES if case.writes], ids=str)


@pytest.fixture
def prepared(market: str, home: Path) -> dict[str, str]:
    """What the cases need beside the sample catalog."""
    return prepare(home)


def files(root: Path) -> dict[str, bytes]:
    """All files below a folder, but for locks, which are empty."""
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if path.stat().st_size}


def test_every_command_has_a_case() -> None:
    assert {*commands()} == {case.command for case in CASES} | OTHERS


@EVERY
@pytest.mark.parametrize("kind", ["table", "ndjson"])
def test_a_command_writes_what_is_in_the_transcript(
    shell: Shell, prepared: dict[str, str], case: Case, kind: str
) -> None:
    found = section(case, kind, shell, prepared)
    if transcript.is_new():
        transcript.write({**transcript.read(), title(case, kind): found})
    assert found == transcript.read()[title(case, kind)]


@EVERY
def test_a_command_fails_where_there_is_no_catalog(shell: Shell, case: Case) -> None:
    done = shell(*case.on("./nowhere"))
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
    before = files(home / "market")
    done = shell.ok(*[word.format(**prepared) for word in case.on(MARKET, DRY_RUN)])
    assert done.rows
    assert all("done" not in row for row in done.rows)
    assert files(home / "market") == before


READ_ONLY = """
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


def without_the_rights_of_root() -> None:
    """Let the permissions of files hold for root too: drop CAP_DAC_OVERRIDE and its kin."""
    import ctypes

    for capability in (1, 2, 3):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_commands_read_a_read_only_folder_and_fail_to_change_it(
    prepared: dict[str, str], home: Path
) -> None:
    cases = [case for case in CASES if case.command != "export"]
    lines = [json.dumps([w.format(**prepared) for w in case.on(MARKET)]) for case in cases]
    lines.append(json.dumps(["export", MARKET, "shop.products", "./market/products.csv"]))
    lines.append(json.dumps(["demo", "./market/sample"]))
    lines.append(json.dumps(["config", "set", "a", "impl=dir"]))
    set_writable(home / "market", writable=False)
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "LANCEYARD_CONFIG": "./market/config.toml"},
            preexec_fn=without_the_rights_of_root,
        )
    finally:
        set_writable(home / "market", writable=True)
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ends) == len(lines)
    for case, (code, out, err) in zip(cases, ends[:-3], strict=True):
        if case.command == "maintain expire":  # Lance does not tell what it could not delete
            assert "0 versions went" in out
            continue
        assert code in (REFUSED if case.writes else [case.code]), (case, out, err)
        assert len(err.splitlines()) == (code == Exit.FORBIDDEN), (case, err)
        if case.writes:
            assert "ermission denied" in out + err, case
    assert [code for code, _, _ in ends[-3:]] == [Exit.FORBIDDEN] * 3


def set_writable(root: Path, *, writable: bool) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644 if writable else 0o444)
        os.chmod(folder, 0o755 if writable else 0o555)


def test_a_table_that_was_only_declared_is_shown_as_such(shell: Shell, market: str) -> None:
    lanceyard.open(market).declare("shop.later")
    assert "declared and has no data" in shell.ok("show", market, "shop.later").row["state"]
    done = shell("head", market, "shop.later")
    assert done.code == Exit.CONFLICT
    assert re.search("append to it, or create it", done.error)
