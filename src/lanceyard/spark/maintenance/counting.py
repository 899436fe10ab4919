"""Counting tasks: those that are done while a job runs, and those that can run at once."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERVAL = 0.2
"""Seconds between two looks."""
GROUP, DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


@contextmanager
def counted(spark: SparkSession, title: str, tell: Callable[[int], object]) -> Iterator[None]:
    """Tell, while the block runs a job, how many of its tasks are done."""
    watched = _by_server if _is_remote(spark) else _by_tracker
    with watched(spark, title, tell):
        yield


def parallelism(spark: SparkSession | None) -> int | None:
    """How many tasks can run at once, as far as a session tells; without one, in this process."""
    if spark is None:
        return os.cpu_count()
    return None if _is_remote(spark) else int(spark.sparkContext.defaultParallelism)


def _is_remote(spark: SparkSession) -> bool:
    return ".connect." in type(spark).__module__


@contextmanager
def _by_server(spark: Any, title: str, tell: Callable[[int], object]) -> Iterator[None]:  # noqa: ARG001
    """Spark Connect tells by itself."""

    def hear(*, stages: Any, **_: Any) -> None:
        tell(sum(stage.num_completed_tasks for stage in stages or ()))

    spark.registerProgressHandler(hear)
    try:
        yield
    finally:
        spark.removeProgressHandler(hear)


@contextmanager
def _by_tracker(spark: Any, title: str, tell: Callable[[int], object]) -> Iterator[None]:
    """A classic session is asked again and again, by the group that the job belongs to."""
    context = spark.sparkContext
    group, over = uuid.uuid4().hex, threading.Event()
    before = {name: context.getLocalProperty(name) for name in (GROUP, DESCRIPTION)}

    def watch() -> None:
        while not over.wait(INTERVAL):
            tell(_completed(context.statusTracker(), group))

    watcher = threading.Thread(target=watch, daemon=True)
    context.setJobGroup(group, title)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        for name, value in before.items():
            context.setLocalProperty(name, value)


def _completed(tracker: Any, group: str) -> int:
    jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(number) for job in jobs if job for number in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)
