"""Jobs: Python tasks on executors, whose results come back to the driver.

They travel as a data source, whose partitions are tasks and whose rows are their results: that
works in classic sessions and through Spark Connect, and no data crosses the JVM.
"""

from __future__ import annotations

import base64
import time
import traceback
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lanceyard.spark.maintenance.counting import counted, parallelism
from lanceyard.spark.maintenance.pickling import dump, load
from lanceyard.spark.worker import spare_imports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "lanceyard_jobs"
JOB = "job.secret"
"""The option that holds a job. It may hold credentials, and Spark hides such names in its logs."""
MOST_PARTITIONS = 2_000
"""With more tasks than that, some share a partition: each costs Spark tens of milliseconds."""

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
    size = -(-len(assignments) // MOST_PARTITIONS)
    groups = [assignments[i : i + size] for i in range(0, len(assignments), size)]
    spark.dataSource.register(JobSource)
    frame = spark.read.format(NAME).option(JOB, _pack((groups, dict(shared)))).load()
    total = len(assignments)
    with counted(spark, title, lambda done: progress(min(done * size, total), total)):
        rows = frame.collect()
    progress(total, total)
    found = {row["number"]: load(row["outcome"]) for row in rows}
    return [outcome for number in range(len(groups)) for outcome in found[number]]


def _run_here(
    assignments: Sequence[Assignment],
    shared: Mapping[int, Any],
    progress: Callable[[int, int], object],
) -> list[Any]:
    outcomes = []
    with ThreadPoolExecutor(parallelism(None)) as pool:
        for outcome in pool.map(lambda each: _outcome(each, shared), assignments):
            outcomes.append(outcome)
            progress(len(outcomes), len(assignments))
    return outcomes


@dataclass
class JobPartition(InputPartition):
    """Some tasks that are done one after the other."""

    number: int
    assignments: bytes


class JobSource(DataSource):
    """A job as a table: a row for each partition."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return "number int, outcome binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        # The source goes to every executor with its reader, and should not take all tasks along.
        job, self.options = self.options[JOB], {}
        return JobReader(*_unpack(job))


class JobReader(DataSourceReader):
    """Carries out a job."""

    def __init__(self, groups: Sequence[Sequence[Assignment]], shared: Mapping[int, Any]) -> None:
        """Know all tasks, until they are handed out."""
        self._groups = groups
        self._shared = shared

    def partitions(self) -> list[InputPartition]:
        return [
            JobPartition(number, dump(list(group))) for number, group in enumerate(self._groups)
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, bytes]]:
        assert isinstance(partition, JobPartition)
        spare_imports()
        outcomes = [_outcome(each, self._shared) for each in load(partition.assignments)]
        yield partition.number, dump(outcomes)

    def __getstate__(self) -> dict[str, Any]:
        return {"_groups": (), "_shared": self._shared}


def _outcome(assignment: Assignment, shared: Mapping[int, Any]) -> Any:
    try:
        return _patiently(assignment.task, shared.get(assignment.owner))
    except Exception as error:  # an edge: one table that fails is no reason for all to fail
        return Failed(_portable(error), traceback.format_exc())


def _patiently(task: Task, shared: Any) -> Any:
    """Run a task, and again if storage fails: Spark does not, since it never sees that."""
    for pause in PAUSES:
        try:
            return task.run(shared)
        except OSError:
            time.sleep(pause)
    return task.run(shared)


def _portable(error: Exception) -> Exception:
    """An error that can be read in another process."""
    try:
        load(dump(error))
    except Exception:  # whatever its own code raises
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _pack(job: Any) -> str:
    return base64.b64encode(zlib.compress(dump(job), 1)).decode()


def _unpack(text: str) -> Any:
    return load(zlib.decompress(base64.b64decode(text)))
