"""Migration and repair of a large catalog: seconds and memory, by the number of tables.

    python benchmarks/repair.py [10000 100000]

Each step runs in a process of its own, so that its memory can be told. There is no peer: no other
Lance catalog migrates or repairs.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lance
import pyarrow as pa

import lanceyard
from lanceyard.catalog.maintenance import Progress

SIZES = [10_000, 100_000]
BROKEN = 100
"""One table in so many is damaged."""
MOST_LINKS = 50_000
"""Of one file: file systems have a limit."""
OUTPUT = Path(__file__).with_name("repair.md")


def build(root: Path, count: int) -> None:
    """A V1 catalog: many tables that share the files of a few."""
    first = root / "t.lance"
    lance.write_dataset(pa.table({"n": [1, 2, 3]}), str(first))
    for number in range(count - 1):
        table = root / f"t{number:06}.lance"
        is_copied = number % MOST_LINKS == 0
        shutil.copytree(first, table, copy_function=shutil.copy if is_copied else os.link)
        first = table if is_copied else first


def damage(root: Path, count: int) -> int:
    """Leave behind what crashes leave."""
    made = 0
    for number in range(0, count - 1, BROKEN):
        table = root / f"t{number:06}.lance"
        (table / "_versions" / ".tmp_x").write_bytes(b"x")
        orphan = root / f"{number:08x}_orphan{number}" / "data"
        orphan.mkdir(parents=True)
        (orphan / "x.lance").write_bytes(b"x")
        made += 2
    return made


def age(root: Path) -> None:
    """Let everything look a day old."""
    then = time.time() - 86_400
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.utime(os.path.join(folder, name), (then, then))


def step(name: str, root: str) -> None:
    """Do one step and print its figures; this is what a process of its own runs."""
    yard = lanceyard.open(root, durability="os", **json.loads(os.environ.get("SETTINGS", "{}")))
    calls: list[Progress] = []
    start = time.perf_counter()
    if name == "migrate":
        found = len(yard.migrate(progress=calls.append).migrated)
    else:
        report = yard.repair(dry_run=name == "dry run", progress=calls.append)
        assert not report.failures, report
        assert not report.unchecked, report
        found = len(report.findings)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"seconds": seconds, "memory": memory, "found": found, "told": len(calls)}))
    yard.close()


def measure(name: str, root: Path) -> dict[str, float]:
    """The figures of one step."""
    command = [sys.executable, __file__, "--step", name, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Measure all sizes and write the table."""
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    setting = (
        f"On {platform.machine()} with {os.cpu_count()} cores, pylance {lance.__version__}. V1 "
        f"tables of one small file; then one in {BROKEN} has a stray file, and there are as many "
        "orphan directories."
    )
    lines = [
        "# Migration and repair",
        "",
        setting,
        "",
        "| tables | step | seconds | peak memory | found or migrated |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    for size in sizes:
        root = Path(tempfile.mkdtemp(prefix="lanceyard-repair-"))
        try:
            build(root, size)
            figures = {"migrate": measure("migrate", root)}
            age(root)
            figures["dry run, in order"] = measure("dry run", root)
            damage(root, size)
            age(root)
            figures["dry run"] = measure("dry run", root)
            figures["repair"] = measure("repair", root)
        finally:
            shutil.rmtree(root)
        for name, row in figures.items():
            lines.append(
                f"| {size:,} | {name} | {row['seconds']:.1f} | {row['memory']:.0f} MB | "
                f"{row['found']:.0f} |"
            )
            print(lines[-1], flush=True)
    OUTPUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        step(*sys.argv[2:])
    else:
        main()
