"""A catalog with tables to search, made once: no test of this folder changes them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.spark import search

ROWS, SIZE = 600, 8
WORDS = ["apple", "pear", "plum", "quince", "cherry"]


def vectors(count, seed):
    return np.random.default_rng(seed).normal(size=(count, SIZE)).astype("f4")


def fixed(values):
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    return str(tmp_path_factory.mktemp("search") / "yard")


@pytest.fixture(scope="session")
def yard(root):
    """Tables with an index for vectors and words (``shop.items``), and without any."""
    yard = lanceyard.open(root)
    yard.create_namespace("shop")
    rows = pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "text": [
                f"{WORDS[i % 5]} {WORDS[i % 3]} {'rare' if i % 97 == 5 else ''}"
                for i in range(ROWS)
            ],
            "v": fixed(vectors(ROWS, seed=1)),
        }
    )
    yard.create_table("shop.plain", rows)
    items = yard.create_table("shop.items", rows)
    items.index("text", "FTS")
    items.to_lance().create_index("v", "IVF_PQ", num_partitions=4, num_sub_vectors=4)
    return yard


@pytest.fixture
def sql(spark, yard, root):
    """Runs a query in a session that knows the catalog as ``yard`` and as the default one.

    Other tests give that session functions of theirs.
    """
    search.register(spark, root, catalogs={"yard": root})
    return lambda text: spark.sql(text).collect()


def array(values):
    """A vector as SQL writes it."""
    return f"array({', '.join(f'{float(value)!r}D' for value in values)})"
