"""Changes that the metastore makes and whose replies get lost: made once, and known to be made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.hive.metastore import MetastoreServer
from tests.hive.proxy import Proxy

from .tables import append, create, names, rows

CHANGES = {
    "create": ("create_table", "create_table_req"),
    "alter": ("alter_table_with_environment_context", "alter_table_req"),
    "drop": ("drop_table_with_environment_context",),
    "create_database": ("create_database",),
    "drop_database": ("drop_database",),
    "alter_database": ("alter_database",),
}


@pytest.fixture
def proxy(hive: MetastoreServer) -> Iterator[Proxy]:
    with Proxy(hive.port) as running:
        yield running


@pytest.fixture
def far(open_hive: Any, proxy: Proxy) -> Any:
    """A catalog whose metastore is behind the proxy."""
    return open_hive(uri=proxy.uri, managed_by="impl")


@pytest.fixture
def losing(proxy: Proxy, far: Any, home: list[str]) -> Callable[[str], None]:
    """Loses the reply to the next change of a kind, in the form that this server knows."""
    other = [*home[:-1], f"{home[-1]}_warm"]
    far.create_namespace({"id": other})  # so that it is known which form the server has
    far.alter_namespace({"id": other, "set": {"k": "v"}})
    create(far, [*other, "t"], 1)
    far.drop_table({"id": [*other, "t"]})
    far.drop_namespace({"id": other})

    def lose(kind: str) -> None:
        known = [method for method in proxy.calls if method in CHANGES[kind]]
        proxy.lose_reply(known[-1])

    return lose


def lost(proxy: Proxy) -> bool:
    """Whether the reply that was to be lost was."""
    return not proxy._losing


def test_creating_a_table(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy
) -> None:
    losing("create")
    create(far, [*home, "t"], 1, 2)
    assert (lost(proxy), rows(far, [*home, "t"])) == (True, [1, 2])


def test_declaring_a_table(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy
) -> None:
    losing("create")
    far.declare_table({"id": [*home, "t"]})
    assert (lost(proxy), names(far, home)) == (True, ["t"])


@pytest.mark.parametrize("kind", ["alter", "drop"])
def test_dropping_a_table(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy, kind: str
) -> None:
    place = create(far, [*home, "t"], 1)
    losing(kind)
    far.drop_table({"id": [*home, "t"]})
    assert (lost(proxy), names(far, home), place.exists()) == (True, [], False)
    far.drop_namespace({"id": home})


def test_renaming_a_table(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy
) -> None:
    create(far, [*home, "t"], 1)
    losing("alter")
    far.rename_table({"id": [*home, "t"], "new_table_name": "new"})
    assert (lost(proxy), names(far, home)) == (True, ["new"])


def test_altering_a_table(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy
) -> None:
    create(far, [*home, "t"], 1)
    losing("alter")
    assert far.alter_table({"id": [*home, "t"], "set": {"k": "v"}}).properties == {"k": "v"}
    assert lost(proxy)


def test_overwriting_a_table(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy
) -> None:
    create(far, [*home, "t"], 1)
    losing("alter")
    create(far, [*home, "t"], 2, mode="overwrite")
    assert (lost(proxy), rows(far, [*home, "t"])) == (True, [2])


def test_committing_a_version(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy
) -> None:
    create(far, [*home, "t"], 1)
    losing("alter")
    append(far, [*home, "t"], 2)
    versions = far.list_table_versions({"id": [*home, "t"]}).versions
    assert (lost(proxy), rows(far, [*home, "t"]), len(versions)) == (True, [1, 2], 2)


@pytest.mark.parametrize("operation", ["create", "drop", "alter"])
def test_databases(
    far: Any, home: list[str], losing: Callable[[str], None], proxy: Proxy, operation: str
) -> None:
    other = [*home[:-1], f"{home[-1]}_other"]
    if operation != "create":
        far.create_namespace({"id": other, "properties": {"k": "v"}})
    losing(f"{operation}_database")
    if operation == "create":
        far.create_namespace({"id": other})
    elif operation == "alter":
        far.alter_namespace({"id": other, "set": {"k": "w"}})
        assert far.describe_namespace({"id": other}).properties == {"k": "w"}
    else:
        far.drop_namespace({"id": other})
    there = other[-1] in far.list_namespaces({"id": other[:-1]}).namespaces
    assert (lost(proxy), there) == (True, operation != "drop")
