"""A newcomer's first minute, as the README prints it: freshly installed, and without a network."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.reader import is_shown, transcript
from tests.docs.snippets import ROOT, read_snippets

pytestmark = pytest.mark.interop
COMMANDS = "FIRST_MINUTE_COMMANDS"
"""The variable that names the folder of commands of a new environment; `make interop` sets it."""
TITLE = "\n## The first minute\n"
ALONE = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--net", "--map-root-user")
"""With which a program runs that reaches no network but itself."""
SECONDS = 300


class Step(NamedTuple):
    """Something that the newcomer does, and what is then to be seen."""

    command: str
    shown: str


def steps(folder: Path) -> Iterator[Step]:
    """What the README says, after the installation; programs are put into the folder."""
    _, _, rest = (ROOT / "README.md").read_text().partition(TITLE)
    section, _, _ = rest.partition("\n## ")
    for snippet in read_snippets(section):
        if snippet.reason is not None:
            continue
        if snippet.language == "console":
            yield from (Step(*each) for each in transcript(snippet.code))
        elif snippet.language == "python":
            file = folder / f"line{snippet.line}.py"
            file.write_text(snippet.code)
            yield Step(f"python -W error {file.name}", snippet.output or "")


def script(lines: list[Step]) -> Iterator[str]:
    """What does all of it, each with files for what it prints and for what it complains of."""
    yield "ip link set lo up"
    for number, step in enumerate(lines):
        run = f"{step.command.removesuffix('&')} > {number}.out 2> {number}.err"
        if step.command.endswith("&"):
            yield f"{run} & server=$!"
            yield f"until [ -s {number}.out ]; do kill -0 $server; sleep 0.1; done"
        else:
            yield run
    yield "kill $server; wait $server || true"


def test_the_first_minute_is_as_printed(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    lines = [*steps(work)]
    assert [shlex.split(step.command)[1] for step in lines[:3]] == ["demo", "ls", "head"]
    subprocess.run(
        [*ALONE, "bash", "-euxc", "\n".join(script(lines))],
        cwd=work,
        env={
            "HOME": str(home),
            "PATH": f"{Path(os.environ[COMMANDS]).resolve()}:{os.environ['PATH']}",
            "LANCEYARD_OUTPUT": "table",  # as on a terminal
        },
        check=True,
        timeout=SECONDS,
    )
    for number, step in enumerate(lines):
        assert (work / f"{number}.err").read_text() == "", step.command
        assert is_shown((work / f"{number}.out").read_text(), step.shown), step.command
    assert [str(path.relative_to(home)) for path in home.iterdir()] == [".cache"]
