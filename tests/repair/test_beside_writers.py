"""Repair again and again, while others create, change and drop tables."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.catalog.directory.manifest.relay import LOCK
from lanceyard.catalog.maintenance import RepairReport
from tests.crash.wreck import show
from tests.races.arena import MODES, RACERS, Processes, read
from tests.repair.audit import audit
from tests.repair.victims import WINDOW, Diary, Neighbour, Slow, work

SLOW = 2
LONGER_THAN_THE_WINDOW = float(WINDOW) + 0.2


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    started = Processes()
    yield started
    started.close()


class Repairs:
    """Repairs a root until it is told to stop."""

    def __init__(self, root: Path, mode: str) -> None:
        settings = {"window": WINDOW, "durability": "os", **MODES[mode]}
        self.yard = lanceyard.open(root, **settings)
        self.reports: list[RepairReport] = []

    def run(self, others: threading.Thread) -> None:
        """Repair again and again, as long as a thread is at work."""
        while others.is_alive():
            self.reports.append(self.yard.repair())

    def last(self, *, dry_run: bool = False) -> RepairReport:
        """Repair once more, when nobody has been at work for longer than the window."""
        time.sleep(LONGER_THAN_THE_WINDOW)
        return self.yard.repair(dry_run=dry_run, unreferenced_for=timedelta(0))


@pytest.mark.parametrize("mode", ["v2", "compat"])
@pytest.mark.parametrize("seconds", [6, pytest.param(50, marks=pytest.mark.deep)])
def test_repair_never_removes_what_one_of_eight_writers_is_making(
    processes: Processes, tmp_path: Path, mode: str, seconds: float
) -> None:
    root = tmp_path / "root"
    kinds = [Slow] * SLOW + [Neighbour] * (RACERS - SLOW)
    jobs = [partial(work, kind, str(root), mode, i, seconds) for i, kind in enumerate(kinds)]
    diaries: list[Diary] = []
    writers = threading.Thread(target=lambda: diaries.extend(processes.run(jobs)))
    repairs = Repairs(root, mode)
    writers.start()
    try:
        repairs.run(writers)
    finally:
        writers.join()
    found = [str(finding) for report in repairs.reports for finding in report.findings]

    assert [refusal for diary in diaries for refusal in diary.refusals] == [], found
    assert [report.failures for report in repairs.reports if report.failures] == []
    assert all(diary.deeds > 0 for diary in diaries), diaries
    tables = {name: content for diary in diaries for name, content in diary.world.tables.items()}
    hidden = {path: content for diary in diaries for path, content in diary.world.hidden.items()}
    spaces = {
        name: content for diary in diaries for name, content in diary.world.namespaces.items()
    }
    for report in (repairs.last(), repairs.last(dry_run=True)):
        assert show(root, mode) == (spaces, tables), found
        assert not report.failures, report
        assert not report.unchecked, report
    assert not report.findings, report.findings
    assert [*audit(root, mode, hidden)] == []


def test_repair_leaves_a_reservation_alone_whose_commit_has_to_wait(tmp_path: Path) -> None:
    yard = Repairs(tmp_path / "root", "v2").yard
    yard.create_namespace("ns")
    declare = partial(yard.namespace.declare_table, {"id": ["ns", "t"]})
    waiting = threading.Thread(target=declare)
    with (tmp_path / "root" / LOCK).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting.start()
        time.sleep(LONGER_THAN_THE_WINDOW)
        Repairs(tmp_path / "root", "v2").yard.repair()
    waiting.join()
    assert show(tmp_path / "root", "v2").tables == {"ns$t": (None, {})}
    yard.close()


def test_repair_leaves_alone_what_a_program_appends_that_knows_lance_only(tmp_path: Path) -> None:
    yard = Repairs(tmp_path / "root", "v2").yard
    yard.create_table("t", {"n": [1]})
    location = yard.namespace.describe_table({"id": ["t"]}).location
    schema = pa.schema({"n": pa.int64()})

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[2]], schema=schema)
        time.sleep(2 * LONGER_THAN_THE_WINDOW)
        yield pa.record_batch([[3]], schema=schema)

    rows = pa.RecordBatchReader.from_batches(schema, batches())
    append = partial(lance.write_dataset, rows, location, mode="append")
    with ThreadPoolExecutor(1) as pool:
        appended = pool.submit(append)
        while not appended.done():
            yard.repair()
    appended.result()
    assert read(location) == (1, 2, 3)
    yard.close()
