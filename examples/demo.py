"""The main job: build a small catalog on local disk, and show it."""

from __future__ import annotations

import shutil
import sys

import pyarrow as pa

import lanceyard


def build(root: str) -> lanceyard.Yard:
    """Make a catalog with nested namespaces and a few tables."""
    yard = lanceyard.open(root)
    yard.create_namespace("shop", {"owner": "data"}).create_namespace("shop.images")
    fruits = yard.create_table("shop.fruits", {"name": ["pear", "plum"], "price": [3.5, 2.0]})
    fruits.append({"name": ["fig"], "price": [7.25]})
    embedding = pa.FixedSizeListArray.from_arrays(pa.array([0.1] * 8, pa.float32()), 4)
    yard.create_table("shop.images.vectors", {"id": [1, 2], "vector": embedding})
    yard.create_table("readme", {"line": ["Every table here is a plain Lance table."]})
    return yard


def main(root: str) -> None:
    """Build the catalog anew, and print its tree and one table."""
    shutil.rmtree(root, ignore_errors=True)
    with build(root) as yard:
        print(yard.tree())
        fruits = yard.table("shop.fruits")
        print(f"\n{fruits.name} at version {fruits.version}, {fruits.count()} rows")
        print(fruits.schema)
        print(fruits.head().to_pylist())


if __name__ == "__main__":
    main(sys.argv[1])
