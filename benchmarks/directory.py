"""Our directory namespace and the reference's at the same work, in one run.

Both sides start from a copy of one V2 catalog, N tables in one namespace, its manifest written by
the reference. Samples alternate between the sides, so both see the same load: trust the ratios
more than the times. `--control` puts the reference on both sides; every ratio should then be near
one, and its distance from one is the noise of the machine.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import pyarrow as pa
from catalogs import (
    NAMESPACE,
    Bench,
    Effort,
    Side,
    check_same_tables,
    footprint,
    known,
    prepare,
    scratch,
)
from lance_namespace import (
    CreateTableRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    DropTableRequest,
    ListNamespacesRequest,
    ListTablesRequest,
    TableExistsRequest,
)
from measuring import Operation, Runner, measure, process_pool, round_of_threads, throughput
from report import Measurement, markdown


def main() -> None:
    options = arguments()
    sizes = options.sizes or ([10, 1_000] if options.quick else [10, 1_000, 10_000, 100_000])
    ours = "reference" if options.control else "lanceyard"
    measurements: list[Measurement] = []
    with process_pool() as run_processes:
        for tables in sizes:
            print(f"measuring N={tables}", file=sys.stderr)
            with scratch() as directory:
                bench = prepare(directory, tables, effort(tables, options.quick), ours)
                measurements += measure_all(bench, run_processes)
    footprints = [footprint(side, 100 if options.quick else 1_000) for side in ("reference", ours)]
    title = "Directory namespace against the reference" + (" (quick)" if options.quick else "")
    text = markdown(measurements, footprints, title)
    print(text)
    if not options.control:
        options.output.write_text(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")])
    parser.add_argument("--quick", action="store_true", help="two small sizes, fewer samples")
    parser.add_argument("--control", action="store_true", help="the reference on both sides")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    return parser.parse_args()


def effort(tables: int, quick: bool) -> Effort:
    if quick:
        return Effort(10, 6, 2, 10, 4)
    if tables >= 100_000:
        return Effort(15, 8, 3, 8, 4)
    if tables >= 10_000:
        return Effort(20, 15, 3, 15, 10)
    return Effort(30, 20, 3, 20, 20)


def measure_all(bench: Bench, run_processes: Runner) -> list[Measurement]:
    """Opening comes last: each side then opens a catalog that it has itself written."""
    results = [measure(bench, each) for each in (*reads(bench), *writes(bench))]
    results += throughput(
        bench,
        {"declares, 16 threads": bench.ours, "declares, 16 threads, ours fsync": bench.durable},
        round_of_threads,
    )
    results += throughput(bench, {"declares, 8 processes": bench.ours}, run_processes)
    results.append(measure(bench, first_describe(bench)))
    if not any(any(each.failed) for each in results):
        check_same_tables(bench)
    return results


def small_stream() -> bytes:
    batch = pa.record_batch({"id": list(range(10)), "name": [f"row {row}" for row in range(10)]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def reads(bench: Bench) -> list[Operation]:
    def describe(side: Side, index: int) -> object:
        return side.namespace.describe_table(DescribeTableRequest(id=known(bench.tables, index)))

    def exists(side: Side, index: int) -> object:
        return side.namespace.table_exists(TableExistsRequest(id=known(bench.tables, index)))

    def tables(side: Side, _: int, limit: int | None) -> object:
        return side.namespace.list_tables(ListTablesRequest(id=[NAMESPACE], limit=limit))

    def namespaces(side: Side, _: int) -> object:
        return side.namespace.list_namespaces(ListNamespacesRequest(id=[]))

    samples = bench.effort.reads
    return [
        Operation("describe_table", describe, samples, repeat=50),
        Operation("table_exists", exists, samples, repeat=50),
        Operation("list_tables limit=100", partial(tables, limit=100), samples, repeat=5),
        Operation("list_tables all", partial(tables, limit=None), samples),
        Operation("list_namespaces", namespaces, samples, repeat=50),
    ]


def writes(bench: Bench) -> list[Operation]:
    body = small_stream()

    def declare(side: Side, index: int) -> object:
        return side.namespace.declare_table(DeclareTableRequest(id=[NAMESPACE, f"new{index}"]))

    def drop(side: Side, index: int) -> object:
        return side.namespace.drop_table(DropTableRequest(id=[NAMESPACE, f"new{index}"]))

    def create(side: Side, index: int) -> object:
        request = CreateTableRequest(id=[NAMESPACE, f"created{index}"])
        return side.namespace.create_table(request, body)

    samples = bench.effort.writes
    return [
        Operation("declare_table", declare, samples, repeat=5),
        Operation("drop_table, recent", drop, samples, repeat=5),
        Operation("create_table", create, samples, repeat=5),
    ]


def first_describe(bench: Bench) -> Operation:
    def call(side: Side, index: int) -> object:
        namespace = side.open()
        namespace.describe_table(DescribeTableRequest(id=known(bench.tables, index)))
        return namespace

    return Operation("open + first describe", call, bench.effort.writes)


if __name__ == "__main__":
    main()
