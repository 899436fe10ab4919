"""Requests that fail, or are carried out and not answered: what became of them is found out."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lanceyard import errors
from tests.cloud.conftest import Open
from tests.cloud.proxy import Fault, Proxy, Request

WRITES = ("PUT", "COPY", "DELETE MANY", "DELETE")
Act = Callable[[Any, str], object]


@contextlib.contextmanager
def failing_at(proxy: Proxy, fault: Fault, number: int) -> Iterator[list[Request]]:
    """Let the n-th request that writes fail once; the requests that met it."""
    count = itertools.count()

    def is_due(request: Request) -> bool:
        return request.kind in WRITES and next(count) == number

    with proxy.failing(fault, is_due) as rule:
        yield rule.met


ACTS: dict[str, tuple[str, Act, Callable[[Any, str], bool]]] = {
    "declare": (
        "v2",
        lambda catalog, name: catalog.declare_table({"id": ["ns", name]}),
        lambda catalog, name: name in catalog.list_tables({"id": ["ns"]}).tables,
    ),
    "create_namespace": (
        "v2",
        lambda catalog, name: catalog.create_namespace({"id": [name]}),
        lambda catalog, name: name in catalog.list_namespaces({"id": []}).namespaces,
    ),
    "declare_in_v1": (
        "v1",
        lambda catalog, name: catalog.declare_table({"id": [name]}),
        lambda catalog, name: name in catalog.list_tables({"id": []}).tables,
    ),
    "declare_at_the_root": (
        "compat",
        lambda catalog, name: catalog.declare_table({"id": [name]}),
        lambda catalog, name: name in catalog.list_tables({"id": []}).tables,
    ),
}


@pytest.fixture(params=["declare", "create_namespace", "declare_in_v1", "declare_at_the_root"])
def act(request: pytest.FixtureRequest) -> Any:
    return ACTS[request.param]


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.BROKEN, Fault.RESET, Fault.BUSY])
def test_a_request_that_fails_once_changes_nothing(
    open_catalog: Open, proxy: Proxy, act: Any, fault: Fault
) -> None:
    """Each is told apart from one of somebody else, and sent again if it did not arrive."""
    mode, carry_out, is_there = act
    catalog, witness = open_catalog(mode), open_catalog(mode)
    if mode != "v1":
        catalog.create_namespace({"id": ["ns"]})
    carry_out(catalog, "first")
    for number in itertools.count():
        name = f"{fault.value}{number}"
        with failing_at(proxy, fault, number) as met:
            carry_out(catalog, name)
        assert is_there(witness, name)
        if not met:
            break
    assert number >= 1


def test_what_is_there_already_is_refused_though_the_reply_to_another_was_lost(
    open_catalog: Open, proxy: Proxy
) -> None:
    catalog = open_catalog("v1")
    open_catalog("v1").declare_table({"id": ["t"]})
    with (
        failing_at(proxy, Fault.RESET, 0) as met,
        pytest.raises(errors.TableAlreadyExistsError),
    ):
        catalog.declare_table({"id": ["t"]})
    assert met


def test_a_stale_listing_lets_no_row_be_lost(open_catalog: Open, proxy: Proxy) -> None:
    catalog, other = open_catalog(), open_catalog()
    catalog.create_namespace({"id": ["ns"]})
    for number in range(5):
        each = (catalog, other)[number % 2]
        with (
            proxy.failing(Fault.STALE, lambda r: r.kind == "LIST", times=2),
            contextlib.suppress(errors.LanceNamespaceError),
        ):
            each.declare_table({"id": ["ns", f"t{number}"]})
        each.declare_table({"id": ["ns", f"u{number}"]})
    tables = set(open_catalog().list_tables({"id": ["ns"]}).tables)
    assert {f"u{number}" for number in range(5)} <= tables


def test_a_store_that_stays_silent_in_the_middle_is_not_guessed_about(
    open_catalog: Open, proxy: Proxy
) -> None:
    catalog = open_catalog()
    catalog.create_namespace({"id": ["ns"]})

    def is_manifest(request: Request) -> bool:
        return request.method == "PUT" and request.path.endswith(".manifest")

    with (
        proxy.failing(Fault.LOST, is_manifest, times=100),
        contextlib.suppress(errors.UnknownOutcomeError),
    ):
        catalog.declare_table({"id": ["ns", "t"]})
    assert open_catalog().list_tables({"id": ["ns"]}).tables == ["t"]
