"""Managed versions beside the reference's: how their cost grows, and what 16 threads get done.

    python benchmarks/versions.py [--output FILE]

Both sides commit manifests that were staged beforehand, in turn, each to a table of its own with
the same number of versions, so both see the same load. The reference keeps versions as files only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import lance.namespace
import pyarrow as pa
from lance_namespace import ListTableVersionsRequest
from measuring import gc_paused
from report import grid, number, versions

import lanceyard

SIZES = [10, 1_000, 20_000]
CREATES, LOOKUPS, THREADS, COMMITS, ROUNDS = 60, 300, 16, 30, 4
SETTLING = 3.0
OUTPUT = Path(__file__).with_name("versions.md")


class Table:
    """A table with many versions, on one side."""

    def __init__(self, namespace: object, name: str, location: str, latest: int) -> None:
        self.namespace = namespace
        self.name = name
        self.folder = Path(location) / "_versions"
        self.latest = latest

    def stage(self) -> dict[str, object]:
        """Stage the manifest of the next version."""
        self.latest += 1
        name = f"{file_name(self.latest)}-{uuid.uuid4()}"
        shutil.copyfile(self.folder / file_name(1), self.folder / name)
        path = str(self.folder / name).lstrip("/")
        return {
            "id": [self.name],
            "version": self.latest,
            "manifest_path": path,
            "naming_scheme": "V2",
        }

    def commit(self, request: dict[str, object]) -> None:
        self.namespace.create_table_version(request)

    def look_up(self) -> int:
        request = ListTableVersionsRequest(id=[self.name], limit=1, descending=True)
        return len(self.namespace.list_table_versions(request).versions)


def file_name(version: int) -> str:
    return f"{2**64 - 1 - version:020d}.manifest"


def build(root: Path, count: int, tables: int = 1) -> list[str]:
    """V2 tables with so many versions, which share one manifest; where they lie."""
    locations = []
    with lanceyard.open(root, durability="os", dir_listing_enabled="false") as yard:
        for index in range(tables):
            table = yard.create_table(f"t{index}", pa.table({"n": [1]}))
            folder = Path(table.location) / "_versions"
            for version in range(2, count + 1):
                shutil.copyfile(folder / file_name(1), folder / file_name(version))
            locations.append(table.location)
    return locations


def open_sides(folder: Path, count: int) -> dict[str, Table]:
    """The same table for the reference and for us, who make its versions rows."""
    theirs, ours = folder / f"reference-{count}", folder / f"ours-{count}"
    locations = {side: build(side, count)[0] for side in (theirs, ours)}
    reference = lance.namespace.DirectoryNamespace(
        root=str(theirs), dir_listing_enabled="false", table_version_tracking_enabled="true"
    )
    namespace = managed(ours).namespace
    time.sleep(SETTLING)
    return {
        "reference": Table(reference, "t0", locations[theirs], count),
        "ours": Table(namespace, "t0", locations[ours], count),
    }


def managed(root: Path) -> lanceyard.Yard:
    yard = lanceyard.open(root, durability="os", dir_listing_enabled="false")
    yard.manage_versions(wait=timedelta(0))
    return yard


def median_ms(calls: list[Callable[[], object]]) -> float:
    times = []
    with gc_paused():
        for call in calls:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def growth(folder: Path) -> list[list[str]]:
    """What one commit and one lookup cost, by the number of versions."""
    found: dict[tuple[str, str], list[float]] = {}
    renames = []
    # All sizes take turns: what the machine does meanwhile, it does to all of them.
    sides = {count: open_sides(folder, count) for count in SIZES}
    samples: dict[tuple[str, str, int], list[float]] = {}
    for _ in range(6):
        for count in SIZES:
            for side, table in sides[count].items():
                requests = [table.stage() for _ in range(CREATES // 6)]
                creates = [lambda r=r, t=table: t.commit(r) for r in requests]
                samples.setdefault(("create", side, count), []).append(median_ms(creates))
                lookups = [table.look_up] * (LOOKUPS // 6)
                samples.setdefault(("latest", side, count), []).append(median_ms(lookups))
    for what in ("create", "latest"):
        for side in ("reference", "ours"):
            found[what, side] = [statistics.median(samples[what, side, n]) for n in SIZES]
    for count in SIZES:
        yard = lanceyard.Yard(sides[count]["ours"].namespace)
        start = time.perf_counter()
        yard.rename("t0", "moved")
        renames.append(time.perf_counter() - start)
        yard.close()
    labels = {"create": "CreateTableVersion, ms", "latest": "latest version, ms"}
    rows = []
    for (what, side), times in found.items():
        factor = times[-1] / times[0]
        mark = "" if side == "reference" else (" ✓ (≤ 1.5)" if factor <= 1.5 else " ✗ (≤ 1.5)")
        cells = [f"{t:.2g}" if t < 10 else number(t) for t in times]
        rows.append([f"{labels[what]}, {side}", *cells, f"{factor:.1f}x{mark}"])
    verdict = "✓ (< 1 s)" if renames[-1] < 1 else "✗ (< 1 s)"
    rows.append(["rename, s, ours", *(f"{t:.2g}" for t in renames), verdict])
    return rows


def throughput(folder: Path) -> list[list[str]]:
    """Commits per second to different tables: one after the other, and by 16 threads."""
    root = folder / "threads"
    locations = build(root, 1, THREADS)
    yard = managed(root)
    tables = [Table(yard.namespace, f"t{i}", location, 1) for i, location in enumerate(locations)]
    alone, together = [], []
    for _ in range(ROUNDS):
        alone.append(rate(tables, at_once=False))
        together.append(rate(tables, at_once=True))
    yard.close()
    one, many = statistics.median(alone), statistics.median(together)
    mark = "✓ (≥ 5)" if many >= 5 * one else "✗ (≥ 5)"
    return [["commits per second", number(one), number(many), f"{many / one:.1f}x {mark}"]]


def rate(tables: list[Table], *, at_once: bool) -> float:
    requests = [[table.stage() for _ in range(COMMITS)] for table in tables]

    def work(index: int) -> None:
        for request in requests[index]:
            tables[index].commit(request)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(tables))]
    with gc_paused():
        start = time.perf_counter()
        if at_once:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            for index in range(len(tables)):
                work(index)
        return len(tables) * COMMITS / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        grown = growth(Path(folder))
        threads = throughput(Path(folder))
    head = ["", *(f"{size:,} versions" for size in SIZES), "growth"]
    parts = [
        "# Managed versions",
        versions(),
        "Medians; `durability=os`. The reference keeps versions as files, and cannot rename.",
        grid(head, grown),
        f"{THREADS} tables, one version after the other, by one thread and by {THREADS}:",
        grid(["", "1 thread", f"{THREADS} threads", "ratio"], threads),
    ]
    output.write_text("\n\n".join(parts) + "\n")
    print(output.read_text())


if __name__ == "__main__":
    main()
