"""Back-fills on executors: columns from SQL and functions, resumed and beside writers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lanceyard import errors
from lanceyard.spark.maintenance import backfill, silent
from lanceyard.spark.maintenance.records import Records
from tests.spark.maintenance.conftest import ROWS, meanwhile, rows


@pytest.mark.parametrize("catalog", ["managed", "plain"], indirect=True)
def test_a_new_column_from_sql_equals_that_of_one_process(spark, catalog):
    table, other = catalog.make("t"), catalog.make("other")
    for each in (table, other):
        each.delete("id % 50 = 3")
    report = backfill(spark, "t", {"twice": "k * 2"}, catalog=catalog.properties)
    other.add_columns({"twice": "k * 2"})
    assert table.read().equals(other.read())
    assert report.tables[0].version == table.version
    table.to_lance().validate()


def test_new_columns_come_from_a_function(spark, catalog):
    table = catalog.make("t")
    offset = 1000

    def shifted(batch):
        pair = pa.StructArray.from_arrays([batch["k"], batch["id"]], ["a", "b"])
        text = batch["id"].cast("string")
        return {"t": text, "id2": pc.add(batch["id"], offset), "pair": pair, "v2": batch["v"]}

    backfill(spark, "t", shifted, catalog=catalog.properties, reads=["v", "id", "k"])
    found = table.read()
    assert found["id2"].to_pylist() == [number + 1000 for number in found["id"].to_pylist()]
    assert found["t"].to_pylist() == [str(number) for number in found["id"].to_pylist()]
    assert found["v2"].equals(found["v"])
    expected = zip(found["k"].to_pylist(), found["id"].to_pylist(), strict=True)
    assert found["pair"].to_pylist() == [{"a": k, "b": number} for k, number in expected]


@pytest.mark.parametrize("values", [{"k": "k + 1000"}, lambda b: {"k": pc.add(b["k"], 1000)}])
def test_an_existing_column_gets_new_values_and_its_index_knows(spark, catalog, values):
    table = catalog.make("t")
    table.index("k")
    table.index("id")
    before = table.read()
    backfill(spark, "t", values, catalog=catalog.properties)
    found = table.read()
    assert found.schema == before.schema
    assert found["k"].to_pylist() == [k + 1000 for k in before["k"].to_pylist()]
    assert found.drop_columns("k").equals(before.drop_columns("k"))
    assert (table.count("k = 1005"), table.count("k = 5"), table.count("id = 7")) == (12, 0, 1)
    table.to_lance().optimize.compact_files()
    assert table.read().equals(found)


def test_a_dry_run_changes_nothing(spark, catalog):
    catalog.make("t")
    before = catalog.files()
    report = backfill(spark, "t", {"twice": "k * 2"}, catalog=catalog.properties, dry_run=True)
    assert catalog.files() == before
    assert report.plan.fragments == 6
    assert "add twice" in str(report)


@pytest.mark.parametrize("column", ["twice", "k"])
def test_appends_and_deletes_go_on_during_a_back_fill(spark, catalog, column):
    table = catalog.make("t")

    def write(turn):
        if turn < 5:
            table.append(rows(10_000 + turn, 1))
            table.delete(f"id = {turn}")

    with meanwhile(write) as turns:
        values = {column: "CAST(id * 2 AS INT)"}
        backfill(spark, "t", values, catalog=catalog.properties, tasks=2)
    done = [turn for turn in turns if turn < 5]
    found = table.read(["id", column])
    late = [10_000 + turn for turn in done]
    assert sorted(found["id"].to_pylist()) == [*range(len(done), 6 * ROWS), *late]
    for number, value in zip(*found.to_pydict().values(), strict=True):
        # Rows that came after the commit do not have a value of it.
        assert value == number * 2 or number in late


def test_only_fragments_that_came_meanwhile_are_computed_again(spark, catalog):
    table, totals = catalog.make("t"), []

    def append_once(progress):
        if not totals:
            table.append(rows(10_000, 10))
        if progress.done == progress.total:
            totals.append(progress.total)

    options = {"tasks": 6, "progress": append_once}
    report = backfill(spark, "t", {"twice": "id * 2"}, catalog=catalog.properties, **options)
    assert report.tables[0].conflicts == 1
    assert totals[-1] == 1
    found = table.read()
    assert found["twice"].equals(pc.multiply(found["id"], 2))


def test_a_run_goes_on_where_another_was_interrupted(spark, catalog, tmp_path):
    table, marks = catalog.make("t"), tmp_path / "marks"
    marks.mkdir()

    def counted(batch):
        first = batch["id"][0].as_py()
        if first == 4 * ROWS and not (marks / "allowed").exists():
            raise KeyError("not this one")
        (marks / f"{first}-{len([*marks.iterdir()])}").touch()
        return {"twice": pc.multiply(batch["id"], 2)}

    asked = {
        "catalog": catalog.properties,
        "schema": pa.schema([("twice", pa.int64())]),
        "reads": ["id"],
        "progress": silent,
    }
    version = table.version
    with pytest.raises(KeyError, match="not this one"):
        backfill(spark, "t", counted, **asked)
    assert table.version == version
    (marks / "allowed").touch()
    report = backfill(spark, "t", counted, **asked)
    runs = [path.name.split("-")[0] for path in marks.iterdir() if path.name != "allowed"]
    assert sorted(map(int, runs)) == [number * ROWS for number in range(6)]
    assert "by an earlier run" in str(report)
    assert table.read()["twice"].to_pylist() == [2 * n for n in table.read()["id"].to_pylist()]
    assert not [path for path in catalog.files() if "backfill" in str(path)]


def test_a_commit_that_landed_is_not_done_again(spark, catalog, monkeypatch):
    table = catalog.make("t")
    values = {"k": "k + 1000"}
    with monkeypatch.context() as patch:
        patch.setattr(Records, "forget", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            backfill(spark, "t", values, catalog=catalog.properties)
    report = backfill(spark, "t", values, catalog=catalog.properties)
    assert table.read()["k"].to_pylist()[:3] == [1000, 1001, 1002]
    assert len(report.tables) == 1
    backfill(spark, "t", values, catalog=catalog.properties)
    assert table.read()["k"].to_pylist()[:3] == [2000, 2001, 2002]


def test_what_came_after_a_commit_that_landed_is_filled_too(spark, catalog, monkeypatch):
    table = catalog.make("t", 2)
    asked = {"catalog": catalog.properties, "only_missing": True}
    with monkeypatch.context() as patch:
        patch.setattr(Records, "forget", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            backfill(spark, "t", {"twice": "id * 2"}, **asked)
    table.append(rows(10_000, 5))
    backfill(spark, "t", {"twice": "id * 2"}, **asked)
    assert table.read()["twice"].equals(pc.multiply(table.read()["id"], 2))


def _interrupted(_):
    raise KeyboardInterrupt


def test_only_fragments_without_the_column_are_filled(spark, catalog):
    table = catalog.make("t", 2)
    backfill(spark, "t", {"twice": "id * 2"}, catalog=catalog.properties)
    table.append(rows(10_000, 5))
    assert table.read()["twice"].null_count == 5
    asked = {"catalog": catalog.properties, "only_missing": True}
    report = backfill(spark, "t", {"twice": "id * 2"}, **asked)
    assert report.plan.fragments == 1
    assert table.read()["twice"].equals(pc.multiply(table.read()["id"], 2))
    assert not backfill(spark, "t", {"twice": "id * 2"}, **asked).tables


def test_mistakes_are_told_and_change_nothing(spark, catalog):
    table = catalog.make("t", 2)
    version = table.version
    mistakes = [
        ({"x": "nothing + 1"}, errors.TableColumnNotFoundError, "nothing"),
        ({"x": "k", "k": "1"}, errors.InvalidInputError, "one after the other"),
        ({"v": "k"}, errors.InvalidInputError, "cast it"),
        (lambda batch: batch["k"], errors.InvalidInputError, "dict of arrays"),
        (lambda batch: {"x": batch["k"][:1]}, errors.InvalidInputError, "1 rows for 200"),
        ({}, errors.InvalidInputError, "which column"),
    ]
    for values, error, text in mistakes:
        with pytest.raises(error, match=text):
            backfill(spark, "t", values, catalog=catalog.properties, progress=silent)
    assert table.version == version
