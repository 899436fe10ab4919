"""Maintenance on a Spark master, by the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lanceyard


def test_tables_are_compacted_on_a_master(tmp_path: Path) -> None:
    yard = lanceyard.open(tmp_path / "c")
    table = yard.create_table("t", {"n": [0]})
    for number in range(1, 4):
        table.append({"n": [number]})
    words = ["maintain", "compact", "./c", "--master", "local[2]"]
    done = subprocess.run(
        [sys.executable, "-m", "lanceyard", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (row,) = map(json.loads, done.stdout.splitlines())
    assert (row["table"], row["outcome"]) == ("t", "4 fragments became 1")
    assert len(table.to_lance().get_fragments()) == 1
    assert sorted(table.read()["n"].to_pylist()) == [0, 1, 2, 3]
