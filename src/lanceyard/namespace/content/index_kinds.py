"""Kinds of indexes: their names, and the parameters that each of them takes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableIndexRequest

from lanceyard import errors
from lanceyard.namespace.content.fields import vector_type

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = frozenset(
    (
        "with_position",
        "base_tokenizer",
        "language",
        "max_token_length",
        "lower_case",
        "stem",
        "remove_stop_words",
        "ascii_folding",
    )
)
_IVF = frozenset(
    ("distance_type", "num_partitions", "target_partition_size", "sample_rate", "max_iterations")
)
_HNSW = frozenset(("m", "ef_construction"))
_PQ = frozenset(("num_sub_vectors", "num_bits"))
_SQ = _RQ = frozenset(("num_bits",))
_ALL = _TEXT | _IVF | _HNSW | _PQ

# What pylance calls differently. It does not complain about names that it does not know.
_PYLANCE = {"distance_type": "metric", "max_iterations": "max_iters"}

_PQ_BITS, _SQ_BITS, _RQ_BITS = (4, 8), (8,), tuple(range(1, 10))


LARGEST_GRAPH = 65_536
"""Lance reserves memory for what it is asked for, and takes the process down if there is none."""


@dataclass(frozen=True)
class IndexKind:
    """A kind of index."""

    name: str
    """In the words of the specification."""

    parameters: frozenset[str] = frozenset()
    """The fields of a request that it makes use of."""

    bits: tuple[int, ...] = ()
    """The values of `num_bits`: Lance takes others for some kinds, and builds something else."""

    @property
    def is_scalar(self) -> bool:
        """Whether it is on values, or else on vectors."""
        return not self.name.startswith("IVF")

    def options(self, request: CreateTableIndexRequest) -> dict[str, Any]:
        """The parameters of a request, as pylance takes them.

        Raises `InvalidInputError` for those that would have no effect.
        """
        given = {name: value for name in _ALL if (value := getattr(request, name)) is not None}
        foreign = sorted(given.keys() - self.parameters)
        if foreign:
            raise errors.InvalidInputError(f"an index {self.name} takes no {', '.join(foreign)}")
        if {"num_partitions", "target_partition_size"} <= given.keys():
            raise errors.InvalidInputError(
                "num_partitions and target_partition_size exclude each other"
            )
        for name in _HNSW & given.keys():
            if given[name] > LARGEST_GRAPH:
                raise errors.InvalidInputError(f"{name} is at most {LARGEST_GRAPH}")
        bits = given.get("num_bits")
        if bits is not None and bits not in self.bits:
            valid = ", ".join(map(str, self.bits))
            raise errors.InvalidInputError(f"num_bits of an index {self.name} is one of {valid}")
        return {_PYLANCE.get(name, name): value for name, value in given.items()}


KINDS = (
    *map(IndexKind, ("BTREE", "BITMAP", "LABEL_LIST", "NGRAM", "ZONEMAP", "BLOOMFILTER")),
    *map(IndexKind, ("RTREE", "MINHASHLSH")),
    IndexKind("FTS", _TEXT),
    IndexKind("IVF_FLAT", _IVF),
    IndexKind("IVF_PQ", _IVF | _PQ, _PQ_BITS),
    IndexKind("IVF_SQ", _IVF | _SQ, _SQ_BITS),
    IndexKind("IVF_RQ", _IVF | _RQ, _RQ_BITS),
    IndexKind("IVF_HNSW_FLAT", _IVF | _HNSW),
    IndexKind("IVF_HNSW_PQ", _IVF | _HNSW | _PQ, _PQ_BITS),
    IndexKind("IVF_HNSW_SQ", _IVF | _HNSW | _SQ, _SQ_BITS),
)
"""All that pylance can build."""


def find_kind(text: str) -> IndexKind | None:
    """The kind that a request or Lance means, in any case and with any separators."""
    folded = _fold(text)
    return _FOLDED.get("FTS" if folded == "INVERTED" else folded)


def read_kind(text: str, among: Collection[IndexKind], operation: str) -> IndexKind:
    """The kind that a request names. Raises `InvalidInputError` if the operation makes none."""
    kind = find_kind(text)
    if kind is None or kind not in among:
        valid = ", ".join(each.name for each in among)
        raise errors.InvalidInputError(f"{operation} makes no index {text!r}: valid are {valid}")
    return kind


def sub_vectors(column: pa.DataType, bits: int | None) -> int | None:
    """Into how many parts product quantization cuts the vectors of a column, if nobody says.

    Sixteen values in each part, or else eight; or a few parts, for vectors of odd lengths.
    """
    vectors = vector_type(column)
    if vectors is None:
        return None  # Lance tells what is wrong with the column
    size = vectors.list_size
    parts = [size // values for values in (16, 8) if size % values == 0] + [4, 2, 1]
    even = bits == _PQ_BITS[0]  # then two of them share a byte
    return next((n for n in parts if size % n == 0 and not (even and n % 2)), None)


def _fold(text: str) -> str:
    return text.replace("-", "").replace("_", "").upper()


_FOLDED = {_fold(kind.name): kind for kind in KINDS}
