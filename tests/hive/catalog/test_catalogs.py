"""The catalogs of Hive 3 and newer: a level of namespaces above databases."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from lance_namespace.errors import ErrorCode

from lanceyard.catalog.hive.metastore.client import Metastore
from tests.conformance.kit import refused

from .tables import create, names, rows


@pytest.fixture
def catalog(ns: Any, metastore: Metastore) -> Iterator[list[str]]:
    """A catalog that is new."""
    if not metastore.has_catalogs():
        pytest.skip("Hive 2 has no catalogs")
    identifier = [f"c{uuid.uuid4().hex[:10]}"]
    ns.create_namespace({"id": identifier, "properties": {"description": "a second one"}})
    yield identifier
    if identifier[0] in metastore.catalog_names():
        ns.drop_namespace({"id": identifier, "behavior": "cascade"})


def test_a_catalog_is_a_namespace_of_namespaces(ns: Any, catalog: list[str]) -> None:
    assert catalog[0] in ns.list_namespaces({"id": []}).namespaces
    assert ns.list_namespaces({"id": catalog}).namespaces == ["default"]
    assert ns.describe_namespace({"id": catalog}).properties["description"] == "a second one"
    with refused(ErrorCode.NAMESPACE_ALREADY_EXISTS):
        ns.create_namespace({"id": catalog})


def test_equal_names_in_two_catalogs_are_two_tables(
    ns: Any, catalog: list[str], home: list[str]
) -> None:
    other = [*catalog, home[-1]]
    ns.create_namespace({"id": other})
    places = {create(ns, [*home, "t"], 1), create(ns, [*other, "t"], 2)}
    assert (rows(ns, [*home, "t"]), rows(ns, [*other, "t"]), len(places)) == ([1], [2], 2)


def test_a_catalog_is_dropped_when_it_is_empty_or_with_all_that_is_in_it(
    ns: Any, catalog: list[str]
) -> None:
    ns.create_namespace({"id": [*catalog, "d"]})
    places = [create(ns, [*catalog, each, "t"], 1) for each in ("d", "default")]
    with refused(ErrorCode.NAMESPACE_NOT_EMPTY):
        ns.drop_namespace({"id": catalog})
    ns.drop_namespace({"id": catalog, "behavior": "cascade"})
    assert catalog[0] not in ns.list_namespaces({"id": []}).namespaces
    assert not any(place.exists() for place in places)


def test_a_cascade_that_is_refused_drops_nothing(ns: Any, catalog: list[str]) -> None:
    for each, properties in (("a", {}), ("b", {"protected": "true"})):
        ns.create_namespace({"id": [*catalog, each]})
        create(ns, [*catalog, each, "t"], 1, properties=properties)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        ns.drop_namespace({"id": catalog, "behavior": "cascade"})
    assert names(ns, [*catalog, "a"]) == names(ns, [*catalog, "b"]) == ["t"]
    ns.alter_table({"id": [*catalog, "b", "t"], "unset": ["protected"]})


def test_a_catalog_keeps_no_other_properties(ns: Any, catalog: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        ns.create_namespace({"id": ["another"], "properties": {"k": "v"}})
    with refused(ErrorCode.UNSUPPORTED):
        ns.alter_namespace({"id": catalog, "set": {"k": "v"}})
