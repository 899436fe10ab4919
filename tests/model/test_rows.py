"""Every sequence of data operations leaves in a table what plain Python says."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .rows import RowMachine

V2 = {"dir_listing_enabled": "false", "durability": "os"}
BACKENDS: dict[str, dict[str, Any]] = {
    "memory": {"properties": None},
    "v1": {"properties": {"manifest_enabled": "false"}},
    "v2": {"properties": V2},
    "compat": {"properties": {"durability": "os"}},
    "bare": {"properties": {"manifest_enabled": "false", "bare_directories": "true"}},
    "managed": {"properties": V2, "managed": True},
}
DEEP_RUNS = int(os.environ.get("LANCEYARD_RUNS", "60"))


def walk(backend: str, runs: int, start: int) -> None:
    """Take random walks of thirty steps."""
    machine = type(f"{backend.title()}RowMachine", (RowMachine,), BACKENDS[backend])
    plan = settings(
        max_examples=runs,
        phases=[Phase.generate],  # shrinking takes minutes, and a failure names its step anyway
        stateful_step_count=30,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(start)(machine), settings=plan)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_hold_what_was_done_to_them(backend: str) -> None:
    walk(backend, runs=12, start=1)


@pytest.mark.deep
@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_hold_what_was_done_to_them_for_long(backend: str) -> None:
    walk(backend, DEEP_RUNS, random.randrange(2**32))
