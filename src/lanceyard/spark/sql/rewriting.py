"""Rewriting: what becomes of the rows of some fragments takes their place.

So UPDATE, MERGE and DELETE are carried out. Spark has read these fragments, all of them whole, at
one version; the commit is refused if anybody has changed one of them since.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lanceyard import errors
from lanceyard.spark.options import Options
from lanceyard.spark.reference import open_table
from lanceyard.spark.types import check_append
from lanceyard.spark.write import WRITE, Write, fragments_of, land

ALL = "*"


@dataclass(frozen=True)
class Rewrite(Write):
    """Rows on their way into the place of fragments."""

    removed: tuple[int, ...] = ()

    @classmethod
    def of_fragments(cls, schema: StructType, options: Options) -> Self:
        """Look up the version that was read, and which of its fragments go.

        Raises
        ------
        LanceNamespaceError
            The table, or that version of it, is gone; or rows do not fit it.
        """
        from lanceyard.namespace import datasets

        if options.version is None:
            raise errors.InvalidInputError("option replace_fragments needs option version")
        place = options.reference.require()
        base = open_table(place, options.version)
        there = [int(fragment.fragment_id) for fragment in base.get_fragments()]
        return cls(
            reference=options.reference,
            place=place,
            base=options.version,
            replaces=False,
            arriving=schema,
            arrow=check_append(schema, datasets.schema(base)).serialize().to_pybytes(),
            settings={},
            id=options.write_id or uuid.uuid4().hex,
            removed=_chosen(options.replace_fragments or "", there),
        )

    def commit(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        """Put what all tasks wrote in the place of the fragments, at once.

        Raises
        ------
        ConcurrentModificationError
            A fragment was changed since it was read, and nothing was written.
        """
        from lance import LanceOperation

        fragments = fragments_of(messages)
        if not fragments and not self.removed:
            return
        self.reference.require_still(self.place)
        change = LanceOperation.Update(
            removed_fragment_ids=list(self.removed), new_fragments=fragments
        )
        try:
            base = open_table(self.place, self.base)
            land(base, change, {WRITE: self.id}, self.place, retries=20)
        except (OSError, RuntimeError, ValueError) as cause:
            if not self.has_landed():
                raise self._uncommitted(cause) from cause
        self.reference.require_still(self.place)


class FragmentWriter(DataSourceArrowWriter):
    """Rewrites fragments, as Spark's data source interface wants it."""

    def __init__(self, schema: StructType, options: Options) -> None:
        """Begin a write; `schema` is that of the rows that will arrive."""
        self._rewrite = Rewrite.of_fragments(schema, options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._rewrite.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._rewrite.commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._rewrite.abort(messages)


def _chosen(text: str, there: list[int]) -> tuple[int, ...]:
    if text == ALL:
        return tuple(there)
    asked = tuple(int(number) for number in text.split(",") if number)
    missing = sorted(set(asked) - set(there))
    if missing:
        raise errors.InvalidInputError(f"there are no fragments {missing} in this version")
    return asked
