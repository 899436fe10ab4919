"""How many requests each operation takes, once a catalog has been looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lanceyard.catalog.directory.manifest import upkeep
from tests.cloud.conftest import Open
from tests.cloud.proxy import Proxy

NS, TABLE = ["ns"], ["ns", "t"]
Act = Callable[[Any], object]


@pytest.fixture
def warm(open_catalog: Open, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A catalog of the manifest with a namespace and a table, whose upkeep is done."""
    monkeypatch.setattr(upkeep, "PAUSE", 0.0)
    first = open_catalog()
    first.create_namespace({"id": NS})
    first.declare_table({"id": TABLE})
    first.close()
    monkeypatch.setattr(upkeep, "PAUSE", 3600.0)
    catalog = open_catalog()
    catalog.list_tables({"id": NS})
    return catalog


READS: dict[str, Act] = {
    "describe_table": lambda catalog: catalog.describe_table({"id": TABLE}),
    "table_exists": lambda catalog: catalog.table_exists({"id": TABLE}),
    "list_tables": lambda catalog: catalog.list_tables({"id": NS}),
    "list_all_tables": lambda catalog: catalog.list_all_tables({}),
    "describe_namespace": lambda catalog: catalog.describe_namespace({"id": NS}),
    "namespace_exists": lambda catalog: catalog.namespace_exists({"id": NS}),
    "list_namespaces": lambda catalog: catalog.list_namespaces({"id": []}),
}


@pytest.mark.parametrize("act", READS.values(), ids=READS)
def test_a_look_takes_one_request(warm: Any, proxy: Proxy, act: Act) -> None:
    proxy.forget()
    act(warm)
    assert proxy.counts() == {"HEAD": 1}


def test_a_namespace_is_created_in_four_requests(warm: Any, proxy: Proxy) -> None:
    warm.create_namespace({"id": ["a"]})
    proxy.forget()
    warm.create_namespace({"id": ["b"]})
    assert proxy.counts() == {"PUT": 3, "LIST": 1}


def test_a_table_is_declared_in_five_requests_however_many_there_are(
    warm: Any, proxy: Proxy
) -> None:
    for number in range(12):  # until what others wrote is read, and folded
        warm.declare_table({"id": ["ns", f"first{number}"]})
    for number in range(30):
        proxy.forget()
        warm.declare_table({"id": ["ns", f"t{number}"]})
        assert proxy.counts() == {"PUT": 4, "LIST": 1}


def test_a_table_is_dropped_in_five_requests_and_one_for_its_files(warm: Any, proxy: Proxy) -> None:
    for number in range(3):
        warm.declare_table({"id": ["ns", f"t{number}"]})
    for number in range(3):
        proxy.forget()
        warm.drop_table({"id": ["ns", f"t{number}"]})
        counts = proxy.counts()
        assert counts.pop("DELETE MANY") == 1
        assert counts.total() - 1 <= 5  # and a listing of what is to be deleted


def test_a_refusal_is_not_taken_from_what_was_true_a_moment_ago(
    warm: Any, open_catalog: Open
) -> None:
    open_catalog().drop_table({"id": TABLE})
    warm.declare_table({"id": TABLE})
    assert open_catalog().list_tables({"id": NS}).tables == ["t"]


def test_a_hundred_tables_are_declared_in_six_requests_beyond_their_markers(
    warm: Any, proxy: Proxy
) -> None:
    steps = [{"declare_table": {"id": ["ns", f"t{number}"]}} for number in range(100)]
    warm.declare_table({"id": ["ns", "first"]})
    proxy.forget()
    warm.batch_commit_tables({"operations": steps})
    markers = [r for r in proxy.requests if r.path.endswith(".lance-reserved")]
    assert len(markers) == 100
    assert len(proxy.requests) - len(markers) <= 6


def test_without_a_manifest_a_table_is_declared_by_its_marker_and_one_look(
    open_catalog: Open, proxy: Proxy
) -> None:
    catalog = open_catalog("v1")
    catalog.declare_table({"id": ["first"]})
    proxy.forget()
    catalog.declare_table({"id": ["t"]})
    assert [request.what for request in proxy.requests] == [
        "PUT /t.lance/.lance-reserved",
        "LIST /t.lance/",
    ]


@pytest.mark.needs(scheme="s3")
def test_without_a_manifest_a_table_is_dropped_by_what_keeps_others_from_it(
    open_catalog: Open, proxy: Proxy
) -> None:
    """Is it there, and protected? It is claimed, hidden, listed, deleted, and let go."""
    catalog = open_catalog("v1")
    for name in ("first", "t"):
        catalog.declare_table({"id": [name]})
    catalog.drop_table({"id": ["first"]})
    proxy.forget()
    catalog.drop_table({"id": ["t"]})
    assert [request.what for request in proxy.requests] == [
        "LIST /t.lance/",
        "LIST /t.lance/",
        "PUT /t.lance/.lance-dropping",
        "PUT /t.lance/.lance-deregistered",
        "LIST /t.lance/",
        *["DELETE MANY /lake"] * 3,
    ]


def test_a_root_table_is_declared_and_dropped_in_eleven_requests(
    open_catalog: Open, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "PAUSE", 3600.0)
    catalog = open_catalog("compat", drop_retention="0")
    for number in range(3):
        proxy.forget()
        catalog.declare_table({"id": [f"t{number}"]})
    assert len(proxy.requests) <= 11
    for number in range(3):
        proxy.forget()
        catalog.drop_table({"id": [f"t{number}"]})
        assert len(proxy.requests) <= 11


def test_without_a_manifest_a_look_at_a_declared_table_takes_one_request(
    open_catalog: Open, proxy: Proxy
) -> None:
    catalog = open_catalog("v1")
    catalog.declare_table({"id": ["t"]})
    proxy.forget()
    assert catalog.describe_table({"id": ["t"], "check_declared": True}).is_only_declared
    assert proxy.counts() == {"LIST": 1}


def test_without_a_manifest_a_page_of_ten_takes_eleven_requests(
    open_catalog: Open, proxy: Proxy
) -> None:
    catalog = open_catalog("v1")
    names = ["a", "a-b", "a-b-c", "a!", "ab", "b", *(f"t{number:02}" for number in range(30))]
    for name in names:
        catalog.declare_table({"id": [name]})
    found, token = [], None
    while token or not found:
        proxy.forget()
        page = catalog.list_tables({"id": [], "limit": 10, "page_token": token})
        assert len(proxy.requests) <= 11
        found += page.tables
        token = page.page_token
    assert found == sorted(names)


def test_names_are_sorted_also_where_a_listing_is_cut_in_the_middle(
    open_catalog: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``a-b.lance/`` comes before ``a.lance/``."""
    monkeypatch.setattr("lanceyard.storage.remote.PAGE", 4)
    catalog = open_catalog("v1")
    names = sorted(["a", "a-b", "a-b-c", "a!", "ab", "b", "c", "c-d", "c-e", "d"])
    for name in names:
        catalog.declare_table({"id": [name]})
    for limit in (1, 2, 3):
        found, token = [], None
        while token or not found:
            page = catalog.list_tables({"id": [], "limit": limit, "page_token": token})
            found += page.tables
            token = page.page_token
        assert found == names
