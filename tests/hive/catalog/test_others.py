"""Tables and databases of other programs, and ours as those see them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lance_namespace.errors import ErrorCode

from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.records import (
    EXTERNAL_TABLE,
    Column,
    DatabaseName,
    Formats,
    HiveDatabase,
    HiveTable,
)
from lanceyard.catalog.hive.tables import LanceTable
from lanceyard.identifier import Identifier
from tests.conformance.kit import refused, write_lance

from .tables import create, location, names, rows

JAVA = Formats(
    "com.lancedb.lance.mapred.LanceInputFormat", "com.lancedb.lance.Output", "x.LanceSerDe"
)
"""The classes that the official implementation in Java names."""
PARAMETERS = {
    "official Java": {"table_type": "lance", "managed_by": "storage"},
    "official Python": {"table_type": "lance", "managed_by": "storage", "empty_table": "true"},
    "in capitals": {"table_type": "LANCE"},
    "external": {"table_type": "Lance", "EXTERNAL": "TRUE", "owner_team": "ml"},
}


def put(
    metastore: Metastore,
    where: DatabaseName,
    place: Path,
    parameters: Mapping[str, str],
    formats: Formats | None = JAVA,
) -> None:
    """Create a table as another program does."""
    table = HiveTable(
        where, "t", f"file:{place}", parameters, EXTERNAL_TABLE, "somebody", formats=formats
    )
    metastore.create_table(table)


@pytest.fixture(params=PARAMETERS.values(), ids=PARAMETERS.keys())
def theirs(
    request: pytest.FixtureRequest,
    metastore: Metastore,
    where: DatabaseName,
    home: list[str],
    tmp_path: Path,
) -> list[str]:
    """A Lance table of another program, with 1 and 2 in it."""
    put(metastore, where, write_lance(tmp_path / "theirs", 1, 2), request.param)
    return [*home, "t"]


def test_a_lance_table_of_others_is_listed_and_read(
    ns: Any, home: list[str], theirs: list[str]
) -> None:
    assert (names(ns, home), rows(ns, theirs)) == (["t"], [1, 2])


def test_its_parameters_are_its_properties_but_for_those_of_hive(
    ns: Any, theirs: list[str]
) -> None:
    properties = ns.describe_table({"id": theirs}).properties
    assert properties in ({}, {"owner_team": "ml"})


def test_it_can_be_renamed_and_stays_where_it_lies(
    ns: Any, home: list[str], theirs: list[str], tmp_path: Path
) -> None:
    ns.rename_table({"id": theirs, "new_table_name": "renamed"})
    assert location(ns, [*home, "renamed"]) == tmp_path / "theirs"
    assert rows(ns, [*home, "renamed"]) == [1, 2]


def test_its_properties_can_be_altered_and_nothing_else_changes(
    ns: Any, metastore: Metastore, where: DatabaseName, theirs: list[str]
) -> None:
    before = metastore.find_table(where, "t")
    ns.alter_table({"id": theirs, "set": {"k": "v"}})
    after = metastore.find_table(where, "t")
    assert (after.formats, after.owner, after.location) == (
        before.formats,
        before.owner,
        before.location,
    )
    assert ns.describe_table({"id": theirs}).properties["k"] == "v"


def test_dropping_it_deletes_its_data(ns: Any, theirs: list[str], tmp_path: Path) -> None:
    ns.drop_table({"id": theirs})
    assert not (tmp_path / "theirs").exists()


def test_deregistering_it_keeps_its_data(ns: Any, theirs: list[str], tmp_path: Path) -> None:
    ns.deregister_table({"id": theirs})
    assert (tmp_path / "theirs" / "_versions").is_dir()


def test_overwriting_it_makes_it_ours(
    ns: Any, metastore: Metastore, where: DatabaseName, theirs: list[str], tmp_path: Path
) -> None:
    create(ns, theirs, 9, mode="overwrite")
    assert (rows(ns, theirs), (tmp_path / "theirs").exists()) == ([9], False)
    assert metastore.find_table(where, "t").parameters["EXTERNAL"] == "TRUE"


@pytest.fixture
def text(metastore: Metastore, where: DatabaseName, home: list[str], tmp_path: Path) -> list[str]:
    """A table of another program that is not a Lance table."""
    (tmp_path / "text").mkdir()
    put(metastore, where, tmp_path / "text", {"EXTERNAL": "TRUE"}, None)
    return [*home, "t"]


def test_a_table_of_another_format_is_not_listed(ns: Any, home: list[str], text: list[str]) -> None:
    assert names(ns, home) == ns.list_all_tables({}).tables == []


@pytest.mark.parametrize("operation", ["describe_table", "drop_table", "deregister_table"])
def test_a_table_of_another_format_is_refused(ns: Any, text: list[str], operation: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        getattr(ns, operation)({"id": text})


def test_a_database_with_tables_of_another_format_is_not_dropped(
    ns: Any, metastore: Metastore, where: DatabaseName, home: list[str], text: list[str]
) -> None:
    create(ns, [*home, "ours"], 1)
    for behavior in ("restrict", "cascade"):
        with refused(ErrorCode.NAMESPACE_NOT_EMPTY):
            ns.drop_namespace({"id": home, "behavior": behavior})
    assert sorted(metastore.table_names(where)) == ["ours", "t"]


def test_what_is_ours_is_external_and_has_classes_that_everybody_has(
    ns: Any, metastore: Metastore, where: DatabaseName, home: list[str]
) -> None:
    place = create(ns, [*home, "t"], 1, properties={"k": "v"})
    record = metastore.find_table(where, "t")
    said = {name: record.parameters[name] for name in ("EXTERNAL", "table_type", "managed_by", "k")}
    assert said == {"EXTERNAL": "TRUE", "table_type": "lance", "managed_by": "storage", "k": "v"}
    assert (record.table_type, record.location) == (EXTERNAL_TABLE, f"file:{place}")
    assert record.columns == (Column("__placeholder_id", "bigint", record.columns[0].comment),)
    assert record.formats is not None
    assert record.formats.input == "org.apache.hadoop.mapred.TextInputFormat"


def test_a_drop_by_others_leaves_the_data(
    ns: Any, metastore: Metastore, where: DatabaseName, home: list[str]
) -> None:
    place = create(ns, [*home, "t"], 1)
    metastore.drop_database(where, cascade=True)
    assert (place / "_versions").is_dir()


@pytest.mark.parametrize(
    "given",
    [
        {"comment": "wares", "owner": "ml"},
        {"database.description": "wares", "database.owner": "ml", "database.owner-type": "ROLE"},
    ],
    ids=["Python's names", "Java's names"],
)
def test_properties_of_a_database_mean_its_fields(
    ns: Any, metastore: Metastore, where: DatabaseName, home: list[str], given: dict[str, str]
) -> None:
    ns.drop_namespace({"id": home})
    ns.create_namespace({"id": home, "properties": given})
    found = metastore.find_database(where)
    assert (found.description, found.owner) == ("wares", "ml")
    assert found.owner_type == (2 if "database.owner-type" in given else 1)
    assert ns.describe_namespace({"id": home}).properties == given


def test_a_database_of_others_tells_its_fields_under_all_names(
    ns: Any, metastore: Metastore, where: DatabaseName, tmp_path: Path
) -> None:
    metastore.create_database(
        HiveDatabase(where, f"file:{tmp_path}/theirs", "wares", {"k": "v"}, "ml")
    )
    identifier = [*([where.catalog] if where.catalog else []), where.name]
    assert ns.describe_namespace({"id": identifier}).properties == {
        "comment": "wares",
        "database.description": "wares",
        "location": f"{tmp_path}/theirs",
        "database.location-uri": f"{tmp_path}/theirs",
        "owner": "ml",
        "database.owner": "ml",
        "k": "v",
    }


def test_without_a_root_tables_go_where_their_database_is(
    open_hive: Any, home: list[str], hive: Any
) -> None:
    from lanceyard import HiveNamespace

    rootless = HiveNamespace(uri=hive.uri)
    rootless.drop_namespace({"id": home})
    rootless.create_namespace({"id": home})
    place = create(rootless, [*home, "t"], 1)
    rootless.close()
    assert place.parent.name == f"{home[-1]}.db.tables"
    assert hive.warehouse in place.parents


@pytest.mark.parametrize(
    "properties",
    [
        {"EXTERNAL": "FALSE"},
        {"table_type": "iceberg"},
        {"lanceyard_change": "x"},
        {"k": "x" * 4_000},
        {"k": "😀" * 2_000},
        {"x" * 257: "v"},
        {"": "v"},
        {"k": "a\0b"},
    ],
    ids=lambda given: next(iter(given))[:9] or "empty",
)
def test_properties_that_hive_cannot_hold_are_refused(
    ns: Any, home: list[str], properties: dict[str, str]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        ns.declare_table({"id": [*home, "t"], "properties": properties})
    assert names(ns, home) == []


def test_properties_as_large_as_hive_holds_go_round(ns: Any, home: list[str]) -> None:
    properties = {"k": "x" * 3_999, "x" * 256: "é"}
    create(ns, [*home, "t"], 1, properties=properties)
    assert ns.describe_table({"id": [*home, "t"]}).properties == properties


def test_hive_has_no_tables_outside_databases(ns: Any, home: list[str]) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        ns.declare_table({"id": [*home[:-1], "t"]})
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        ns.declare_table({"id": home})
    with refused(ErrorCode.TABLE_NOT_FOUND):
        ns.describe_table({"id": [*home[:-1], "t"]})


@pytest.mark.parametrize("behavior", ["restrict", "cascade"])
def test_the_default_database_and_what_is_in_it_cannot_be_dropped(
    ns: Any, home: list[str], behavior: str
) -> None:
    default = [*home[:-1], "default"]
    place = create(ns, [*default, home[-1]], 1)
    with refused(ErrorCode.INVALID_INPUT):
        ns.drop_namespace({"id": default, "behavior": behavior})
    with refused(ErrorCode.INVALID_INPUT):
        ns.create_namespace({"id": default, "mode": "overwrite"})
    assert place.exists()
    ns.drop_table({"id": [*default, home[-1]]})


def test_a_directory_that_holds_more_than_a_lance_table_is_spared(
    ns: Any, metastore: Metastore, where: DatabaseName, home: list[str], tmp_path: Path
) -> None:
    """Others say where their tables lie: perhaps around everything that somebody has."""
    write_lance(tmp_path / "theirs", 1)
    (tmp_path / "theirs" / "thesis.txt").write_text("years of work")
    put(metastore, where, tmp_path / "theirs", {"table_type": "lance", "EXTERNAL": "TRUE"})
    ns.drop_table({"id": [*home, "t"]})
    assert (names(ns, home), (tmp_path / "theirs" / "thesis.txt").exists()) == ([], True)


@pytest.mark.parametrize("place", [None, "", "file:/", "file:///", "s3://bucket", "s3a://bucket/"])
def test_a_table_all_over_a_disk_or_bucket_is_neither_read_nor_written(place: str | None) -> None:
    """Hive 4 does not let anybody create such; older ones do."""
    record = HiveTable(DatabaseName("d"), "t", place, {"table_type": "lance", "EXTERNAL": "TRUE"})
    with refused(ErrorCode.INVALID_TABLE_STATE):
        LanceTable.of(Identifier(("d", "t")), record)
