"""The bank: money moves between tables in transactions, and there is always as much of it."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from tests.transactions.conftest import open_yard
from tests.transactions.workers import ACCOUNTS, count_money, move_money

START = 100
BANKERS = 8
READERS = 1


def run_bank(root: Path, seconds: float) -> None:
    yard = open_yard(root)
    for name in ACCOUNTS:
        yard.create_table(name, {"money": [START]})
    spawn = multiprocessing.get_context("spawn")
    pipes, ends, workers = [], [], []
    for number in range(BANKERS + READERS):
        here, there = spawn.Pipe()
        is_banker = number < BANKERS
        args = (str(root), number, there) if is_banker else (str(root), there)
        workers.append(spawn.Process(target=move_money if is_banker else count_money, args=args))
        pipes.append(here)
        ends.append(there)
    for worker, end in zip(workers, ends, strict=True):
        worker.start()
        end.close()  # so that we notice if its owner dies
    for pipe in pipes:
        pipe.recv()
    for pipe in pipes:
        pipe.send(time.time() + seconds)
    results = [pipe.recv() for pipe in pipes]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    landed = sum(done for done, _ in results[:BANKERS])
    assert landed > 0
    for looks, sums in results[BANKERS:]:
        assert looks > 0
        assert sums == {START * len(ACCOUNTS)}
    total = sum(yard.table(name).read()["money"].to_pylist()[0] for name in ACCOUNTS)
    assert total == START * len(ACCOUNTS)
    versions = sum(yard.table(name).version for name in ACCOUNTS)
    assert versions == len(ACCOUNTS) + 2 * landed
    yard.close()


def test_the_sum_never_changes(tmp_path: Path) -> None:
    run_bank(tmp_path / "bank", 20.0)


@pytest.mark.deep
def test_the_sum_never_changes_for_long(tmp_path: Path) -> None:
    run_bank(tmp_path / "bank", 300.0)
