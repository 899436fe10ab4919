"""Catalogs in a bucket, beside the reference: requests, bytes, time and the estimated bill.

    PYTHONPATH=. python benchmarks/cloud.py [--output FILE]

SeaweedFS runs on this machine behind a proxy, which counts requests and delays each by 0 or 30 ms.
Both sides work on copies of the same catalog.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import catalogs
import obstore
from lance.namespace import DirectoryNamespace as ReferenceNamespace
from lance_namespace import (
    CreateNamespaceRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    DropTableRequest,
    ListTablesRequest,
    TableExistsRequest,
)
from report import grid, number, versions

import lanceyard
from tests.cloud import bucket
from tests.cloud.proxy import Proxy, Request

OUTPUT = Path(__file__).with_name("cloud.md")
TABLES, SAMPLES, LATENCY = 100, 5, 0.03
THREADS, SECONDS = 16, 20.0
SETTLING = 4.0
"""Seconds until the upkeep that our first write causes is done; that of later ones counts."""
SIZES = (1_000, 100_000)
COMMITS = 15
# List prices of S3 standard, in dollars per million requests.
PRICES = {"PUT": 5.0, "COPY": 5.0, "LIST": 5.0, "POST": 5.0, "GET": 0.4, "HEAD": 0.4}
MODES = {"V2": {"dir_listing_enabled": "false"}, "V1": {"manifest_enabled": "false"}}
NS = catalogs.NAMESPACE

EXPLANATION = """\
SeaweedFS runs on this machine behind a proxy, which counts requests and delays each by 0 or 30 ms.
Both sides work on copies of the same catalog. Tables are declared, and have no data. Figures are
medians. The bill is arithmetic on list prices of S3 standard: $5 per million writes and lists,
$0.40 per million reads, deletes free; it is a mean, so our upkeep counts where it fell into a
sample."""

Act = Callable[[Any, str], object]
V2_ACTS: dict[str, Act] = {
    "describe_table": lambda ns, _: ns.describe_table(DescribeTableRequest(id=first())),
    "table_exists": lambda ns, _: ns.table_exists(TableExistsRequest(id=first())),
    "list_tables, 100": lambda ns, _: ns.list_tables(ListTablesRequest(id=[NS])),
    "create_namespace": lambda ns, name: ns.create_namespace(CreateNamespaceRequest(id=[name])),
    "declare_table": lambda ns, name: ns.declare_table(DeclareTableRequest(id=[NS, name])),
    "drop_table": lambda ns, name: ns.drop_table(DropTableRequest(id=[NS, name])),
}
V1_ACTS: dict[str, Act] = {
    "declare_table": lambda ns, name: ns.declare_table(DeclareTableRequest(id=[name])),
    "table_exists": lambda ns, name: ns.table_exists(TableExistsRequest(id=[name])),
    "list_tables, a page of 10": lambda ns, _: ns.list_tables(ListTablesRequest(id=[], limit=10)),
    "drop_table": lambda ns, name: ns.drop_table(DropTableRequest(id=[name])),
}


@dataclass
class Cost:
    """What an operation took, in samples."""

    requests: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    dollars: list[float] = field(default_factory=list)
    times: dict[float, list[float]] = field(default_factory=dict)

    def add(self, requests: list[Request]) -> None:
        self.requests.append(len(requests))
        self.sent.append(sum(each.sent + each.received for each in requests))
        self.dollars.append(sum(PRICES.get(each.kind, 0.0) for each in requests))

    def ms(self, latency: float) -> str:
        return number(1000 * statistics.median(self.times[latency]))


def first() -> list[str]:
    return [NS, catalogs.table(0)]


def copy_in(seed: Path) -> str:
    """A copy of a local catalog in the bucket."""
    root = bucket.fresh_root()
    key = root.removeprefix(bucket.KIND.uri())
    for path in seed.rglob("*"):
        if path.is_file():
            obstore.put(bucket.objects(), f"{key}/{path.relative_to(seed)}", path.read_bytes())
    return root


def open_side(side: str, root: str, mode: str, endpoint: str) -> Any:
    properties = {"root": root, **MODES[mode], **bucket.storage(endpoint)}
    if side == "reference":
        return ReferenceNamespace(**properties, **{"storage.allow_http": "true"})
    return lanceyard.DirectoryNamespace(**properties)


@contextmanager
def distant(latency: float) -> Iterator[str]:
    """The endpoint of a proxy that only delays, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (bucket.server().address, latency, theirs)
    process = context.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve(upstream: str, latency: float, line: Any) -> None:
    with Proxy(upstream, latency) as proxy:
        line.send(proxy.endpoint)
        threading.Event().wait()


