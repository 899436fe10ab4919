"""The calls of a metastore, on a real one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lanceyard import errors
from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.client import BATCH, Metastore
from lanceyard.catalog.hive.metastore.records import (
    Column,
    DatabaseName,
    Formats,
    HiveCatalog,
    HiveDatabase,
    HiveTable,
)
from lanceyard.catalog.hive.tables import TEXT

LANCE = 'hive_filter_field_params__table_type = "lance"'


def is_hive_3(store: Metastore) -> bool:
    """Whether it is; Hive 2 says that it is 3.0, too."""
    return store.has_catalogs() and store.version().startswith("3.")


@pytest.fixture
def nowhere(where: DatabaseName) -> DatabaseName:
    """A database that is not there."""
    return replace(where, name="nowhere")


def test_a_database_is_read_as_it_was_created(store: Metastore, tmp_path: Path) -> None:
    where = DatabaseName("ours", "hive" if store.has_catalogs() else None)
    made = HiveDatabase(where, f"file:{tmp_path}/x", "words", {"a": "b"}, "ann")
    store.create_database(made)
    assert store.find_database(where) == made
    assert "ours" in store.database_names(where.catalog)
    store.drop_database(where)
    assert "ours" not in store.database_names(where.catalog)


def test_a_database_gets_other_parameters(store: Metastore, where: DatabaseName) -> None:
    found = store.find_database(where)
    store.alter_database(replace(found, parameters={"c": "d"}))
    assert store.find_database(where) == replace(found, parameters={"c": "d"})


def test_what_is_wrong_with_a_database_is_said(
    store: Metastore, where: DatabaseName, nowhere: DatabaseName, table: HiveTable
) -> None:
    with pytest.raises(failures.NoSuchObjectError):
        store.find_database(nowhere)
    with pytest.raises(failures.AlreadyExistsError, match=where.name):
        store.create_database(HiveDatabase(where))
    store.create_table(table)
    with pytest.raises(failures.InvalidOperationError, match="not empty"):
        store.drop_database(where)
    store.drop_database(where, cascade=True)


def test_a_table_is_read_as_it_was_created(store: Metastore, table: HiveTable) -> None:
    made = replace(
        table,
        owner="ann",
        columns=(Column("id", "bigint", "a number"), Column("name", "string")),
        formats=Formats("an.Input", "an.Output", "a.SerDe"),
    )
    store.create_table(made)
    found = store.find_table(table.where, "t")
    assert found.parameters.items() >= made.parameters.items()
    assert replace(found, parameters=made.parameters) == made


def test_a_table_may_be_where_only_others_can_look(store: Metastore, table: HiveTable) -> None:
    store.create_table(replace(table, location="s3://bucket/t"))
    assert store.find_table(table.where, "t").location == "s3://bucket/t"


def test_a_table_of_hives_own_kind_can_be_looked_up(store: Metastore, table: HiveTable) -> None:
    if not is_hive_3(store):
        pytest.skip("only Hive 3 lets others create such tables")
    kind = {"transactional": "true", "transactional_properties": "insert_only"}
    store.create_table(replace(table, parameters=kind, table_type="MANAGED_TABLE", formats=TEXT))
    assert store.find_table(table.where, "t").table_type == "MANAGED_TABLE"
    assert len(store.find_tables(table.where, ["t"])) == 1


def test_dropping_leaves_the_files(store: Metastore, table: HiveTable, tmp_path: Path) -> None:
    store.create_table(table)
    data = tmp_path / "t" / "data"
    data.write_text("rows")
    store.drop_table(table.where, "t")
    assert store.table_names(table.where) == []
    store.create_table(table)
    store.drop_database(table.where, cascade=True)
    assert data.read_text() == "rows"


def test_altering_changes_what_was_changed_alone(store: Metastore, table: HiveTable) -> None:
    store.create_table(table)
    found = store.find_table(table.where, "t")
    store.alter_table(table.where, "t", replace(found, parameters={**found.parameters, "a": "b"}))
    altered = store.find_table(table.where, "t")
    assert altered.parameters["a"] == "b"
    assert altered.location == found.location
    assert altered._origin.createTime == found._origin.createTime


def test_altering_the_name_renames(store: Metastore, table: HiveTable) -> None:
    store.create_table(table)
    store.create_table(replace(table, name="other"))
    with pytest.raises(failures.InvalidOperationError, match="exists"):
        store.alter_table(table.where, "t", replace(table, name="other"))
    store.alter_table(table.where, "t", replace(store.find_table(table.where, "t"), name="new"))
    assert store.table_names(table.where) == ["new", "other"]
    assert store.find_table(table.where, "new").location == table.location


def test_what_is_wrong_with_a_table_is_said(
    store: Metastore, where: DatabaseName, nowhere: DatabaseName, table: HiveTable
) -> None:
    store.create_table(table)
    with pytest.raises(failures.AlreadyExistsError):
        store.create_table(table)
    with pytest.raises(failures.InvalidObjectError):
        store.create_table(replace(table, where=nowhere))
    for missing in (where, nowhere):
        with pytest.raises(failures.NoSuchObjectError):
            store.find_table(missing, "missing")
    with pytest.raises(failures.NoSuchObjectError):
        store.drop_table(where, "missing")
    with pytest.raises(failures.InvalidOperationError, match="not found"):
        store.alter_table(where, "missing", table)


def test_what_nobody_translates_is_an_internal_error(store: Metastore, where: DatabaseName) -> None:
    with pytest.raises(errors.InternalError, match="the metastore says") as caught:
        store.find_table(where, "missing")
    assert caught.value.code == errors.ErrorCode.INTERNAL


def test_tables_are_found_by_their_parameters(store: Metastore, table: HiveTable) -> None:
    store.create_table(table)
    store.create_table(replace(table, name="other", parameters={"EXTERNAL": "TRUE"}))
    assert store.table_names(table.where) == ["other", "t"]
    assert store.filtered_table_names(table.where, LANCE) == ["t"]


def test_a_database_that_is_not_there_has_no_tables(
    store: Metastore, nowhere: DatabaseName
) -> None:
    assert store.table_names(nowhere) == []
    assert store.filtered_table_names(nowhere, LANCE) == []


def test_many_tables_are_looked_up_in_a_few_calls(store: Metastore, table: HiveTable) -> None:
    names = ["a", "b", "c"]
    for name in names:
        store.create_table(replace(table, name=name))
    asked = [*names, *(f"missing{n}" for n in range(BATCH))]
    assert sorted(each.name for each in store.find_tables(table.where, asked)) == names
    assert store.find_tables(table.where, []) == []


def test_a_swap_that_expects_something_else_fails(store: Metastore, table: HiveTable) -> None:
    if is_hive_3(store):
        pytest.skip("Hive 3 ignores what is expected")
    store.create_table(table)
    found = store.find_table(table.where, "t")
    second = replace(found, parameters={**found.parameters, "version": "2"})
    expected = {"expected_parameter_key": "version", "expected_parameter_value": "1"}
    store.alter_table(table.where, "t", second, expected)
    with pytest.raises(failures.MetaError, match="modified"):
        store.alter_table(table.where, "t", second, expected)


def test_one_lock_is_held_at_a_time(store: Metastore, table: HiveTable) -> None:
    if store.version().startswith("4."):
        pytest.skip("its database has no tables for locks")
    held, waiting = store.lock(table.where, "t"), store.lock(table.where, "t")
    assert (held.is_held, waiting.is_held) == (True, False)
    store.heartbeat(held)
    assert not store.check_lock(waiting).is_held
    store.unlock(held)
    assert store.check_lock(waiting).is_held
    store.unlock(waiting)
    store.unlock(waiting)
    with pytest.raises(failures.NoSuchLockError):
        store.check_lock(waiting)
    with pytest.raises(failures.NoSuchLockError):
        store.heartbeat(waiting)


def test_catalogs_are_there_from_hive_3_on(store: Metastore) -> None:
    if store.has_catalogs():
        assert "hive" in store.catalog_names()
    else:
        with pytest.raises(failures.UnknownMethodError):
            store.catalog_names()


def test_dropping_a_catalog_leaves_the_files(
    store: Metastore, table: HiveTable, tmp_path: Path
) -> None:
    if not store.has_catalogs():
        pytest.skip("Hive 2 has no catalogs")
    catalog = HiveCatalog(name="mine", location=f"file:{tmp_path}", description="words")
    store.create_catalog(catalog)
    assert store.find_catalog("mine") == catalog
    with pytest.raises(failures.AlreadyExistsError):
        store.create_catalog(catalog)
    where = DatabaseName("d", "mine")
    store.create_database(HiveDatabase(where, f"file:{tmp_path}/d"))
    assert sorted(store.database_names("mine")) == ["d", "default"]
    store.create_table(replace(table, where=where))
    assert store.find_table(where, "t").where == where
    (tmp_path / "t" / "data").write_text("rows")
    with pytest.raises(failures.InvalidOperationError):
        store.drop_catalog("mine")
    assert store.find_catalog("mine") == catalog
    store.drop_database(where, cascade=True)
    store.drop_catalog("mine")
    assert (tmp_path / "t" / "data").read_text() == "rows"
    with pytest.raises(failures.NoSuchObjectError):
        store.find_catalog("mine")
