"""Taking samples of two sides in turn: one call at a time, many threads, many processes."""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import Final

from catalogs import NAMESPACE, Bench, Side, warm_up
from lance_namespace import (
    DeclareTableRequest,
    LanceNamespace,
    LanceNamespaceError,
)
from report import Measurement

THREADS: Final = 16
PROCESSES: Final = 8
DROPPED: Final = 2  # samples of each side taken before those that count


@dataclass(frozen=True)
class Operation:
    """A call timed by itself; one sample is `repeat` of them in a row."""

    label: str
    call: Callable[[Side, int], object]
    samples: int
    repeat: int = 1


@dataclass(frozen=True)
class Span:
    """What one thread or process did from the common start to its own end."""

    start: float
    end: float
    done: int
    failed: int


@dataclass(frozen=True)
class Round:
    """The same work by many threads or processes at once; `cpu` includes what it left behind."""

    rate: float
    failed: int
    cpu: float


@contextmanager
def gc_paused() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def measure(bench: Bench, operation: Operation) -> Measurement:
    """Medians of samples taken in turn; the side that goes first alternates too."""
    theirs: list[float] = []
    ours: list[float] = []
    turns = [(bench.reference, theirs), (bench.ours, ours)]
    with gc_paused():
        for index in range(DROPPED + operation.samples):
            for side, times in turns:
                times.append(milliseconds(side, operation, index))
            turns.reverse()
    medians = (statistics.median(times[DROPPED:]) for times in (theirs, ours))
    return Measurement(operation.label, bench.tables, next(medians), next(medians))


def milliseconds(side: Side, operation: Operation, index: int) -> float:
    first = index * operation.repeat
    start = time.perf_counter()
    kept = [operation.call(side, first + step) for step in range(operation.repeat)]
    elapsed = time.perf_counter() - start
    del kept  # held until now, so that no destructor ran while the clock did
    return elapsed * 1000 / operation.repeat


Runner = Callable[[Bench, Side, int], Round]


def throughput(bench: Bench, contenders: dict[str, Side], run: Runner) -> list[Measurement]:
    """Each contender against the reference: medians over rounds taken in turn."""
    sides = [bench.reference, *contenders.values()]
    rounds: dict[Side, list[Round]] = {side: [] for side in sides}
    for number in range(bench.effort.rounds):
        for side in sides if number % 2 else reversed(sides):
            rounds[side].append(run(bench, side, number))
    theirs = rounds[bench.reference]
    results = []
    for label, side in contenders.items():
        results += compare(label, bench.tables, theirs, rounds[side])
    return results


def compare(
    label: str, tables: int, theirs: Sequence[Round], ours: Sequence[Round]
) -> list[Measurement]:
    rates = [statistics.median(each.rate for each in side) for side in (theirs, ours)]
    cpu = [statistics.median(each.cpu for each in side) for side in (theirs, ours)]
    failed = (sum(each.failed for each in theirs), sum(each.failed for each in ours))
    return [
        Measurement(label, tables, rates[0], rates[1], "/s", failed),
        Measurement(f"CPU of {label}", tables, cpu[0], cpu[1]),
    ]


def summed(spans: Sequence[Span], cpu: float) -> Round:
    wall = max(span.end for span in spans) - min(span.start for span in spans)
    done = sum(span.done for span in spans)
    return Round(done / wall, sum(span.failed for span in spans), cpu * 1000 / done)


def declare_many(
    namespace: LanceNamespace, prefix: str, count: int, start_line: threading.Barrier
) -> Span:
    failed = 0
    start_line.wait(timeout=120)
    start = time.monotonic()  # one clock for all processes of a machine
    for index in range(count):
        try:
            namespace.declare_table(DeclareTableRequest(id=[NAMESPACE, f"{prefix}-{index}"]))
        except LanceNamespaceError:
            failed += 1
    return Span(start, time.monotonic(), count - failed, failed)


def round_of_threads(bench: Bench, side: Side, number: int) -> Round:
    start_line = threading.Barrier(THREADS)
    count = bench.effort.declares_per_thread

    def work(worker: int) -> Span:
        return declare_many(side.namespace, f"thread-{number}-{worker}", count, start_line)

    with ThreadPoolExecutor(THREADS) as pool, gc_paused():
        before = time.process_time()
        spans = list(pool.map(work, range(THREADS)))
        side.settle()
        return summed(spans, time.process_time() - before)


@contextmanager
def process_pool() -> Iterator[Runner]:
    """A round of processes that are started once, since importing takes each of them seconds."""
    context = get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES, context) as pool:
        yield partial(round_of_processes, pool, manager.Barrier(PROCESSES))


def round_of_processes(
    pool: Executor, start_line: threading.Barrier, bench: Bench, side: Side, number: int
) -> Round:
    """Every job waits for all others at the start, so each process takes exactly one."""
    count = bench.effort.declares_per_process
    closed = replace(side)  # an open namespace does not travel
    jobs = [
        pool.submit(
            declare_in_process,
            closed,
            bench.tables,
            f"process-{number}-{worker}",
            count,
            start_line,
        )
        for worker in range(PROCESSES)
    ]
    spans, cpu = zip(*(job.result() for job in jobs), strict=True)
    return summed(spans, sum(cpu))


def declare_in_process(
    side: Side, tables: int, prefix: str, count: int, start_line: threading.Barrier
) -> tuple[Span, float]:
    warm_up(side.namespace, tables, f"{prefix}-warm")
    side.settle()
    with gc_paused():
        before = time.process_time()
        span = declare_many(side.namespace, prefix, count, start_line)
        side.settle()
        return span, time.process_time() - before
