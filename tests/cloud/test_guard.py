"""Stores that write over what is there: refused at the first write.

Where the store of this run keeps conditions, the proxy answers as one that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.storage import guard
from tests.cloud import bucket
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy, Request
from tests.conformance.kit import numbers, stream

ACTS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "v1": ("v1", lambda catalog: catalog.declare_table({"id": ["t"]})),
    "v2": ("v2", lambda catalog: catalog.create_namespace({"id": ["ns"]})),
    "compat": ("compat", lambda catalog: catalog.declare_table({"id": ["t"]})),
}
each_mode = pytest.mark.parametrize(("mode", "act"), ACTS.values(), ids=ACTS)


def has_condition(request: Request) -> bool:
    return "if-none-match" in request.headers


@pytest.fixture(autouse=True)
def _unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no store be known from before."""
    monkeypatch.setattr(guard, "PROVEN", set())


@pytest.fixture
def _careless(proxy: Proxy) -> Iterator[None]:
    """Let the store ignore conditions, if it does not by itself."""
    if not bucket.KIND.keeps_conditions:
        yield
        return
    with proxy.failing(Fault.IGNORED, has_condition, times=1000):
        yield


@each_mode
@pytest.mark.usefixtures("_careless")
def test_a_store_that_ignores_conditions_is_refused_at_the_first_write(
    open_catalog: Open, mode: str, act: Callable[[Any], object]
) -> None:
    catalog = open_catalog(mode)
    with pytest.raises(errors.UnsupportedOperationError, match=r"unsafe_store=true"):
        act(catalog)


@each_mode
@pytest.mark.usefixtures("_careless")
def test_a_refused_store_is_refused_again(
    open_catalog: Open, mode: str, act: Callable[[Any], object]
) -> None:
    for catalog in (open_catalog(mode), open_catalog(mode)):
        for _ in range(2):
            with pytest.raises(errors.UnsupportedOperationError):
                act(catalog)


@pytest.mark.usefixtures("_careless")
def test_of_a_refused_write_nothing_stays(open_catalog: Open, root: str) -> None:
    catalog = open_catalog("v1")
    with pytest.raises(errors.UnsupportedOperationError):
        catalog.declare_table({"id": ["t"]})
    assert not list(ObjectPath.of(root).rglob("*"))


@each_mode
@pytest.mark.usefixtures("_careless")
def test_it_is_used_if_that_is_wanted(
    open_catalog: Open, mode: str, act: Callable[[Any], object]
) -> None:
    catalog = open_catalog(mode, unsafe_store="true")
    act(catalog)


@pytest.mark.parametrize("mode", ["v1"])
@pytest.mark.usefixtures("_careless")
def test_a_single_writer_can_work_with_it(open_catalog: Open, mode: str) -> None:
    catalog = open_catalog(mode, unsafe_store="true", drop_retention="0")
    for name in ("a", "b"):
        catalog.create_table({"id": [name]}, stream(numbers(1, 2)))
        catalog.insert_into_table({"id": [name]}, stream(numbers(3)))
    catalog.declare_table({"id": ["c"]})
    catalog.drop_table({"id": ["a"]})
    assert catalog.list_tables({"id": []}).tables == ["b", "c"]
    assert catalog.count_table_rows({"id": ["b"]}).count == 3


@pytest.mark.needs(keeps_conditions=True)
def test_a_good_store_is_asked_once(open_catalog: Open, proxy: Proxy) -> None:
    catalog = open_catalog("v1")
    catalog.declare_table({"id": ["a"]})
    proxy.forget()
    catalog.declare_table({"id": ["b"]})
    assert proxy.counts()["PUT"] == 1
