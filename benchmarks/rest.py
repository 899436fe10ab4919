"""The server beside the reference's `RestAdapter`: requests per second on one catalog.

    python benchmarks/rest.py [--output FILE] [--tables N] [--workers N]

Each side serves its own copy of one catalog. The two are asked in turn, by connections that are
always busy, so both see the same load.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from load import Load, ask, get, post
from report import grid, number, versions

import lanceyard

SECONDS, ROUNDS = 2.0, 5
STREAM_MB, BATCH_ROWS = 500, 16_384
TARGETS = {
    "describe_table": 8,
    "table_exists": 8,
    "list_tables": 3,
    "list_tables limit=100": 3,
    "create_namespace": 5,
    "declare_table": 5,
}
OUTPUT = Path(__file__).with_name("rest.md")
ADAPTER = """
import sys, threading, lance.namespace
properties = {"root": sys.argv[1], "dir_listing_enabled": "false"}
adapter = lance.namespace.RestAdapter("dir", properties, host="127.0.0.1", port=0)
adapter.start()
print(f"http://127.0.0.1:{adapter.port}", flush=True)
threading.Event().wait()
"""


@dataclass
class Case:
    """One operation, as many connections ask for it."""

    name: str
    requests: Iterator[bytes]
    connections: int


def cases(tables: int) -> list[Case]:
    names = [f"n$t{number}" for number in range(tables)]
    fresh = itertools.count()
    described = [post(f"/v1/table/{name}/describe") for name in names]
    found = [post(f"/v1/table/{name}/exists") for name in names]
    return [
        Case("describe_table", itertools.cycle(described), 8),
        Case("table_exists", itertools.cycle(found), 8),
        Case("list_tables", itertools.repeat(get("/v1/namespace/n/table/list")), 8),
        Case(
            "list_tables limit=100",
            itertools.repeat(get("/v1/namespace/n/table/list?limit=100")),
            8,
        ),
        Case("create_namespace", (post(f"/v1/namespace/n$c{n}/create") for n in fresh), 32),
        Case("declare_table", (post(f"/v1/table/n$d{n}/declare") for n in fresh), 32),
    ]


def build(root: Path, tables: int) -> None:
    rows = pa.table({"n": [1, 2, 3]})
    with lanceyard.open(root, durability="os", dir_listing_enabled="false") as yard:
        yard.create_namespace("n")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: yard.create_table(f"n.t{n}", rows), range(tables)))


@contextlib.contextmanager
def serving(*command: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server in a process of its own, by the port that it listens at."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().rsplit(":", 1)[1]), process
        finally:
            process.terminate()


def ours(root: Path, workers: int) -> list[str]:
    options = ["--property", "dir_listing_enabled=false", "--property", "durability=os"]
    return [
        *("-m", "lanceyard", "serve", str(root), "--port", "0", "--workers", str(workers)),
        *options,
    ]


def compare(case: Case, ports: dict[str, int]) -> dict[str, list[Load]]:
    loads: dict[str, list[Load]] = {side: [] for side in ports}
    for port in ports.values():
        ask(port, case.requests, case.connections, SECONDS / 4)
    for _ in range(ROUNDS):
        for side, port in ports.items():
            loads[side].append(ask(port, case.requests, case.connections, SECONDS))
    return loads


def rows(case: Case, loads: dict[str, list[Load]]) -> list[str]:
    rate = {side: statistics.median(each.rate for each in of) for side, of in loads.items()}
    late = {side: statistics.median(e.quantile(0.99) for e in of) for side, of in loads.items()}
    failed = sum(each.failed for of in loads.values() for each in of)
    ratio, wanted = rate["ours"] / rate["reference"], TARGETS[case.name]
    return [
        case.name,
        str(case.connections),
        number(rate["reference"]),
        number(rate["ours"]),
        f"{number(ratio)}x {'✓' if ratio >= wanted else '✗'} (≥ {wanted})",
        f"{late['reference']:.1f}",
        f"{late['ours']:.1f} {'✓' if late['ours'] <= late['reference'] else '✗'}",
        str(failed),
    ]


def peak_mb(process: subprocess.Popen[str]) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def insert(root: Path) -> list[str]:
    """Insert a large stream, and tell what that added to the memory of the server."""
    values = pa.FixedSizeListArray.from_arrays(
        pa.array([float(n % 97) for n in range(BATCH_ROWS * 128)], pa.float32()), 128
    )
    batch = pa.record_batch({"v": values})
    count = STREAM_MB * 1_000_000 // batch.nbytes
    with serving(*ours(root, 1)) as (port, process):
        yard = lanceyard.open(f"http://127.0.0.1:{port}")
        yard.create_table("n.warm", batch)
        time.sleep(1)
        Path(f"/proc/{process.pid}/clear_refs").write_text("5")
        before = peak_mb(process)
        reader = pa.RecordBatchReader.from_batches(batch.schema, itertools.repeat(batch, count))
        began = time.perf_counter()
        yard.create_table("n.large", reader)
        seconds = time.perf_counter() - began
        added = peak_mb(process) - before
        found = yard.table("n.large").count()
    assert found == count * BATCH_ROWS
    size = count * batch.nbytes / 1e6
    mark = "✓" if added < 200 else "✗"
    return [f"{size:.0f} MB", f"{size / seconds:.0f} MB/s", f"{added:.0f} MB {mark} (< 200)"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        mine, theirs = Path(folder, "ours"), Path(folder, "reference")
        build(mine, given.tables)
        shutil.copytree(mine, theirs)
        with (
            serving(*ours(mine, given.workers)) as (port, _),
            serving("-c", ADAPTER, str(theirs)) as (other, _),
        ):
            ports = {"ours": port, "reference": other}
            found = [rows(case, compare(case, ports)) for case in cases(given.tables)]
        inserted = insert(mine)
    head = ["", "connections", "reference, /s", "ours, /s", "ratio"]
    about = (
        f"{given.tables:,} tables in one namespace of a V2 catalog, medians of {ROUNDS} rounds of "
        f"{SECONDS:g} s, the sides in turn; ours with {given.workers} processes and "
        "`durability=os`. p99 in ms. The side that asks runs on the same cores."
    )
    stream = (
        "A table created from one large stream, sent to a single process; the reference takes "
        "bodies of at most 2 MB."
    )
    parts = [
        "# The server",
        versions(),
        about,
        grid([*head, "p99, reference", "p99, ours", "failed"], found),
        stream,
        grid(["size", "speed", "memory added"], [inserted]),
    ]
    given.output.write_text("\n\n".join(parts) + "\n")
    print(given.output.read_text())


if __name__ == "__main__":
    main()
