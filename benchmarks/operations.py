"""The operations on the content of tables beside the reference's, through the same calls.

    python benchmarks/operations.py [--output FILE] [--samples N]

Both sides work on tables of their own with the same history, in turn, so both see the same load.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance.namespace
import lance_namespace as spec
import numpy as np
import pyarrow as pa
from lance_namespace import LanceNamespace
from measuring import gc_paused
from report import grid, versions

import lanceyard

ROWS, DIMENSIONS, FRAGMENTS = 300, 64, 10
NAME = ["bench", "t"]
PARITY, FAST = 1 / 1.1, 1.5
OUTPUT = Path(__file__).with_name("operations.md")


@dataclass(frozen=True)
class Operation:
    """A call, how often it is timed, and the least ratio that is wanted."""

    label: str
    fields: Callable[[int], dict[str, Any]]
    samples: int
    repeat: int = 1
    wanted: float = PARITY


def body(first: int, rows: int = ROWS) -> bytes:
    """Rows as an Arrow IPC stream."""
    random = np.random.default_rng(first)
    vectors = random.random(rows * DIMENSIONS, dtype=np.float32)
    table = pa.table(
        {
            "id": pa.array(range(first, first + rows), pa.int64()),
            "text": [f"word{i % 97} thing{i % 13}" for i in range(first, first + rows)],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIMENSIONS),
        }
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


BODY, SMALL = body(10_000_000), body(0, 10)


def prepare(namespace: LanceNamespace) -> None:
    """Create the table that all operations work on."""
    namespace.create_namespace(spec.CreateNamespaceRequest(id=NAME[:1]))
    namespace.create_table(spec.CreateTableRequest(id=NAME), body(0))
    for part in range(1, FRAGMENTS):
        namespace.insert_into_table(spec.InsertIntoTableRequest(id=NAME), body(part * ROWS))
    for column, kind in (("id", "BTREE"), ("text", "FTS")):
        namespace.create_table_scalar_index(
            spec.CreateTableIndexRequest(
                id=NAME, column=column, index_type=kind, name=f"by_{column}"
            )
        )
    for tag in range(5):
        request = spec.CreateTableTagRequest(id=NAME, tag=f"kept{tag}", version=tag + 1)
        namespace.create_table_tag(request)


Fields = Callable[[int], dict[str, Any]]


def fixed(**fields: Any) -> Fields:
    """The same request every time."""
    return lambda _: fields


NEAREST = {"k": 10, "vector": {"single_vector": [0.5] * DIMENSIONS}}
PLAIN = {"k": 10, "vector": {"single_vector": []}}
WORDS = {"string_query": {"query": "word7"}}
UPSERT = {"on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True}

READS: list[tuple[str, Fields, float]] = [
    ("count_table_rows", fixed(), FAST),
    ("count_table_rows, predicate", fixed(predicate="id > 1000"), PARITY),
    ("get_table_stats", fixed(), FAST),
    ("list_table_tags", fixed(), FAST),
    ("get_table_tag_version", fixed(tag="kept1"), PARITY),
    ("list_table_branches", fixed(), PARITY),
    ("list_table_indices", fixed(), FAST),
    ("describe_table_index_stats", fixed(index_name="by_id"), PARITY),
    ("query_table, nearest", fixed(**NEAREST), PARITY),
    ("query_table, filter", fixed(**PLAIN, filter="id = 77"), PARITY),
    ("query_table, words", fixed(**PLAIN, full_text_query=WORDS), PARITY),
    ("explain_table_query_plan", fixed(query=NEAREST), PARITY),
    ("analyze_table_query_plan", fixed(**NEAREST), PARITY),
]
WRITES: list[tuple[str, Fields]] = [
    ("create_table_tag", lambda i: {"tag": f"t{i}", "version": 1}),
    ("update_table_tag", lambda i: {"tag": f"t{i}", "version": 2}),
    ("delete_table_tag", lambda i: {"tag": f"t{i}"}),
    ("create_table_branch", lambda i: {"name": f"b{i}"}),
    ("delete_table_branch", lambda i: {"name": f"b{i}"}),
    ("insert_into_table", fixed(body=BODY)),
    ("merge_insert_into_table", fixed(body=SMALL, **UPSERT)),
    ("update_table", lambda i: {"updates": [["text", "'x'"]], "predicate": f"id = {i + 20}"}),
    ("delete_from_table", lambda i: {"predicate": f"id = {i + 300}"}),
    (
        "create_table_scalar_index",
        lambda i: {"column": "id", "index_type": "BITMAP", "name": f"i{i}"},
    ),
    (
        "create_table_index, IVF_FLAT",
        lambda i: {
            "column": "vector",
            "index_type": "IVF_FLAT",
            "name": f"v{i}",
            "num_partitions": 2,
        },
    ),
    ("drop_table_index", lambda i: {"index_name": f"i{i}"}),
    (
        "alter_table_add_columns",
        lambda i: {"new_columns": [{"name": f"c{i}", "expression": "id + 1"}]},
    ),
    (
        "alter_table_alter_columns",
        lambda i: {"alterations": [{"path": f"c{i}", "rename": f"d{i}"}]},
    ),
    ("alter_table_drop_columns", lambda i: {"columns": [f"d{i}"]}),
    ("update_table_schema_metadata", lambda i: {"metadata": {"k": str(i)}}),
    ("restore_table", fixed(version=1)),
]
"""In an order in which each finds what those before left for it."""


def do(namespace: LanceNamespace, label: str, fields: dict[str, Any]) -> object:
    """Carry out an operation, from the fields of its request on."""
    name = label.partition(",")[0]
    model = f"{name.replace('_scalar', '').title().replace('_', '')}Request"
    given = dict(fields)
    data = [given.pop("body")] if "body" in given else []
    request = getattr(spec, model).model_validate({"id": NAME, **given})
    return getattr(namespace, name)(request, *data)


def operations(samples: int) -> list[Operation]:
    return [
        *(Operation(label, fields, samples, 10, wanted) for label, fields, wanted in READS),
        *(Operation(label, fields, samples) for label, fields in WRITES),
    ]


def measure(sides: tuple[LanceNamespace, LanceNamespace], operation: Operation) -> list[str]:
    """Medians of samples taken in turn; the side that goes first alternates too."""
    times: tuple[list[float], list[float]] = ([], [])
    with gc_paused():
        for index in range(operation.samples):
            for turn in ((0, 1), (1, 0))[index % 2]:
                times[turn].append(seconds(sides[turn], operation, index))
    theirs, ours = (statistics.median(side[1:]) * 1000 for side in times)
    ratio = theirs / ours
    mark = "✓" if ratio >= operation.wanted else "✗"
    wanted = f"{mark} (≥ {operation.wanted:.2g})"
    return [operation.label, f"{ratio:.2g}x {wanted}", f"{theirs:.3g}", f"{ours:.3g}"]


def seconds(namespace: LanceNamespace, operation: Operation, index: int) -> float:
    start = time.perf_counter()
    for step in range(operation.repeat):
        do(namespace, operation.label, operation.fields(index * operation.repeat + step))
    return (time.perf_counter() - start) / operation.repeat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--samples", type=int, default=31)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        theirs, ours = Path(folder, "theirs"), Path(folder, "ours")
        reference = lance.namespace.DirectoryNamespace(
            root=str(theirs), dir_listing_enabled="false"
        )
        namespace = lanceyard.DirectoryNamespace(
            root=str(ours), dir_listing_enabled="false", durability="os"
        )
        sides = (reference, namespace)
        for side in sides:
            prepare(side)
        rows = [measure(sides, operation) for operation in operations(given.samples)]
        namespace.close()
    parts = [
        "# Operations on the content of tables, beside the reference",
        versions(),
        (
            f"Medians in ms per call, request and response included, on a table of {FRAGMENTS} "
            f"fragments with {ROWS} rows of {DIMENSIONS} dimensions each. A ratio says how many "
            "times faster Lanceyard is. Both took their samples in turn, each on its own table."
        ),
        grid(["operation", "ratio", "reference", "Lanceyard"], rows),
    ]
    given.output.write_text("\n\n".join(parts) + "\n")
    print(given.output.read_text())


if __name__ == "__main__":
    main()
