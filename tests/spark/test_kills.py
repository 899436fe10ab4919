"""``kill -9`` of drivers, executors and commits: all rows of a write are there, or none."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path

import lance
import pyarrow as pa
import pyspark
import pytest

import lanceyard
from lanceyard.spark.options import Options
from tests.spark.conftest import DEEP_KILLS, repeatedly
from tests.spark.victims import (
    FILES,
    PATIENCE,
    ROWS,
    Trap,
    TrappedSource,
    follow,
    kill,
    victim,
    write,
)

AFTERMATH = 0.3
"""Seconds: how long a victim may live on after it has come as far as it was to come."""
BATCHES = 3
FIRST = 2
"""The version on which the first batch lands: the table was made, and the query noted."""


@pytest.fixture
def trapped(spark):
    """The session of the tests, in which commits can be trapped."""
    spark.dataSource.register(TrappedSource)
    return spark


def runs(table):
    """The runs of which a table holds the rows, each of them whole and once."""
    place = Options.parse(table).reference.find()
    if place is None or place.is_empty:
        return set()
    dataset = lance.dataset(place.location)
    dataset.validate()
    found = defaultdict(list)
    for run, number, _ in zip(*dataset.to_table().to_pydict().values(), strict=True):
        found[run].append(number)
    assert all(sorted(numbers) == [*range(ROWS)] for numbers in found.values())
    return set(found)


def files(folder):
    """The data files of tables, without those of a catalog itself."""
    found = Path(folder).glob("**/data/*.lance")
    return [path for path in found if "__manifest" not in path.parts]


# At random moments.


@pytest.fixture
def table(request, tmp_path):
    """A table that does not exist yet, by the options that name it."""
    if request.param == "path":
        return {"path": str(tmp_path / "t.lance")}
    lanceyard.open(tmp_path / "yard", dir_listing_enabled="false")
    return {
        "catalog.root": str(tmp_path / "yard"),
        "catalog.dir_listing_enabled": "false",
        "table": "t",
    }


def kill_driver(chance, prey):
    """Kill the whole driver, its Python or its JVM."""
    way = chance.choice([prey.kill, prey.kill_python, prey.kill_java])
    print(way.__name__)
    way()


@pytest.mark.parametrize("table", ["catalog"], indirect=True)
@pytest.mark.parametrize("number", repeatedly())
def test_a_driver_that_is_killed_leaves_the_old_table_or_the_new_one(
    trapped, tmp_path, table, chance, number
):
    mode = chance.choice(["append", "append", "overwrite"])
    old = chance.choice([set(), {"old"}])
    for run in old:
        write(trapped, table, run)
    new = {"new"} if mode == "overwrite" else old | {"new"}
    before, moment, sign = len(files(tmp_path)), chance.randint(0, FILES), str(tmp_path / "sign")
    print(f"{mode} to {old}, killed after {moment} files")
    with victim("writer", "local[2]", json.dumps(table), "new", mode, sign) as prey:
        prey.wait_for_sign(sign)
        prey.wait_for(lambda: len(files(tmp_path)) - before >= moment)
        time.sleep(chance.uniform(0, AFTERMATH))
        kill_driver(chance, prey)
    left = runs(table)
    assert left in (old, new)
    write(trapped, table, "again")
    assert runs(table) == left | {"again"}


@pytest.mark.parametrize("table", ["path"], indirect=True)
@pytest.mark.parametrize("number", repeatedly())
def test_a_job_survives_the_death_of_an_executor(cluster, tmp_path, table, chance, number):
    moment, sign = chance.randrange(FILES), str(tmp_path / "sign")
    of = chance.choice(["CoarseGrainedExecutorBackend", "pyspark.daemon"])
    print(f"{of} killed after {moment} files")
    with victim("writer", cluster.url, json.dumps(table), "new", "append", sign) as prey:
        prey.wait_for_sign(sign)
        prey.wait_for(lambda: len(files(tmp_path)) >= moment)
        kill(chance.choice(cluster.parts.pids(of)))
        assert prey.wait() == 0, prey.told()
    assert runs(table) == {"new"}
    assert lance.dataset(table["path"]).version == 1


@pytest.mark.deep
def test_a_stream_that_is_killed_again_and_again_adds_each_row_once(trapped, tmp_path, chance):
    batches = make_source(tmp_path, 3 * DEEP_KILLS)
    for number in range(DEEP_KILLS):
        sign = str(tmp_path / f"sign{number}")
        moment = len(landed(tmp_path)) + chance.randint(0, 3)
        with victim("follower", str(tmp_path), sign) as prey:
            prey.wait_for_sign(sign)
            prey.wait_for(lambda moment=moment: len(landed(tmp_path)) >= moment)
            time.sleep(chance.uniform(0, AFTERMATH))
            kill_driver(chance, prey)
        assert landed(tmp_path) == batches[: len(landed(tmp_path))]
    finish(trapped, tmp_path)
    assert landed(tmp_path) == batches


in_batches = pytest.mark.skipif(
    pyspark.__version__.startswith("4.1."), reason="Spark 4.1 takes all there is as one batch"
)


def make_source(folder, count):
    """Fill a table with batches of numbers, each a fragment of its own."""
    batches = [[*range(10 * n, 10 * n + 10)] for n in range(count)]
    for batch in batches:
        numbers = pa.table({"n": pa.array(batch, pa.int64())})
        lance.write_dataset(numbers, str(folder / "source.lance"), mode="append")
    return batches


def landed(folder):
    """The batches in the sink, in their order."""
    if not [*folder.glob("sink.lance/_versions/*.manifest")]:
        return []
    dataset = lance.dataset(str(folder / "sink.lance"))
    dataset.validate()
    return [sorted(f.to_table()["n"].to_pylist()) for f in dataset.get_fragments()]


def finish(spark, folder):
    """Let the stream run to its end."""
    assert follow(spark, str(folder)).awaitTermination(PATIENCE)


# Right before and right after a commit, of a job and of a stream at once.


@in_batches
@pytest.mark.parametrize("table", ["path"], indirect=True)
@pytest.mark.parametrize(
    ("in_stream", "in_job"),
    [
        ("before 1", "after 1"),
        pytest.param("before 0", "before 1", marks=pytest.mark.deep),
        pytest.param("after 0", "after 1", marks=pytest.mark.deep),
        pytest.param("after 1", "before 1", marks=pytest.mark.deep),
        pytest.param("after 2", "after 1", marks=pytest.mark.deep),
    ],
)
def test_a_driver_that_is_killed_around_commits_can_be_started_again(
    trapped, tmp_path, table, in_stream, in_job
):
    batches = make_source(tmp_path, BATCHES)
    write(trapped, table, "old")
    moment, batch = in_stream.split()
    traps = [
        Trap(moment, int(batch) + FIRST, "hold", f"{tmp_path}/stream"),
        Trap.parse(f"{in_job} hold {tmp_path}/job"),
    ]
    whole = int(batch) + (moment == "after")
    left = {"old", "new"} if traps[1].moment == "after" else {"old"}
    options = json.dumps({**table, "trap": str(traps[1])})
    with victim("both", str(tmp_path), str(traps[0]), options, "new") as prey:
        prey.wait_for_sign(*(trap.sign for trap in traps))
        prey.kill(but=[trap.pid() for trap in traps])
        assert (landed(tmp_path), runs(table)) == (batches[:whole], left)
        finish(trapped, tmp_path)
        write(trapped, table, "again")
        assert (landed(tmp_path), runs(table)) == (batches, left | {"again"})
        # A commit that outlives its driver may still land, but not beside its repetition.
        for trap in traps:
            trap.release()
        prey.wait_for_all()
    assert (landed(tmp_path), runs(table)) == (batches, {"old", "new", "again"})


# Commits that fail: Spark then aborts the job.


@pytest.mark.parametrize(
    "table", ["catalog", pytest.param("path", marks=pytest.mark.deep)], indirect=True
)
def test_an_abort_deletes_nothing_that_a_version_needs(trapped, tmp_path, table):
    def fail(where, run, mode):
        trap = f"{where} fail {tmp_path}/{run}"
        with pytest.raises(Exception, match="trapped"):
            write(trapped, {**table, "trap": trap}, run, mode)
        return runs(table), len(files(tmp_path))

    assert fail("before 0", "a", "append") == (set(), 0)
    assert fail("after 0", "b", "append") == ({"b"}, FILES)
    assert fail("before 1", "c", "append") == ({"b"}, FILES)
    assert fail("after 1", "d", "append") == ({"b", "d"}, 2 * FILES)
    assert fail("before 2", "e", "overwrite") == ({"b", "d"}, 2 * FILES)
    assert fail("after 2", "f", "overwrite") == ({"f"}, 3 * FILES)


@in_batches
def test_a_stream_whose_commit_fails_though_it_lands_goes_on_after_it(trapped, tmp_path):
    batches = make_source(tmp_path, BATCHES)
    with pytest.raises(Exception, match="trapped after"):
        follow(
            trapped, str(tmp_path), trap=f"after {FIRST + 1} fail {tmp_path}/sign"
        ).awaitTermination()
    assert landed(tmp_path) == batches[:2]
    finish(trapped, tmp_path)
    assert landed(tmp_path) == batches
