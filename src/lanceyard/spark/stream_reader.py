"""Streaming reads: the versions of a table as micro-batches.

An offset says how far a stream has come: ``version`` and the number of fragments of it that were
read (``fragments``; all of them if it is absent). ``snapshot`` is the version with which the stream
began, and of which all rows count as added. It is part of every offset, because Spark asks for the
initial offset again if the first batch has to be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from lanceyard import errors
from lanceyard.spark import changes, planning
from lanceyard.spark.changes import Added
from lanceyard.spark.options import Options
from lanceyard.spark.planning import Extent
from lanceyard.spark.reader import Task, read
from lanceyard.spark.reference import open_table
from lanceyard.spark.scan import Scan

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before 4.2 there is no admission control: our own limits hold all the same

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Stands in."""

    ReadLimit = ReadAllAvailable = object  # type: ignore[misc,assignment]


@dataclass(frozen=True)
class Offset:
    """How far a stream has come."""

    version: int
    fragments: int | None = None
    snapshot: int | None = None

    @classmethod
    def read(cls, offset: dict[str, Any]) -> Self:
        """The offset that Spark kept."""
        return cls(**offset)

    def write(self) -> dict[str, Any]:
        """The offset for Spark to keep."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class LanceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a table from version to version."""

    def __init__(self, schema: StructType, options: Options) -> None:
        """Look up the table; `schema` is what Spark wants of it."""
        if options.is_search or options.branch or options.tag or options.timestamp:
            raise errors.InvalidInputError(
                "a stream reads the main line of a table: branch, tag, timestamp and searches are "
                "for batch reads"
            )
        self._schema = schema
        self._options = options
        self._scan = Scan.open(options)
        self._last: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        if self._options.start_version is not None:
            return Offset(self._options.start_version).write()
        latest = self._latest()
        if self._options.start == "latest":
            return Offset(latest).write()
        return Offset(latest, fragments=0, snapshot=latest).write()

    def latestOffset(  # noqa: N802
        self,
        start: dict[str, Any] | None = None,
        limit: ReadLimit | None = None,
    ) -> dict[str, Any]:
        latest = self._latest() if self._last is None else self._last
        if start is None:  # before 4.2 Spark does not say where it stands, and takes all there is
            return Offset(latest).write()
        begin = Offset.read(start)
        if latest < begin.version:
            raise errors.TableVersionNotFoundError(
                f"table {self._options.reference} has {latest} versions and the stream had read "
                f"{begin.version}: it was replaced by another table; start the stream anew"
            )
        return _advance(self._steps(begin, latest), begin, _limits(self._options)).write()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # The limits are our own options: versions and fragments can be combined with rows.
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first, last = Offset.read(start), Offset.read(end)
        if last.snapshot is not None and first.snapshot != last.snapshot:
            first = Offset(last.snapshot, fragments=0, snapshot=last.snapshot)
        elif first.version > last.version:
            first = Offset(last.version, fragments=0, snapshot=last.version)
        tasks: list[InputPartition] = []
        for step in self._steps(first, last.version):
            is_last = step.version == last.version and last.fragments is not None
            skipped = _skipped(step, first)
            extents = step.extents[skipped : last.fragments if is_last else None]
            tasks += [Task(step.version, piece) for piece in self._plan(extents)]
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        return read(self._scan, self._schema, partition, self._options.filter)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept for a batch that ended."""

    def _latest(self) -> int:
        return int(open_table(self._scan.options.reference.require()).version)

    def _steps(self, begin: Offset, latest: int) -> Iterator[Added]:
        """What was added by the versions from an offset on, its own if it was read in part."""
        version = begin.version
        if begin.fragments is not None:
            if version == begin.snapshot:
                yield changes.snapshot(self._scan, version)
            else:
                yield changes.added(self._scan, version, self._options.on_change)
        for number in range(version + 1, latest + 1):
            yield changes.added(self._scan, number, self._options.on_change)

    def _plan(self, extents: tuple[Extent, ...]) -> list[planning.Piece]:
        return planning.plan(
            extents,
            task_size=self._options.bytes_per_task,
            parallelism=self._options.parallelism,
            divisible=self._options.filter is None,
        )


@dataclass
class Limits:
    """What a micro-batch may still take; None is without limit."""

    versions: int | None
    fragments: int | None
    rows: int | None
    size: int | None

    def take(self, extent: Extent, *, at_least: bool) -> bool:
        """Take a fragment, if it does not go beyond a limit or there must be at least one."""
        left = [
            _less(self.fragments, 1),
            _less(self.rows, extent.rows),
            _less(self.size, extent.size),
        ]
        if not at_least and any(number is not None and number < 0 for number in left):
            return False
        self.fragments, self.rows, self.size = left
        return True


def _limits(options: Options) -> Limits:
    return Limits(
        versions=options.max_versions_per_trigger,
        fragments=options.max_fragments_per_trigger,
        rows=options.max_rows_per_trigger,
        size=options.max_bytes_per_trigger,
    )


def _less(left: int | None, taken: int) -> int | None:
    return None if left is None else left - taken


def _skipped(step: Added, begin: Offset) -> int:
    return (begin.fragments or 0) if step.version == begin.version else 0


def _advance(steps: Iterator[Added], begin: Offset, limits: Limits) -> Offset:
    """The offset after as many fragments as the limits allow, and at least one."""
    reached = begin
    is_empty = True
    for step in steps:
        if limits.versions is not None:
            if limits.versions == 0:
                return reached
            limits.versions -= 1
        skipped = _skipped(step, begin)
        for number, extent in enumerate(step.extents[skipped:], skipped):
            if not limits.take(extent, at_least=is_empty):
                return Offset(step.version, number, begin.snapshot)
            is_empty = False
        reached = Offset(step.version, None, begin.snapshot)
    return reached