def costs(mode: str, acts: dict[str, Act], seed: Path | None) -> dict[str, dict[str, Cost]]:
    """What each operation costs on each side."""
    found = {name: {side: Cost() for side in ("reference", "lanceyard")} for name in acts}
    with Proxy(bucket.server().address) as proxy:
        for side in ("reference", "lanceyard"):
            root = copy_in(seed) if seed else bucket.fresh_root()
            namespace = open_side(side, root, mode, proxy.endpoint)
            if seed is None:
                for index in range(TABLES):
                    acts["declare_table"](namespace, catalogs.table(index))
            acts["declare_table"](namespace, "warm")
            time.sleep(SETTLING)
            namespace.list_tables(ListTablesRequest(id=[NS] if seed else [], limit=1))
            for latency in (0.0, LATENCY):
                proxy.latency = latency
                for name, act in acts.items():
                    cost = found[name][side]
                    for sample in range(SAMPLES):
                        proxy.forget()
                        began = time.perf_counter()
                        act(namespace, f"new {latency} {sample}")
                        cost.times.setdefault(latency, []).append(time.perf_counter() - began)
                        cost.add(list(proxy.requests))
            proxy.latency = 0.0
            getattr(namespace, "close", lambda: None)()
    return found


def throughput(side: str, seed: Path, endpoint: str) -> float:
    """Declares per second by all threads together."""
    namespace = open_side(side, copy_in(seed), "V2", endpoint)
    V2_ACTS["declare_table"](namespace, "warm")
    time.sleep(SETTLING)
    done: list[int] = []
    ends = time.monotonic() + SECONDS

    def declare(thread: int) -> None:
        count = 0
        while time.monotonic() < ends:
            try:
                V2_ACTS["declare_table"](namespace, f"t{thread} {count}")
            except Exception:  # the reference gives up where many write
                continue
            count += 1
        done.append(count)

    threads = [threading.Thread(target=declare, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    getattr(namespace, "close", lambda: None)()
    return sum(done) / SECONDS


def commit_times(endpoint: str) -> dict[int, dict[str, float]]:
    """The median of a declare in catalogs of two sizes, on each side, in ms."""
    found: dict[int, dict[str, float]] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as scratch:
            catalogs.seed(Path(scratch) / "seed", size)
            roots = {side: copy_in(Path(scratch) / "seed") for side in ("reference", "lanceyard")}
        for side, root in roots.items():
            namespace = open_side(side, root, "V2", endpoint)
            V2_ACTS["list_tables, 100"](namespace, "")
            for number_ in range(3):
                V2_ACTS["declare_table"](namespace, f"warm {number_}")
            times = []
            for number_ in range(COMMITS):
                began = time.perf_counter()
                V2_ACTS["declare_table"](namespace, f"c {number_}")
                times.append(time.perf_counter() - began)
            found.setdefault(size, {})[side] = 1000 * statistics.median(times)
            getattr(namespace, "close", lambda: None)()
    return found


def table_of(found: dict[str, dict[str, Cost]]) -> str:
    head = ["reference / lanceyard", "requests", "bytes", "ms at 0", "ms at 30", "$ per million"]
    rows = []
    for name, sides in found.items():
        theirs, ours = sides["reference"], sides["lanceyard"]
        rows.append(
            [
                name,
                f"{statistics.median(theirs.requests):g} / {statistics.median(ours.requests):g}",
                f"{statistics.median(theirs.sent):,.0f} / {statistics.median(ours.sent):,.0f}",
                f"{theirs.ms(0.0)} / {ours.ms(0.0)}",
                f"{theirs.ms(LATENCY)} / {ours.ms(LATENCY)}",
                " / ".join(number(statistics.mean(each.dollars)) for each in (theirs, ours)),
            ]
        )
    return grid(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as scratch:
        seed = Path(scratch) / "seed"
        catalogs.seed(seed, TABLES)
        v2, v1 = costs("V2", V2_ACTS, seed), costs("V1", V1_ACTS, None)
        with distant(LATENCY) as endpoint:
            rates = {side: throughput(side, seed, endpoint) for side in ("reference", "lanceyard")}
            commits = commit_times(endpoint)
    growth = []
    for side in ("reference", "lanceyard"):
        small, large = (commits[size][side] for size in SIZES)
        growth.append([side, number(small), number(large), f"{large / small:.1f}x"])
    parts = [
        "# Catalogs in a bucket, beside the reference",
        versions(),
        EXPLANATION,
        f"## Operations of V2, a namespace of {TABLES} tables",
        table_of(v2),
        f"## Operations of V1, {TABLES} tables",
        table_of(v1),
        "## Declares at 30 ms per request",
        grid(
            ["", "per second, 16 threads"],
            [[side, number(rate)] for side, rate in rates.items()]
            + [["ratio", f"{rates['lanceyard'] / rates['reference']:.0f}x"]],
        ),
        grid(["ms per declare", *(f"{size:,} rows" for size in SIZES), "growth"], growth),
    ]
    output.write_text("\n\n".join(parts) + "\n")
    print(output.read_text())


if __name__ == "__main__":
    main()
