"""The Hive catalog beside ``lance-namespace-impls``: tables listed and described, calls counted.

    LANCE_IMPLS_PYTHON=PYTHON python benchmarks/hive.py [--output FILE] [--tables N]

Both sides ask one metastore of Hive 2.3 in turn; half of the tables in its database are Lance
tables. The other side runs in the Python of `LANCE_IMPLS_PYTHON`, as it wants an older thrift.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from report import grid, number, versions

sys.path.insert(0, str(Path(__file__).parents[1]))

import lanceyard
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase, HiveTable
from lanceyard.catalog.hive.metastore.settings import MetastoreSettings
from tests.hive.metastore import shared_metastore
from tests.hive.official import PYTHON, Official
from tests.hive.proxy import Proxy

DATABASE = "many"
ROUNDS = 5
THREADS = 8
TARGETS = {"list_tables": 50}
OUTPUT = Path(__file__).with_name("hive.md")


@dataclass(frozen=True)
class Case:
    """One operation, and how often it is carried out in a round."""

    operation: str
    request: dict[str, list[str]]
    times: int


def build(uri: str, root: Path, tables: int) -> None:
    """Half of the tables are Lance tables."""
    settings = MetastoreSettings.from_properties({"uri": uri, "client.pool-size": str(THREADS)})
    store, where = Metastore(settings), DatabaseName(DATABASE)
    store.create_database(HiveDatabase(where, f"file:{root}"))

    def create(n: int) -> None:
        kind = {"table_type": "lance", "managed_by": "storage"} if n % 2 else {}
        parameters = {"EXTERNAL": "TRUE", **kind}
        store.create_table(HiveTable(where, f"t{n:05}", f"file:{root}/t{n:05}", parameters))

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(create, range(tables)))
    store.close()


def ours(uri: str, root: Path) -> Callable[[Case], float]:
    """How long operations take on our side; its connections are kept."""
    namespace = lanceyard.connect("hive", {"uri": uri, "root": str(root)})

    def seconds(case: Case) -> float:
        begun = time.perf_counter()
        getattr(namespace, case.operation)(case.request)
        return time.perf_counter() - begun

    return seconds


def compare(case: Case, sides: dict[str, Callable[[Case], float]]) -> dict[str, float]:
    """The median of all times, the sides in turn, after one round that does not count."""
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for n in range(1 + ROUNDS):
        for side, seconds in sides.items():
            found = [seconds(case) for _ in range(case.times)]
            taken[side].extend(found if n else ())
    return {side: statistics.median(each) for side, each in taken.items()}


def counted(case: Case, port: int, root: Path) -> dict[str, int]:
    """How many calls of the metastore an operation takes on each side."""
    calls = {}
    with Proxy(port) as proxy:
        mine = ours(proxy.uri, root)
        mine(case)  # which finds out what kind of server it is
        proxy.calls.clear()
        mine(case)
        calls["ours"] = len(proxy.calls)
        with Official(os.environ[PYTHON], proxy.uri, root) as official:
            proxy.calls.clear()
            official.seconds(case.operation, **case.request)
            calls["official"] = len(proxy.calls)
    return calls


def row(case: Case, taken: dict[str, float], calls: dict[str, int]) -> list[str]:
    ratio, wanted = taken["official"] / taken["ours"], TARGETS.get(case.operation)
    verdict = "" if wanted is None else f" {'✓' if ratio >= wanted else '✗'} (≥ {wanted})"
    return [
        case.operation,
        f"{calls['official']:,}",
        f"{calls['ours']:,}",
        number(taken["official"] * 1e3),
        number(taken["ours"] * 1e3),
        f"{number(ratio)}x{verdict}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--tables", type=int, default=2_000)
    given = parser.parse_args()
    server = shared_metastore()
    cases = [
        Case("list_tables", {"id": [DATABASE]}, 1),
        Case("describe_table", {"id": [DATABASE, "t00001"]}, 20),
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        build(server.uri, root, given.tables)
        with Official(os.environ[PYTHON], server.uri, root) as official:
            sides: dict[str, Callable[[Case], float]] = {
                "official": lambda case: official.seconds(case.operation, **case.request),
                "ours": ours(server.uri, root),
            }
            found = [
                row(case, compare(case, sides), counted(case, server.port, root)) for case in cases
            ]
    about = (
        f"{given.tables:,} tables in one database of a Hive Metastore 2.3, half of them Lance "
        f"tables; lance-namespace-impls 0.4.2. Medians of {ROUNDS} rounds in ms, the sides in "
        "turn. Calls are those that the metastore gets."
    )
    head = ["", "calls, official", "calls, ours", "official", "ours", "ratio"]
    parts = ["# Hive", versions(), about, grid(head, found)]
    given.output.write_text("\n\n".join(parts) + "\n")
    print(given.output.read_text())


if __name__ == "__main__":
    main()
