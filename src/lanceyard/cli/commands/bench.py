"""How fast a catalog is where it lies: `bench`."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli import progress
from lanceyard.cli.command import Effect, catalog_command
from lanceyard.cli.interruption import Heed, heeded
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from lanceyard.yard import Yard

RESULT = ("operation", "times", "per_second", "p50_ms", "p99_ms")
LAST = 0.99
ROWS = {"id": [*range(1_000)]}

Step = tuple[str, Callable[[int], object]]


@catalog_command("bench", effect=Effect.CHANGES)
@click.option(
    "-n", "--times", default=50, show_default=True, type=click.IntRange(1), help="Of each."
)
def bench_command(session: Session, times: int) -> None:
    """Measure operations on the catalog where it lies.

    They work in a namespace of their own, which is dropped in the end.
    """
    scratch = f"bench_{uuid.uuid4().hex[:12]}"
    if not session.goes_ahead("bench", scratch, times=times):
        return
    yard = session.yard
    with heeded() as heed:
        yard.create_namespace(scratch)
        try:
            with progress.shown("bench") as tell:
                rows = [*_measured(_steps(yard, scratch), times, tell, heed)]
        finally:
            yard.drop(scratch, cascade=True)
    session.output.rows(RESULT, rows)


def _steps(yard: Yard, top: str) -> list[Step]:
    return [
        ("create namespace", lambda n: yard.create_namespace(f"{top}.n{n}")),
        ("list namespaces", lambda _: yard.namespaces(top)),
        ("create table", lambda n: yard.create_table(f"{top}.t{n}", ROWS)),
        ("find table", lambda n: yard.find(f"{top}.t{n}")),
        ("append 1,000 rows", lambda _: yard.table(f"{top}.t0").append(ROWS)),
        ("read first rows", lambda n: yard.table(f"{top}.t{n}").head()),
        ("rename table", lambda n: yard.rename(f"{top}.t{n}", f"{top}.r{n}")),
        ("drop table", lambda n: yard.drop(f"{top}.r{n}")),
    ]


def _measured(
    steps: list[Step], times: int, tell: progress.Tell, heed: Heed
) -> Iterator[dict[str, Any]]:
    for done, (name, carry_out) in enumerate(steps):
        tell(name, done, len(steps))
        seconds = sorted(_seconds(carry_out, number, heed) for number in range(times))
        yield {
            "operation": name,
            "times": times,
            "per_second": round(times / sum(seconds), 1),
            "p50_ms": round(statistics.median(seconds) * 1e3, 2),
            "p99_ms": round(seconds[min(int(times * LAST), times - 1)] * 1e3, 2),
        }


def _seconds(carry_out: Callable[[int], object], number: int, heed: Heed) -> float:
    heed()
    started = time.perf_counter()
    carry_out(number)
    return time.perf_counter() - started
