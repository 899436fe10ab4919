"""What every command writes, line by line; with ``TRANSCRIPT=new`` the tests write it anew."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path

import lance
import pyarrow as pa

import lanceyard
from tests.cli.cases import Case
from tests.cli.running import Shell

FILE = Path(__file__).with_name("transcript.txt")
PROMPT = "$ lanceyard "
CHANGING = (
    (re.compile(r"[0-9a-f]{8}_(?=\w+\$)"), "<hash>_"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+\d\d:\d\d)?"), "<time>"),
    (re.compile(r"bench_[0-9a-f]{12}"), "<scratch>"),
    (re.compile(r"\d+\.\d+ s\b"), "<seconds> s"),
)
"""What is different each time, and what stands for it."""
_VERSION = (re.compile(r'(?m)(^ *|version"?:? )\d+'), r"\1<version>")
OWN = {
    "bench": (
        (re.compile(r"  +"), " "),
        (re.compile(r"((?<=[a-z]) |: )[\d.]+( [\d.]+)*"), r"\1<number>"),
    ),
    "key": ((re.compile(r"[\w-]{40,}"), "<text>"),),
    "log": (_VERSION,),
    "maintain expire": ((re.compile(r"\b2\d\d\d\b"), "<size>"),),
    "tag create": (_VERSION,),
    "tag delete": (_VERSION, (re.compile(r"--at \d+"), "--at <version>")),
}
"""The same, for single commands."""
MONTH = 30 * 24 * 3600


def is_new() -> bool:
    """Whether what commands write now is right."""
    return os.environ.get("TRANSCRIPT") == "new"


def read() -> dict[str, str]:
    """The transcript: what was written, by the words of the command."""
    if not FILE.exists():
        return {}
    parts = FILE.read_text().split(PROMPT)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].rstrip("\n") for part in parts}


def prepare(home: Path) -> dict[str, str]:
    """Make what the cases need beside the sample, and tell how that is called this time."""
    (home / "out").mkdir()
    (home / "config.toml").write_text('[catalogs.local]\nimpl = "dir"\ndir.path = "./market"\n')
    (home / "fruits.csv").write_text("name,price\npear,3.5\nplum,2.0\n")
    lance.write_dataset(pa.table({"n": [1]}), home / "market" / "loose.lance")
    with lanceyard.open(home / "market", drop_retention="3600") as yard:
        yard.table("library.documents").append(yard.table("library.documents").head(1))
        yard.create_table("shop.gone", {"n": [1]})
        yard.drop("shop.gone")
        yard.table("shop.products").branch("old")
        location = yard.deregister("shop.reviews")
        yard.tags.create("opening")
        yard.create_namespace("garden")
        _leave_orphan(Path(yard.table("shop.customers").location) / "data" / "orphan.lance")
    return {"reviews": Path(location).name, "home": str(home)}


def _leave_orphan(file: Path) -> None:
    """A file that no version refers to, written long ago."""
    file.write_bytes(b"orphan")
    then = time.time() - MONTH
    os.utime(file, (then, then))


def section(case: Case, kind: str, shell: Shell, prepared: Mapping[str, str]) -> str:
    """What a command writes now, but for what is different each time."""
    words = [word.format(**prepared) for word in case.called("--output", kind)]
    done = shell(*words)
    assert (done.code, done.err) == (case.code, "")
    text = done.out.replace(prepared["home"], "<home>")
    for pattern, name in (*CHANGING, *OWN.get(case.command, ())):
        text = pattern.sub(name, text)
    return text.rstrip("\n")


def title(case: Case, kind: str) -> str:
    """How a section is called."""
    return shlex.join(case.called("--output", kind))


def write(sections: Mapping[str, str]) -> None:
    """Put the transcript in place."""
    FILE.write_text(
        "\n\n".join(f"{PROMPT}{name}\n{text}" for name, text in sections.items()) + "\n"
    )
