"""What a benchmark run found, as markdown: ratios beside their targets, then the medians."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Final

# The least ratio wanted of an operation at N tables; at every N where N is None.
TARGETS: Final[dict[tuple[str, int | None], float]] = {
    ("describe_table", 1_000): 80,
    ("describe_table", 100_000): 200,
    ("list_tables limit=100", 10_000): 100,
    ("declare_table", 10): 1,
    ("declare_table", 10_000): 3,
    ("declare_table", 100_000): 10,
    ("declares, 16 threads", 1_000): 6,
    ("declares, 16 threads", 10_000): 10,
    ("declares, 16 threads, ours fsync", None): 1,
    ("declares, 8 processes", 10_000): 4,
    ("open + first describe", 100_000): 0.5,
}

EXPLANATION: Final = """\
Times are medians in ms per call, request and response objects included; a sample is a few calls in
a row (50 for lookups, 5 for single writes), the same on both sides. Rows of declares count
those per second by all threads or processes together, and their CPU in ms per declare, including
our upkeep in the background. A ratio says how many times better Lanceyard is. N is the number of
tables in one namespace of a V2 catalog. The two sides took their samples in turn, each on its own
copy of one catalog, so both saw the same load. The reference never calls fsync; on our side only
the rows that say so do."""


@dataclass(frozen=True)
class Measurement:
    """One operation at one size. The unit is `ms` (less is better) or `/s` (more is better)."""

    operation: str
    tables: int
    reference: float
    ours: float
    unit: str = "ms"
    failed: tuple[int, int] = (0, 0)

    @property
    def ratio(self) -> float:
        return self.reference / self.ours if self.unit == "ms" else self.ours / self.reference

    @property
    def target(self) -> float | None:
        return TARGETS.get((self.operation, self.tables), TARGETS.get((self.operation, None)))


@dataclass(frozen=True)
class Footprint:
    """The `__manifest` directory of a new catalog after so many single declares."""

    side: str
    declares: int
    files: int
    bytes: int


def markdown(
    measurements: Sequence[Measurement], footprints: Sequence[Footprint], title: str
) -> str:
    parts = [
        f"# {title}",
        versions(),
        EXPLANATION,
        "## Ratios",
        matrix(measurements, verdict),
        "## Medians: reference / Lanceyard",
        matrix(measurements, medians),
        "## Disk: `__manifest` of a new catalog",
        disk(footprints),
    ]
    return "\n\n".join(parts) + "\n"


def versions() -> str:
    return (
        f"pylance {installed('pylance')}, lanceyard {installed('lanceyard')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores"
    )


def installed(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "from source"


def matrix(measurements: Sequence[Measurement], cell: Callable[[Measurement], str]) -> str:
    """A row per operation, a column per size."""
    cells = {(each.operation, each.tables): cell(each) for each in measurements}
    operations = list(dict.fromkeys(each.operation for each in measurements))
    sizes = list(dict.fromkeys(each.tables for each in measurements))
    rows = [[name, *(cells.get((name, size), "") for size in sizes)] for name in operations]
    return grid(["", *(f"N={size:,}" for size in sizes)], rows)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict(each: Measurement) -> str:
    ratio = f"{number(each.ratio)}x"
    if each.target is None:
        return ratio
    mark = "✓" if each.ratio >= each.target else "✗"
    return f"{ratio} {mark} (≥ {each.target:g})"


def medians(each: Measurement) -> str:
    unit = "" if each.unit == "ms" else each.unit
    failed = " ({} / {} calls failed)".format(*each.failed) if any(each.failed) else ""
    return f"{number(each.reference)} / {number(each.ours)}{unit}{failed}"


def number(value: float) -> str:
    """Two significant digits below ten, whole numbers above."""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.995 else f"{value:.2g}"


def disk(footprints: Sequence[Footprint]) -> str:
    rows = [
        [each.side, f"{each.declares:,}", f"{each.files:,}", f"{each.bytes / 1e6:.1f} MB"]
        for each in footprints
    ]
    return grid(["", "single declares", "files", "size"], rows)
