"""``kill -9`` of pipelines at random moments: run again, they hold every row once."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.spark.jobs import LEAN
from tests.spark.pipelines.laboratory import SPEC, Laboratory
from tests.spark.victims import Victim, victim

KILLS = int(os.environ.get("KILLS") or 12)
FEEDS = 3
AFTERMATH = 2.0
"""Seconds: how long a pipeline may live on after it has come as far as it was to come."""


def started(laboratory: Laboratory) -> victim:
    """The pipeline as a program of its own."""
    config = {**LEAN, **laboratory.config}
    conf = [text for item in config.items() for text in ("--conf", "=".join(item))]
    program = ["spark-pipelines", "run", "--spec", str(SPEC), *conf]
    return victim(f"yard={laboratory.root}", "--", *program, module="lanceyard.spark.sql")


def versions(laboratory: Laboratory) -> int:
    """The versions of all tables that the pipeline writes: they tell how far it has come."""
    home = Path(laboratory.home)
    found = [
        *home.glob("catalog/*lab$*/_versions/*.manifest"),
        *home.glob("sink.lance/_versions/*"),
    ]
    return len([path for path in found if "$source" not in str(path)])


def kill(chance: random.Random, prey: Victim) -> str:
    """Kill all of a pipeline, its Python or its JVM."""
    way = chance.choice([prey.kill, prey.kill_python, prey.kill_java])
    way()
    return way.__name__


@pytest.mark.deep
def test_a_pipeline_that_is_killed_again_and_again_holds_every_row_once(tmp_path):
    seed = int(os.environ.get("KILLS_SEED") or random.SystemRandom().randrange(2**32))
    chance = random.Random(seed)
    print(f"KILLS_SEED={seed}")
    laboratory = Laboratory(tmp_path)
    for number in range(KILLS):
        laboratory.feed(FEEDS)
        moment = versions(laboratory) + chance.randint(0, 3 * FEEDS)
        with started(laboratory) as prey:
            prey.wait_for(lambda moment=moment: versions(laboratory) > moment)
            time.sleep(chance.uniform(0, AFTERMATH))
            print(number, kill(chance, prey), versions(laboratory) - moment)
        if number % 4 == 3:
            with started(laboratory) as prey:
                assert prey.wait() == 0, prey.told()
            laboratory.check()
    with started(laboratory) as prey:
        assert prey.wait() == 0, prey.told()
    laboratory.check()
