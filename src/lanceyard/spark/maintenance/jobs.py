"""Jobs: Python tasks whose results come back, on executors or in threads of this process."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from lanceyard.spark.maintenance.counting import parallelism

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAUSES = (0.1, 1.0)
"""Seconds to wait before a task that storage failed is tried again."""


class Task(ABC):
    """Something to be done by one executor; it is pickled, and knows all that it needs."""

    @abstractmethod
    def run(self, shared: Any) -> Any:
        """Do it, and return what the driver is to know. It may be done twice, or cut short.

        `shared` is what all tasks of a table have in common.
        """


class Nothing(Task):
    """What executors do where all that is left is for the driver to do."""

    def run(self, shared: Any) -> None:
        """Do nothing."""


class Assignment(NamedTuple):
    """A task, and what it belongs to."""

    owner: int
    task: Task


class Failed(NamedTuple):
    """What a task returns that raised."""

    error: Exception
    trace: str


def run(
    spark: SparkSession | None,
    title: str,
    assignments: Sequence[Assignment],
    shared: Mapping[int, Any],
    progress: Callable[[int, int], object],
) -> list[Any]:
    """Run tasks on executors, and return their results in order; `Failed` of those that raised.

    Without a session they run in threads of this process. `shared` holds for each owner what its
    tasks have in common; it is sent to each executor once. `progress` is told how many are done,
    and of how many.
    """
    if not assignments:
        return []
    if spark is None:
        return _run_here(assignments, shared, progress)
    from lanceyard.spark.maintenance.executors import run_there

    return run_there(spark, title, assignments, shared, progress)


def _run_here(
    assignments: Sequence[Assignment],
    shared: Mapping[int, Any],
    progress: Callable[[int, int], object],
) -> list[Any]:
    outcomes = []
    with ThreadPoolExecutor(parallelism(None)) as pool:
        for outcome in pool.map(lambda each: outcome_of(each, shared), assignments):
            outcomes.append(outcome)
            progress(len(outcomes), len(assignments))
    return outcomes


def outcome_of(assignment: Assignment, shared: Mapping[int, Any]) -> Any:
    """What a task returns, or that it raised."""
    try:
        return _patiently(assignment.task, shared.get(assignment.owner))
    except Exception as error:  # an edge: one table that fails is no reason for all to fail
        return Failed(error, traceback.format_exc())


def _patiently(task: Task, shared: Any) -> Any:
    """Run a task, and again if storage fails: Spark does not, since it never sees that."""
    for pause in PAUSES:
        try:
            return task.run(shared)
        except OSError:
            time.sleep(pause)
    return task.run(shared)
