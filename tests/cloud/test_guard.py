"""Stores that write over what is there: refused at the first write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.storage import guard
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy, Request

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


@each_mode
def test_a_store_that_ignores_conditions_is_refused_at_the_first_write(
    open_catalog: Open, proxy: Proxy, mode: str, act: Callable[[Any], object]
) -> None:
    catalog = open_catalog(mode)
    with (
        proxy.failing(Fault.IGNORED, has_condition, times=1000),
        pytest.raises(errors.UnsupportedOperationError, match=r"unsafe_store=true"),
    ):
        act(catalog)


def test_of_a_refused_write_nothing_stays(open_catalog: Open, proxy: Proxy, root: str) -> None:
    catalog = open_catalog("v1")
    with (
        proxy.failing(Fault.IGNORED, has_condition, times=1000),
        pytest.raises(errors.UnsupportedOperationError),
    ):
        catalog.declare_table({"id": ["t"]})
    assert not list(ObjectPath.of(root).rglob("*"))


@each_mode
def test_it_is_used_if_that_is_wanted(
    open_catalog: Open, proxy: Proxy, mode: str, act: Callable[[Any], object]
) -> None:
    catalog = open_catalog(mode, unsafe_store="true")
    with proxy.failing(Fault.IGNORED, has_condition, times=1000):
        act(catalog)


def test_a_good_store_is_asked_once(open_catalog: Open, proxy: Proxy) -> None:
    catalog = open_catalog("v1")
    catalog.declare_table({"id": ["a"]})
    proxy.forget()
    catalog.declare_table({"id": ["b"]})
    assert proxy.counts()["PUT"] == 1
