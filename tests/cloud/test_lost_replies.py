"""Requests that fail, or are carried out and not answered: what became of them is found out."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.storage.remote import RemoteStore
from tests.cloud import bucket
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy, Request
from tests.conformance.kit import numbers, stage, stream

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


@contextlib.contextmanager
def coming_after(proxy: Proxy, other: Callable[[], object]) -> Iterator[None]:
    """Lose the reply to a deletion; another acts before the next request arrives."""
    lost: list[Request] = []
    came: list[object] = []

    def is_lost(request: Request) -> bool:
        if lost and not came:
            came.append(other())
        elif request.kind == "DELETE MANY" and not lost:
            lost.append(request)
            return True
        return False

    with proxy.failing(Fault.LOST, is_lost, times=2):
        yield
    assert came


def test_what_another_puts_where_we_deleted_is_not_deleted_again(root: str, proxy: Proxy) -> None:
    ours = RemoteStore(root, bucket.server().options(proxy.endpoint))
    theirs = RemoteStore(root, bucket.server().options())
    ours.put_if_absent("claim", b"ours")
    with coming_after(proxy, lambda: theirs.put_if_absent("claim", b"theirs")):
        ours.delete_own("claim", b"ours")
    assert theirs.get("claim") == b"theirs"


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.RESET, Fault.BUSY, Fault.BROKEN])
def test_what_is_ours_is_deleted_whatever_happens_once(
    root: str, proxy: Proxy, fault: Fault
) -> None:
    ours = RemoteStore(root, bucket.server().options(proxy.endpoint))
    ours.put_if_absent("claim", b"ours")
    with proxy.failing(fault, lambda request: request.kind == "DELETE MANY") as rule:
        ours.delete_own("claim", b"ours")
    assert rule.met
    assert ours.get("claim") is None


def test_a_declaration_that_gives_way_takes_no_later_one_along(
    open_catalog: Open, proxy: Proxy, root: str
) -> None:
    claim = ObjectPath.of(root) / "t.lance" / ".lance-dropping"
    catalog, witness = open_catalog("v1"), open_catalog("v1", **bucket.storage())
    catalog.declare_table({"id": ["first"]})
    claim.write_bytes(b"dropping")

    def declare() -> None:
        claim.unlink()
        witness.declare_table({"id": ["t"]})

    with (
        coming_after(proxy, declare),
        pytest.raises(errors.LanceNamespaceError, match="'t'"),
    ):
        catalog.declare_table({"id": ["t"]})
    assert witness.list_tables({"id": []}).tables == ["first", "t"]


@pytest.mark.parametrize("told", [{}, {"e_tag": None}], ids=["with_e_tag", "without"])
def test_a_version_is_created_once_though_its_request_comes_again(
    open_catalog: Open, told: dict[str, Any]
) -> None:
    """By what the published manifest says it was made of: the staged one is gone."""
    catalog = open_catalog("v1")
    catalog.create_table({"id": ["t"]}, stream(numbers(1)))
    table = ObjectPath.of(catalog.describe_table({"id": ["t"]}).location)
    request = {"id": ["t"], **stage(table, 2), **told}
    created = catalog.create_table_version(request)
    assert open_catalog("v1").create_table_version(request) == created
