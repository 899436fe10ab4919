"""The parameters of indexes: each of them reaches Lance, or is refused.

What Lance makes of them is the same on every backend, so one is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, refused, stream

pytestmark = applies(mode="v2", managed=False)
ours = applies(extensions=True)

ROWS, SIZE = 300, 16
"""As few rows as product quantization learns from: 256 for its eight bits."""
HINTS = "runtime_hints"


@pytest.fixture
def vectors(catalog: Catalog) -> list[str]:
    """A table of vectors and texts."""
    values = np.random.default_rng(0).random(ROWS * SIZE).astype("float32")
    data = {
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), SIZE),
        "bytes": pa.array([[n % 256] * SIZE for n in range(ROWS)], pa.list_(pa.uint8(), SIZE)),
        "several": pa.array([[[float(n), 1.0]] for n in range(ROWS)], _LISTS_OF_VECTORS),
        "none": pa.array([None] * ROWS, pa.list_(pa.float32(), SIZE)),
        "text": pa.array([f"the Words are many: {n}" for n in range(ROWS)]),
    }
    catalog.create_table_from(["vectors"], stream(pa.table(data)))
    return ["vectors"]


_LISTS_OF_VECTORS = pa.list_(pa.list_(pa.float32(), 2))


def build(catalog: Catalog, table: list[str], kind: str, **fields: Any) -> None:
    """Create an index with parameters."""
    column = {"column": "text" if kind == "FTS" else "vector", **fields}
    catalog.do("create_table_index", table, index_type=kind, **column)


def details(catalog: Catalog, table: list[str]) -> dict[str, Any]:
    """What the only index of a table was built with, as pylance tells."""
    (index,) = catalog.open(table).describe_indices()
    return dict(index.details)


def partitions(catalog: Catalog, table: list[str]) -> int:
    """How many partitions the only index of a table has."""
    dataset = catalog.open(table)
    (index,) = dataset.describe_indices()
    return int(dataset.stats.index_stats(index.name)["indices"][0]["num_partitions"])


IVF = ("IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ")
each_ivf = pytest.mark.parametrize("kind", IVF)


@each_ivf
def test_the_training_of_partitions_is_as_asked_for(
    catalog: Catalog, vectors: list[str], kind: str
) -> None:
    build(catalog, vectors, kind, sample_rate=200, max_iterations=7, distance_type="cosine")
    found = details(catalog, vectors)
    assert found["metric_type"] == "COSINE"
    assert found[HINTS]["lance.ivf.sample_rate"] == "200"
    assert found[HINTS]["lance.ivf.max_iters"] == "7"


@pytest.mark.parametrize("kind", [kind for kind in IVF if not kind.endswith("PQ")])
def test_there_are_as_many_partitions_as_asked_for(
    catalog: Catalog, vectors: list[str], kind: str
) -> None:
    build(catalog, vectors, kind, num_partitions=3)
    assert partitions(catalog, vectors) == 3


@each_ivf
def test_partitions_are_as_large_as_asked_for(
    catalog: Catalog, vectors: list[str], kind: str
) -> None:
    build(catalog, vectors, kind, target_partition_size=100)
    assert details(catalog, vectors)["target_partition_size"] == 100
    assert partitions(catalog, vectors) == 3


@pytest.mark.parametrize("kind", ["IVF_PQ", "IVF_HNSW_PQ"])
@pytest.mark.parametrize("bits", [4, 8])
def test_product_quantization_is_as_asked_for(
    catalog: Catalog, vectors: list[str], kind: str, bits: int
) -> None:
    build(catalog, vectors, kind, num_sub_vectors=8, num_bits=bits)
    found = details(catalog, vectors)["compression"]
    assert found == {"type": "pq", "num_bits": bits, "num_sub_vectors": 8}


@ours
@pytest.mark.parametrize("kind", ["IVF_PQ", "IVF_HNSW_PQ"])
@pytest.mark.parametrize(("bits", "count"), [(None, 1), (8, 1), (4, 2)])
def test_product_quantization_has_a_default_for_the_number_of_sub_vectors(
    catalog: Catalog, vectors: list[str], kind: str, bits: int | None, count: int
) -> None:
    build(catalog, vectors, kind, num_bits=bits)
    assert details(catalog, vectors)["compression"]["num_sub_vectors"] == count


def test_the_bits_of_rabit_quantization_are_as_asked_for(
    catalog: Catalog, vectors: list[str]
) -> None:
    build(catalog, vectors, "IVF_RQ", num_bits=3)
    assert details(catalog, vectors)["compression"]["num_bits"] == 3


@pytest.mark.parametrize("kind", ["IVF_SQ", "IVF_HNSW_SQ"])
def test_scalar_quantization_has_eight_bits(
    catalog: Catalog, vectors: list[str], kind: str
) -> None:
    build(catalog, vectors, kind, num_bits=8)
    assert details(catalog, vectors)["compression"]["num_bits"] == 8


@pytest.mark.parametrize("kind", [kind for kind in IVF if "HNSW" in kind])
def test_a_graph_is_as_asked_for(catalog: Catalog, vectors: list[str], kind: str) -> None:
    build(catalog, vectors, kind, m=6, ef_construction=33)
    graph = details(catalog, vectors)["hnsw"]
    assert (graph["max_connections"], graph["construction_ef"]) == (6, 33)


@pytest.mark.parametrize(
    ("column", "distance"),
    [("vector", "l2"), ("vector", "dot"), ("bytes", "hamming"), ("several", "cosine")],
)
def test_a_distance_fits_its_column(
    catalog: Catalog, vectors: list[str], column: str, distance: str
) -> None:
    build(catalog, vectors, "IVF_FLAT", column=column, distance_type=distance)
    assert details(catalog, vectors)["metric_type"] == distance.upper()


TEXT: dict[str, Any] = {
    "with_position": True,
    "base_tokenizer": "whitespace",
    "language": "German",
    "max_token_length": 7,
    "lower_case": False,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
}


@pytest.mark.parametrize("name", TEXT)
def test_texts_are_cut_into_words_as_asked_for(
    catalog: Catalog, vectors: list[str], name: str
) -> None:
    build(catalog, vectors, "FTS")
    before = details(catalog, vectors)
    build(catalog, vectors, "FTS", **{name: TEXT[name]}, name="other")
    after = next(i.details for i in catalog.open(vectors).describe_indices() if i.name == "other")
    assert {**before, name: TEXT[name]} == after != before


@ours
@each_ivf
def test_what_is_not_asked_for_is_as_in_plain_pylance(
    catalog: Catalog, vectors: list[str], kind: str
) -> None:
    build(catalog, vectors, kind)
    found = details(catalog, vectors)
    dataset = catalog.open(vectors)
    parts = {"num_sub_vectors": 1} if kind.endswith("PQ") else {}
    dataset.create_index("vector", kind, replace=True, name="vector_idx", **parts)
    assert details(catalog, vectors) == found


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "no such distance": ("IVF_FLAT", {"distance_type": "miles"}),
    "a distance of bytes": ("IVF_FLAT", {"distance_type": "hamming"}),
    "bytes and another distance": ("IVF_FLAT", {"column": "bytes"}),
    "bytes in product quantization": ("IVF_PQ", {"column": "bytes", "distance_type": "hamming"}),
    "several vectors and another distance": ("IVF_FLAT", {"column": "several"}),
    "no vectors": ("IVF_FLAT", {"column": "none"}),
    "parts that do not fit": ("IVF_PQ", {"num_sub_vectors": 5}),
    "an odd number of parts": ("IVF_PQ", {"num_sub_vectors": 1, "num_bits": 4}),
    "three bits": ("IVF_PQ", {"num_bits": 3}),
    "sixteen bits": ("IVF_PQ", {"num_bits": 16}),
    "four bits in scalar quantization": ("IVF_SQ", {"num_bits": 4}),
    "ten bits in rabit quantization": ("IVF_RQ", {"num_bits": 10}),
    "length odd for rabit quantization": ("IVF_RQ", {"column": "several"}),
    "both ways to partition": ("IVF_SQ", {"num_partitions": 2, "target_partition_size": 9}),
    "too few edges": ("IVF_HNSW_SQ", {"m": 1}),
    "fewer candidates than edges": ("IVF_HNSW_SQ", {"m": 9, "ef_construction": 8}),
    "no such tokenizer": ("FTS", {"base_tokenizer": "scissors"}),
    "a tokenizer without its model": ("FTS", {"base_tokenizer": "jieba/missing"}),
    "no such language": ("FTS", {"language": "Klingon"}),
    "a parameter of texts": ("IVF_FLAT", {"stem": True}),
    "a parameter of product quantization": ("IVF_FLAT", {"num_sub_vectors": 2}),
    "a parameter of graphs": ("IVF_PQ", {"m": 8}),
    "a parameter of vectors": ("FTS", {"distance_type": "l2"}),
}


@ours
@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_built_is_refused(catalog: Catalog, vectors: list[str], case: str) -> None:
    kind, fields = WRONG[case]
    with refused(ErrorCode.INVALID_INPUT):
        build(catalog, vectors, kind, **fields)
    assert catalog.open(vectors).describe_indices() == []


def find(catalog: Catalog, table: list[str], words: str) -> int:
    return int(catalog.open(table).to_table(full_text_query=words).num_rows)


BEHAVIOUR: dict[str, tuple[dict[str, Any], Callable[[Catalog, list[str]], bool]]] = {
    "stems": ({"stem": True}, lambda c, t: find(c, t, "word") > 0),
    "no stems": ({"stem": False}, lambda c, t: find(c, t, "word") == 0),
    "stop words": ({"remove_stop_words": False}, lambda c, t: find(c, t, "the") > 0),
    "no stop words": ({"remove_stop_words": True}, lambda c, t: find(c, t, "the") == 0),
}


@pytest.mark.parametrize("case", BEHAVIOUR)
def test_texts_are_found_as_they_were_indexed(
    catalog: Catalog, vectors: list[str], case: str
) -> None:
    fields, holds = BEHAVIOUR[case]
    build(catalog, vectors, "FTS", **fields)
    assert holds(catalog, vectors)
