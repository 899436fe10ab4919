"""Batch reads: planned on the driver, carried out by tasks that know all they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from lanceyard.spark import planning
from lanceyard.spark.batches import ToSpark
from lanceyard.spark.filters import Predicate, predicate
from lanceyard.spark.options import Options
from lanceyard.spark.planning import Extent, Piece
from lanceyard.spark.scan import EXTRA, FRAGMENT, Scan, Version, failed

BATCH_SIZE = 2 * planning.MIB
"""Of wide rows there are fewer in a batch, which Spark holds several of at once."""
SELECTIVE = 100_000
"""How many rows an index may find for a read to be planned by what it finds."""


@dataclass
class Task(InputPartition):
    """What one task reads; None means a search over the whole table."""

    version: Version
    piece: Piece | None


class _Pushdown:
    """`pushFilters` of a reader, for sessions with filter pushdown and for those without.

    Spark refuses a reader that has the method in a session where pushdown is off, which it is by
    default. It recognises the method by its function, so this one shows that of the base class.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, reader: LanceReader) -> None:
        self._reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reader.push(filters)


class LanceReader(DataSourceReader):
    """Reads a version of a table, chosen when the query is planned."""

    def __init__(self, schema: StructType, options: Options) -> None:
        """Look up the table; `schema` is what Spark wants of it."""
        self._schema = schema
        self._scan = Scan.open(options)
        self._predicates: list[Predicate] = []

    @property
    def pushFilters(self) -> Any:  # noqa: N802
        return _Pushdown(self)

    def push(self, filters: Iterable[Filter]) -> Iterator[Filter]:
        """Take over what Lance can filter, and give back what Spark must check."""
        if self._scan.options.is_search:
            # A search looks for the nearest of all rows; Spark then filters what was found.
            yield from filters
            return
        schema = self._scan.dataset.schema
        for offered in filters:
            pushed = predicate(offered, schema)
            if pushed is not None:
                self._predicates.append(pushed)
            if pushed is None or not pushed.is_exact:
                yield offered

    def partitions(self) -> list[InputPartition]:
        options = self._scan.options
        if options.is_search:
            return [Task(self._scan.version, None)]
        pieces = planning.plan(
            self._extents(),
            task_size=options.bytes_per_task,
            parallelism=options.parallelism,
            divisible=not (self._predicates or options.filter),
        )
        # Without any, Spark would make one of its own.
        return [Task(self._scan.version, piece) for piece in pieces or [Piece(())]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        if partition.piece is not None and not partition.piece.fragments:
            return iter(())
        return read(self._scan, self._schema, partition, self._filter())

    def _extents(self) -> list[Extent]:
        """What there is to read, as far as that is known before."""
        options = self._scan.options
        found = self._found_by_index()
        found = planning.extents(self._scan.dataset) if found is None else found
        if options.first is not None and not (self._predicates or options.filter):
            before = accumulate((each.rows for each in found), initial=0)
            found = [
                each for each, rows in zip(found, before, strict=False) if rows < options.first
            ]
        return found

    def _filter(self) -> str | None:
        given = [self._scan.options.filter] if self._scan.options.filter else []
        return _all([*given, *(found.sql for found in self._predicates)])

    def _found_by_index(self) -> list[Extent] | None:
        """The fragments with rows that an index finds, or None if none does, or it finds many."""
        options = self._scan.options
        if not self._predicates and not options.filter_columns:
            return None
        dataset = self._scan.dataset
        indexed = {name for index in dataset.describe_indices() for name in index.field_names}
        usable = [found.sql for found in self._predicates if found.column in indexed]
        if options.filter and options.filter_columns and indexed.issuperset(options.filter_columns):
            usable.append(options.filter)
        if not usable:
            return None
        hits = dataset.scanner(
            columns=[], filter=_all(usable), with_row_address=True, limit=SELECTIVE + 1
        ).to_table()
        if hits.num_rows > SELECTIVE:
            return None
        import pyarrow.compute as pc

        fragments = _fragments(hits)
        counts = pc.value_counts(fragments).to_pylist()
        return [
            Extent(int(found["values"]), found["counts"], found["counts"] * planning.ROW_BYTES)
            for found in sorted(counts, key=lambda found: int(found["values"]))
        ]


def read(
    scan: Scan, schema: StructType, task: Task, condition: str | None
) -> Iterator[pa.RecordBatch]:
    """The batches of a task, in Spark's types."""
    scan = scan.at(task.version)
    options = scan.options
    dataset = scan.dataset
    wanted = schema.fieldNames()
    scan.require_columns(wanted)
    extra = EXTRA.keys() - set(dataset.schema.names)
    in_fragments = FRAGMENT in extra.intersection(wanted)
    added = {"_distance", "_score"} & set(wanted)
    asked: dict[str, Any] = {
        "columns": [name for name in wanted if name not in extra] + sorted(added),
        "filter": condition,
        "with_row_id": "_rowid" in wanted,
        "with_row_address": "_rowaddr" in wanted or in_fragments,
        "blob_handling": "all_binary",
        "batch_size": options.batch_size,
    }
    if task.piece is None:
        asked |= {
            "nearest": options.nearest,
            "full_text_query": options.full_text_query,
            "limit": options.limit,
            "prefilter": True,
        }
    else:
        asked["fragments"] = [dataset.get_fragment(number) for number in task.piece.fragments]
        limits = [limit for limit in (task.piece.limit, options.first) if limit is not None]
        asked |= {"offset": task.piece.offset, "limit": min(limits, default=None)}
        if options.batch_size is None:
            asked["batch_size_bytes"] = BATCH_SIZE
    try:
        scanner = dataset.scanner(**asked)
        if not in_fragments:
            convert = ToSpark(scanner.projected_schema, schema)
            yield from map(convert, scanner.to_batches())
            return
        convert = ToSpark(scanner.projected_schema.append(pa.field(FRAGMENT, pa.int64())), schema)
        for batch in scanner.to_batches():
            yield convert(batch.append_column(FRAGMENT, _fragments(batch)))
    except (OSError, ValueError) as cause:
        raise failed(scan, cause) from cause


def _fragments(batch: pa.RecordBatch | pa.Table) -> pa.Array:
    """In which fragments rows are, by their addresses."""
    import pyarrow.compute as pc

    return pc.shift_right(batch.column("_rowaddr"), pa.scalar(32, pa.uint64())).cast(pa.int64())


def _all(conditions: list[str]) -> str | None:
    return " AND ".join(f"({condition})" for condition in conditions) or None
