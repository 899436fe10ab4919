"""``kill -9`` in the middle of maintenance: the right table or the old one, and no litter."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from lanceyard.spark.maintenance import silent, sweep
from lanceyard.spark.maintenance.scope import Scope
from lanceyard.spark.maintenance.work import carry_out
from tests.spark.conftest import DEEP_KILLS, repeatedly
from tests.spark.maintenance.conftest import ROWS
from tests.spark.maintenance.victims import MODULE, deadly, works
from tests.spark.victims import kill, victim

OPERATIONS = ["compact", "index", "backfill"]


def check(table, operation, fragments):
    """The operation was done, once, and no row is lost."""
    dataset = table.to_lance()
    dataset.validate()
    assert sorted(table.read()["id"].to_pylist()) == [*range(fragments * ROWS)]
    if operation == "compact":
        assert len(dataset.get_fragments()) == fragments // 2
    if operation == "index":
        assert dataset.describe_indices()[0].num_rows_indexed == fragments * ROWS
    if operation == "backfill":
        assert table.read()["twice"].null_count == 0


def check_clean(spark, catalog, table):
    """A sweep leaves the files that the versions of the table refer to, and no others."""
    old = time.time() - 3600
    for path in Path(table.location).rglob("*"):
        os.utime(path, (old, old))
    sweep(spark, "t", catalog=catalog.properties, older_than=timedelta(minutes=1), progress=silent)
    data = {path.name for path in Path(table.location, "data").iterdir()}
    versions = [table.to_lance(each.version) for each in table.versions()]
    fragments = [fragment for version in versions for fragment in version.get_fragments()]
    assert data == {file.path for fragment in fragments for file in fragment.metadata.files}
    found = catalog.yard.repair(unreferenced_for=timedelta(minutes=1)).findings
    assert not found


def run(spark, catalog, operation, mark, moment):
    """Carry out an operation in which one task kills its process."""

    def begin(reference, place):
        return deadly(works(reference, place)[operation], mark, moment)

    scope = Scope.read("t", catalog.properties)
    return carry_out(spark, operation, scope, begin, dry_run=False, progress=silent)


@pytest.mark.parametrize("number", repeatedly())
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_worker_that_is_killed_leaves_the_old_table(
    spark, catalog, tmp_path, chance, operation, number
):
    table, mark = catalog.make("t"), str(tmp_path / "mark")
    moment = chance.choice(["before", "after"])
    print(moment)
    before, version = table.read(), table.version
    with pytest.raises(Py4JJavaError, match="crashed"):  # a local session does not try again
        run(spark, catalog, operation, mark, moment)
    assert table.version == version
    assert table.read().equals(before)
    run(spark, catalog, operation, mark, moment)
    check(table, operation, 6)
    check_clean(spark, catalog, table)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(DEEP_KILLS))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_maintenance_survives_the_death_of_an_executor(
    spark, cluster, catalog, tmp_path, chance, operation, number
):
    table, sign = catalog.make("t", 20), str(tmp_path / "sign")
    of = chance.choice(["CoarseGrainedExecutorBackend", "pyspark.daemon"])
    arguments = (operation, cluster.url, json.dumps(catalog.properties), sign)
    with victim("maintain", *arguments, module=MODULE) as prey:
        prey.wait_for_sign(sign)
        time.sleep(chance.uniform(0, 3))
        found = cluster.parts.pids(of)
        if found:
            kill(chance.choice(found))
        assert prey.wait() == 0, prey.told()
    check(table, operation, 20)
    check_clean(spark, catalog, table)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(DEEP_KILLS))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_driver_that_is_killed_leaves_the_old_table_or_the_new_one(
    spark, catalog, tmp_path, chance, operation, number
):
    table, sign = catalog.make("t", 20), str(tmp_path / "sign")
    arguments = (operation, "local[2]", json.dumps(catalog.properties), sign)
    with victim("maintain", *arguments, module=MODULE) as prey:
        prey.wait_for_sign(sign)
        time.sleep(chance.uniform(0, 4))
        prey.kill()
    assert sorted(table.read()["id"].to_pylist()) == [*range(20 * ROWS)]
    again = (*arguments[:3], str(tmp_path / "again"))
    with victim("maintain", *again, module=MODULE) as prey:
        finished = prey.wait()
        told = prey.told()
    assert finished == 0 or (operation == "index" and "has an index 'id_idx' already" in told)
    check(table, operation, 20)
    check_clean(spark, catalog, table)
