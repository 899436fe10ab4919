"""Executors: jobs that Spark carries out.

They travel as a data source, whose partitions are tasks and whose rows are their results: that
works in classic sessions and through Spark Connect, and no data crosses the JVM.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lanceyard.spark.maintenance.counting import counted
from lanceyard.spark.maintenance.jobs import Assignment, Failed, outcome_of
from lanceyard.spark.maintenance.pickling import dump, load
from lanceyard.spark.worker import spare_imports

NAME = "lanceyard_jobs"
JOB = "job.secret"
"""The option that holds a job. It may hold credentials, and Spark hides such names in its logs."""
MOST_PARTITIONS = 2_000
"""With more tasks than that, some share a partition: each costs Spark tens of milliseconds."""


def run_there(
    spark: SparkSession,
    title: str,
    assignments: Sequence[Assignment],
    shared: Mapping[int, Any],
    progress: Callable[[int, int], object],
) -> list[Any]:
    """Run tasks on executors; see `jobs.run`."""
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
        outcomes = [
            _portable(outcome_of(each, self._shared)) for each in load(partition.assignments)
        ]
        yield partition.number, dump(outcomes)

    def __getstate__(self) -> dict[str, Any]:
        return {"_groups": (), "_shared": self._shared}


def _portable(outcome: Any) -> Any:
    """An outcome whose error, if it has one, can be read in another process."""
    if not isinstance(outcome, Failed):
        return outcome
    error = outcome.error
    try:
        load(dump(error))
    except Exception:  # whatever its own code raises
        return outcome._replace(error=RuntimeError(f"{type(error).__name__}: {error}"))
    return outcome


def _pack(job: Any) -> str:
    return base64.b64encode(zlib.compress(dump(job), 1)).decode()


def _unpack(text: str) -> Any:
    return load(zlib.decompress(base64.b64decode(text)))
