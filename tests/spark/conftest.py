"""The Spark session and the cluster that the tests of this folder share."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lanceyard.spark.sessions import session
from tests.spark.clusters import Cluster, standalone_cluster

DEEP_KILLS = 20


def repeatedly() -> list[Any]:
    """Once, and many times in a deep run."""
    return [0, *(pytest.param(n, marks=pytest.mark.deep) for n in range(1, DEEP_KILLS + 1))]


def pytest_configure(config: pytest.Config) -> None:
    """Let PySpark have its doubts about pandas 3, which nothing here depends on."""
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet fully support pandas")


@pytest.fixture
def chance() -> random.Random:
    """What decides at random; ``KILLS_SEED`` repeats what a failure shows."""
    seed = int(os.environ.get("KILLS_SEED") or random.SystemRandom().randrange(2**32))
    print(f"KILLS_SEED={seed}")
    return random.Random(seed)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A master and two workers, in processes of their own."""
    with standalone_cluster() as running:
        yield running


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session; its JVM takes seconds to start, so there is one per process."""
    home = tmp_path_factory.mktemp("spark")
    config = {
        "spark.driver.memory": "1g",
        # The JVM does not live long enough for its code to be worth optimising.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.local.dir": str(home / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
        # Small tables are to come in several batches.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }
    started = session("tests", master="local[2]", config=config)
    yield started
    started.stop()


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[None]:
    """For many small statements: they are over before code for them would be compiled."""
    settings = ("spark.sql.adaptive.enabled", "spark.sql.codegen.wholeStage")
    before = {key: spark.conf.get(key) for key in settings}
    for key in settings:
        spark.conf.set(key, "false")
    yield
    for key, value in before.items():
        spark.conf.set(key, value)
