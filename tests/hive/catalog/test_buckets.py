"""Names in a metastore, data in a bucket."""

from __future__ import annotations

import time
from typing import Any

import obstore
import pytest

from tests.cloud import bucket
from tests.cloud.paths import ObjectPath
from tests.conformance.kit import numbers, stream

from .conftest import Open
from .tables import append, names, rows


@pytest.fixture(params=["storage", "impl"])
def catalog(open_hive: Open, request: pytest.FixtureRequest) -> Any:
    """A catalog whose root is in a bucket; versions are managed there, or by the metastore."""
    return open_hive(
        root=bucket.fresh_root(), managed_by=request.param, window="1", **bucket.storage()
    )


@pytest.fixture
def home(catalog: Any, where: Any) -> list[str]:
    """A new database, as a namespace."""
    identifier = [*([where.catalog] if where.catalog else []), where.name]
    catalog.create_namespace({"id": identifier})
    return identifier


def test_tables_are_created_appended_to_renamed_and_dropped(catalog: Any, home: list[str]) -> None:
    table, renamed = [*home, "t"], [*home, "u"]
    made = catalog.create_table({"id": table}, stream(numbers(1, 2)))
    place = ObjectPath.of(made.location)
    append(catalog, table, 3)
    assert rows(catalog, table) == [1, 2, 3]
    versions = catalog.list_table_versions({"id": table}).versions
    assert sorted(each.version for each in versions) == [1, 2]
    catalog.rename_table({"id": table, "new_table_name": "u"})
    assert ObjectPath.of(catalog.describe_table({"id": renamed}).location) == place
    append(catalog, renamed, 4)
    assert rows(catalog, renamed) == [1, 2, 3, 4]
    catalog.drop_table({"id": renamed})
    assert names(catalog, home) == []
    assert not place.exists()


def test_a_declared_table_is_filled_where_it_was_declared(catalog: Any, home: list[str]) -> None:
    table = [*home, "t"]
    declared = catalog.declare_table({"id": table})
    append(catalog, table, 1)
    assert catalog.describe_table({"id": table}).location == declared.location
    assert rows(catalog, table) == [1]


def test_what_no_table_refers_to_goes_by_repair(catalog: Any, home: list[str]) -> None:
    catalog.create_table({"id": [*home, "t"]}, stream(numbers(1)))
    place = ObjectPath.of(catalog.describe_table({"id": [*home, "t"]}).location)
    orphan = place.with_name("0badcafe_orphan")
    obstore.put(bucket.objects(), f"{orphan.key}/data/1.lance", b"")
    time.sleep(1.5)
    found = catalog.repair(dry_run=False).findings
    assert [finding.path.rpartition("/")[2] for finding in found] == [orphan.name]
    assert not orphan.exists()
    assert rows(catalog, [*home, "t"]) == [1]
