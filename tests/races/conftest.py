"""Racers and the roots they race on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.races.arena import Client, Processes, Racers, Threads

SOME, MANY = 4, 100


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """Eight processes, started once: an import costs more than a race."""
    started = Processes()
    yield started
    started.close()


@pytest.fixture(params=["processes", "threads"])
def racers(request: pytest.FixtureRequest) -> Racers:
    """Eight processes, or eight threads of one instance."""
    if request.param == "threads":
        return Threads()
    started: Processes = request.getfixturevalue("processes")
    return started


@pytest.fixture(params=["v1", "v2", "compat"])
def mode(request: pytest.FixtureRequest) -> str:
    """The mode of the directory catalog."""
    name: str = request.param
    return name


@pytest.fixture(params=[SOME, pytest.param(MANY, marks=pytest.mark.deep)])
def rounds(request: pytest.FixtureRequest) -> int:
    """How often a race is run."""
    count: int = request.param
    return count


@pytest.fixture
def fresh(tmp_path: Path, mode: str) -> Callable[[], Client]:
    """Makes the client of a root that does not exist yet, another one each time."""
    numbers = itertools.count()
    return lambda: Client(str(tmp_path / f"root{next(numbers)}"), mode)
