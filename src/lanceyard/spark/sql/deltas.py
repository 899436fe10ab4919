"""Deltas: changes to rows, by which UPDATE, MERGE and DELETE are carried out.

Rows that go are marked as deleted in their fragments, and what becomes of them is added. Spark has
read them at one version; the commit is refused if anybody has changed a fragment of theirs since.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lanceyard import errors
from lanceyard.catalog.maintenance import THREADS
from lanceyard.spark.commits import WRITE, land
from lanceyard.spark.options import Options
from lanceyard.spark.reference import open_table
from lanceyard.spark.types import check_append
from lanceyard.spark.write import Write, Written, fragments_of

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata
    from numpy.typing import NDArray

    Offsets = NDArray[np.uint32]

ADDRESS, KEPT, FIRST = 0, 1, 2
"""The columns before those of the table: which row goes, and whether another one comes."""


@dataclass
class Changed(Written):
    """What a task wrote, and the rows that go."""

    gone: dict[int, bytes] = field(default_factory=dict)
    """By fragment: the numbers of rows, packed."""


@dataclass(frozen=True)
class Delta(Write):
    """Changes on their way into a table."""

    @classmethod
    def at_version(cls, schema: StructType, options: Options) -> Self:
        """Look up the version that the changes are about.

        Raises
        ------
        LanceNamespaceError
            The table, or that version of it, is gone; or rows do not fit it.
        """
        from lanceyard.namespace import datasets

        if options.version is None:
            raise errors.InvalidInputError("option delta needs option version")
        place = options.reference.require()
        base = open_table(place, options.version)
        columns = StructType(schema.fields[FIRST:])
        return cls(
            reference=options.reference,
            place=place,
            base=options.version,
            replaces=False,
            arriving=columns,
            arrow=check_append(columns, datasets.schema(base)).serialize().to_pybytes(),
            settings={},
            id=options.write_id or uuid.uuid4().hex,
        )

    def write(self, batches: Iterable[pa.RecordBatch], query: str | None = None) -> Changed:
        """Write the rows that come, and remember those that go."""
        addresses: list[NDArray[np.int64]] = []
        written = super().write(_coming(batches, addresses), query)
        return Changed(**vars(written), gone=_by_fragment(addresses))

    def commit(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        """Make the changes of all tasks, at once.

        Raises
        ------
        ConcurrentModificationError
            A fragment was changed since it was read, and nothing was written.
        """
        from lance import LanceOperation

        messages = list(messages)
        fragments, gone = fragments_of(messages), _gone(messages)
        if not fragments and not gone:
            return
        self.reference.require_still(self.place)
        try:
            base = open_table(self.place, self.base)
            marked = _marked(base, gone)
            change = LanceOperation.Update(
                removed_fragment_ids=[number for number, left in marked.items() if left is None],
                updated_fragments=[left for left in marked.values() if left is not None],
                new_fragments=fragments,
            )
            land(base, change, {WRITE: self.id}, self.place, retries=20)
        except (OSError, RuntimeError, ValueError) as cause:
            if not self.has_landed():
                raise self._uncommitted(cause) from cause
        self.reference.require_still(self.place)


class DeltaWriter(DataSourceArrowWriter):
    """Changes rows, as Spark's data source interface wants it."""

    def __init__(self, schema: StructType, options: Options) -> None:
        """Begin a write; `schema` is that of the changes that will arrive."""
        self._delta = Delta.at_version(schema, options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._delta.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._delta.commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._delta.abort(messages)


def _coming(
    batches: Iterable[pa.RecordBatch], addresses: list[NDArray[np.int64]]
) -> Iterator[pa.RecordBatch]:
    """The rows that come; the addresses of those that go are added to a list."""
    for batch in batches:
        addresses.append(batch.column(ADDRESS).drop_null().to_numpy())
        yield batch.filter(batch.column(KEPT)).select([*range(FIRST, batch.num_columns)])


def _by_fragment(addresses: list[NDArray[np.int64]]) -> dict[int, bytes]:
    """Addresses of rows by fragment, packed: neighbours cost next to nothing."""
    every = np.unique(np.concatenate([np.empty(0, np.int64), *addresses]))
    numbers, starts = np.unique(every >> 32, return_index=True)
    parts = np.split((every & 0xFFFFFFFF).astype(np.uint32), starts)
    return {int(number): _pack(part) for number, part in zip(numbers, parts[1:], strict=True)}


def _pack(offsets: Offsets) -> bytes:
    return zlib.compress(np.diff(offsets, prepend=np.uint32(0)).tobytes(), 1)


def _unpack(packed: bytes) -> Offsets:
    return np.cumsum(np.frombuffer(zlib.decompress(packed), np.uint32), dtype=np.uint32)


def _gone(messages: Iterable[WriterCommitMessage | None]) -> dict[int, list[bytes]]:
    """The rows that go, of all tasks that have finished, by fragment."""
    found: dict[int, list[bytes]] = {}
    for message in messages:
        if isinstance(message, Changed):
            for number, packed in message.gone.items():
                found.setdefault(number, []).append(packed)
    return found


def _marked(base: LanceDataset, gone: dict[int, list[bytes]]) -> dict[int, FragmentMetadata | None]:
    """Fragments with some rows marked as deleted; None where no row is left."""

    def mark(number: int) -> FragmentMetadata | None:
        fragment = base.get_fragment(number)
        assert fragment is not None, "rows were read from it"
        offsets = np.concatenate([_unpack(packed) for packed in gone[number]])
        if len(offsets) == fragment.count_rows():
            return None
        return fragment.delete_rows(offsets.tolist())

    with ThreadPoolExecutor(THREADS) as pool:
        return dict(zip(gone, pool.map(mark, gone), strict=True))
