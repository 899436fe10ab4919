"""Every mode answers every sequence of operations as the catalog in memory does."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import CatalogMachine, ReopeningMachine
from .oracle import MODES

STEPS_PER_RUN = 50
RUNS_PER_SEED = 8
STEPS = {"v1": 600, "v2": 1_400, "compat": 3_000, "bare": 500}
REOPENING_STEPS = {"v2": 500, "compat": 500}
DEEP_STEPS = int(os.environ.get("LANCEYARD_STEPS", "100000"))


def walk(base: type[CatalogMachine], mode: str, steps: int, *, start: int = 0) -> int:
    """Take at least so many random steps, and tell how many were taken.

    Each seed gives a few runs only: after ten, Hypothesis mostly repeats itself with variations.
    """
    machine: Any = type(f"{mode.title()}{base.__name__}", (base,), {"mode": mode, "steps": 0})
    plan = settings(
        max_examples=RUNS_PER_SEED,
        phases=[Phase.generate],  # shrinking takes minutes, and a failure names its step anyway
        stateful_step_count=STEPS_PER_RUN,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    seeds = itertools.count(start)
    while machine.steps < steps:
        run_state_machine_as_test(seed(next(seeds))(machine), settings=plan)
    return int(machine.steps)


@pytest.mark.parametrize("mode", MODES)
def test_two_clients_of_a_directory_behave_as_the_catalog_in_memory(mode: str) -> None:
    assert walk(CatalogMachine, mode, STEPS[mode]) >= STEPS[mode]


@pytest.mark.parametrize("mode", REOPENING_STEPS)
def test_clients_opened_at_random_steps_behave_as_the_catalog_in_memory(mode: str) -> None:
    steps = REOPENING_STEPS[mode]
    assert walk(ReopeningMachine, mode, steps, start=1_000) >= steps


def test_a_normal_run_takes_at_least_five_thousand_steps() -> None:
    assert sum([*STEPS.values(), *REOPENING_STEPS.values()]) >= 5_000


@pytest.mark.deep
@pytest.mark.parametrize("mode", MODES)
def test_a_long_random_walk_behaves_as_the_catalog_in_memory(mode: str) -> None:
    steps = DEEP_STEPS // len(MODES)
    assert walk(ReopeningMachine, mode, steps, start=random.randrange(2**32)) >= steps
