"""`kill -9` at random moments of a process that does a bit of everything."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.victims import LEFTOVERS, Tables, Victim, after, live
from tests.crash.wreck import open_namespace, show

SHORTEST_LIFE, LONGEST_LIFE = 0.02, 0.15


def replay(tables: Tables, log: Path) -> list[Tables]:
    """The states that a log allows: all that was acknowledged, and maybe what was tried last."""
    pending: list[Any] | None = None
    for line in log.read_text().splitlines():
        word, *parts = json.loads(line)
        if word == "done" and pending is not None:
            tables = after(tables, *pending)
        assert word != "refused" or parts[0] in LEFTOVERS, (pending, parts)
        pending = parts if word == "try" else None
    if pending is None:
        return [tables]
    operation, name, _ = pending
    allowed = [tables, after(tables, *pending)]
    if operation == "create" and "$" not in name:
        allowed.append({**tables, name: None})
    return allowed


@pytest.mark.parametrize("mode", ["v1", "v2", "compat"])
@pytest.mark.parametrize("rounds", [7, pytest.param(100, marks=pytest.mark.deep)])
def test_nothing_acknowledged_is_lost_and_nothing_half_made_is_whole(
    tmp_path: Path, mode: str, rounds: int
) -> None:
    root = tmp_path / "root"
    if mode != "v1":
        open_namespace(root, mode).create_namespace({"id": ["ns"]})
    known: Tables = {}
    for seed in range(rounds):
        log = tmp_path / f"log{seed}"
        victim = Victim(live, str(root), mode, seed, str(log))
        victim.go()
        time.sleep(random.uniform(SHORTEST_LIFE, LONGEST_LIFE))
        victim.kill()
        victim.end()
        found = {name: rows and [*rows] for name, (rows, _) in show(root, mode).tables.items()}
        allowed = replay(known, log) if log.exists() else [known]
        assert found in allowed, (found, allowed)
        known = found
