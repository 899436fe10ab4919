"""The races of the directory catalog, in a bucket: only conditions keep writers apart there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.cloud import bucket
from tests.races.arena import Client, Processes, Racers, declare_many
from tests.races.conftest import *  # noqa: F403 - the same racers
from tests.races.test_crossing import *  # noqa: F403 - and races
from tests.races.test_one_name import *  # noqa: F403

ONE, MANY = 1, 20


@pytest.fixture
def racers(processes: Processes) -> Racers:
    return processes


@pytest.fixture(params=[ONE, pytest.param(MANY, marks=pytest.mark.deep)])
def rounds(request: pytest.FixtureRequest) -> int:
    """How often a race is run."""
    count: int = request.param
    return count


@pytest.fixture
def fresh(mode: str) -> Callable[[], Client]:
    """Makes the client of a root that does not exist yet, another one each time."""
    storage = tuple(bucket.storage().items())
    return lambda: Client(bucket.fresh_root(), mode, storage=storage)


@pytest.mark.parametrize("mode", ["v2"], indirect=True)
def test_nothing_that_eight_processes_declare_is_lost_or_doubled(
    processes: Processes, fresh: Callable[[], Client], mode: str
) -> None:
    client = fresh()
    client.open().create_namespace({"id": ["ns"]})
    names = [[f"t{racer}-{number}" for number in range(5)] for racer in range(8)]
    done = processes.run([partial(declare_many, client, each) for each in names])
    declared = sorted(name for each in done for name in each)
    assert client.open().list_tables({"id": ["ns"]}).tables == declared
    assert len(declared) == 40
