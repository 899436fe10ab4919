"""Catalogs that keep versions, and processes that use them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.races.arena import PRELOAD, Processes
from tests.versions.managed import open_managed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a catalog will be."""
    return tmp_path / "root"


@pytest.fixture(params=["v2", "compat"])
def mode(request: pytest.FixtureRequest) -> str:
    """With and without directories that are listed beside the manifest."""
    name: str = request.param
    return name


@pytest.fixture
def ns(root: Path) -> Iterator[Any]:
    """A catalog that keeps versions."""
    opened = open_managed(root)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """Eight processes, started once: an import costs more than a race."""
    started = Processes()
    yield started
    started.close()


@pytest.fixture
def pool() -> Iterator[Executor]:
    """Three processes that may take their time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    with ProcessPoolExecutor(3, context) as started:
        yield started
