"""``kill -9`` in the middle of UPDATE and MERGE: all of it or nothing, and no litter."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

import lanceyard
from lanceyard.yard import Table
from tests.spark.clusters import Cluster
from tests.spark.conftest import DEEP_KILLS
from tests.spark.sql.conftest import Sql
from tests.spark.sql.victims import MODULE, NEW, OLD, STATEMENTS, make, rows, slowly, strike_with
from tests.spark.victims import Victim, kill, victim

BUSY, LANDING = 4.0, 3.0
"""Seconds: about as long as a statement takes, and from its first file to its end."""


@pytest.fixture
def table(sql: Sql) -> Table:
    """The table that statements change."""
    sql("DROP NAMESPACE yard.a")
    return make(sql.root)


def check_clean(root: Path, table: Table) -> None:
    """A repair leaves the files that versions of the table refer to, and no others."""
    old = time.time() - 3600
    for path in Path(table.location).rglob("*"):
        os.utime(path, (old, old))
    with lanceyard.open(str(root)) as yard:
        yard.repair(unreferenced_for=timedelta(minutes=1))
        assert not yard.repair(unreferenced_for=timedelta(minutes=1)).findings
    versions = [table.to_lance(each.version) for each in table.versions()]
    held = [fragment for version in versions for fragment in version.get_fragments()]
    assert {path.name for path in files(table)} == {
        file.path for fragment in held for file in fragment.metadata.files
    }


def files(table: Table) -> set[Path]:
    """The files that hold rows, of a version or of none."""
    return {*Path(table.location, "data").iterdir()}


def wait_for_moment(prey: Victim, table: Table, chance: Random) -> None:
    """Wait until a statement has come somewhere, or until it is about to land."""
    there = files(table)
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, BUSY))
    else:
        prey.wait_for(lambda: files(table) > there)
        time.sleep(chance.uniform(0, LANDING))


def deadly(mark: str, moment: int) -> Callable[[int], int]:
    """Kills the process that comes to a certain row first."""

    def strike(number: int) -> int:
        if number == moment:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return number
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    return strike


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_worker_that_is_killed_leaves_the_old_table(
    sql: Sql, table: Table, tmp_path: Path, chance: Random, statement: str
):
    version, moment = table.version, chance.randrange(200, 400, 2)
    strike_with(sql.spark, deadly(str(tmp_path / "mark"), moment))
    with pytest.raises(Exception, match="crashed"):  # a local session does not try again
        sql(STATEMENTS[statement])
    assert (table.version, rows(table)) == (version, OLD)
    sql(STATEMENTS[statement])
    assert (table.version, rows(table)) == (version + 1, NEW[statement])
    check_clean(sql.root, table)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(DEEP_KILLS))
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_survives_the_death_of_an_executor(
    cluster: Cluster, tmp_path: Path, chance: Random, statement: str, number: int
):
    root, sign = tmp_path / "yard", str(tmp_path / "sign")
    table = make(root)
    version = table.version
    of = chance.choice(["CoarseGrainedExecutorBackend", "pyspark.daemon"])
    with victim("change", statement, cluster.url, str(root), sign, module=MODULE) as prey:
        prey.wait_for_sign(sign)
        wait_for_moment(prey, table, chance)
        for pid in cluster.parts.pids(of)[:1]:
            kill(pid)
        assert prey.wait() == 0, prey.told()
    assert (table.version, rows(table)) == (version + 1, NEW[statement])
    check_clean(root, table)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(DEEP_KILLS))
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_driver_that_is_killed_has_changed_all_rows_or_none(
    sql: Sql, table: Table, tmp_path: Path, chance: Random, statement: str, number: int
):
    version, sign = table.version, str(tmp_path / "sign")
    with victim("change", statement, "local[2]", str(sql.root), sign, module=MODULE) as prey:
        prey.wait_for_sign(sign)
        wait_for_moment(prey, table, chance)
        chance.choice([prey.kill, prey.kill_python, prey.kill_java])()
    has_landed = table.version > version
    print(f"landed: {has_landed}")
    assert rows(table) == (NEW[statement] if has_landed else OLD)
    if not has_landed:
        strike_with(sql.spark, slowly())
        sql(STATEMENTS[statement])
    assert (table.version, rows(table)) == (version + 1, NEW[statement])
    check_clean(sql.root, table)
