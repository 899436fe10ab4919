"""The namespace as people hold it: connected, opened, pickled, forked, served; and how it asks."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import connect
from lance_namespace.errors import ErrorCode

import lanceyard
from lanceyard import errors
from tests.conformance.kit import refused
from tests.hive.metastore import MetastoreServer
from tests.hive.proxy import Proxy
from tests.rest.test_process import serving

from .tables import create, names, rows

SETTINGS = """
[catalog]
impl = "hive"
"hive.uri" = "{uri}"
"hive.root" = "{root}"
"hive.managed_by" = "impl"
"""


def test_both_forms_of_connecting_name_the_same(hive: MetastoreServer, tmp_path: Path) -> None:
    one = lanceyard.connect("hive", {"uri": hive.uri, "root": str(tmp_path)})
    other = lanceyard.connect(
        {"impl": "hive", "hive.uri": hive.uri, "hive.root": str(tmp_path), "hive.window": "60"}
    )
    stock: Any = connect("lanceyard.HiveNamespace", {"uri": hive.uri})
    for each in (one, other, stock):
        assert "default" in str(each.list_namespaces({}).namespaces) or "hive" in str(
            each.list_namespaces({}).namespaces
        )
        each.close()


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"managed_by": "nobody"}, "storage or impl"),
        ({"rot": "/x"}, "did you mean 'root'"),
        ({"uri": "http://x"}, "thrift://"),
        ({"window": "soon"}, "seconds"),
        ({"root": "/a", "hive.root": "/b"}, "given twice"),
        ({"client.pool-size": "0"}, "1 or more"),
    ],
)
def test_properties_that_mean_nothing_are_refused(properties: dict[str, str], text: str) -> None:
    with pytest.raises(errors.InvalidInputError, match=text):
        lanceyard.HiveNamespace(**properties)


def test_constructing_it_makes_no_call_and_a_root_is_absolute() -> None:
    made = lanceyard.HiveNamespace(uri="thrift://nobody.invalid", root="here")
    assert made._given["root"] == os.path.abspath("here")
    with refused(ErrorCode.SERVICE_UNAVAILABLE):
        made.list_namespaces({})


def test_a_yard_opens_by_the_address(hive: MetastoreServer) -> None:
    with lanceyard.open(hive.uri) as yard:
        assert yard.namespaces()
        assert "default" in str(yard.tree())


def test_a_pickle_is_the_same_catalog(ns: Any, home: list[str]) -> None:
    create(ns, [*home, "t"], 1)
    copy = pickle.loads(pickle.dumps(ns))
    assert (names(copy, home), copy.namespace_id()) == (["t"], ns.namespace_id())
    copy.close()


def test_the_child_of_a_fork_has_connections_of_its_own(ns: Any, home: list[str]) -> None:
    ns.declare_table({"id": [*home, "t"]})
    pid = os.fork()
    if pid == 0:
        threading.Timer(20, os._exit, [3]).start()
        os._exit(0 if names(ns, home) == ["t"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert names(ns, home) == ["t"]


def test_listing_takes_as_many_calls_for_many_tables_as_for_few(
    open_hive: Any, home: list[str], hive: MetastoreServer
) -> None:
    with Proxy(hive.port) as proxy:
        far = open_hive(uri=proxy.uri)
        far.declare_table({"id": [*home, "t0"]})
        names(far, home)
        counts = []
        for some in (1, 5):
            for number in range(some):
                far.declare_table({"id": [*home, f"t{some}_{number}"]})
            proxy.calls.clear()
            names(far, home)
            counts.append(len(proxy.calls))
        far.close()
    assert counts[0] == counts[1] <= 3


def test_what_hive_cannot_do_is_not_listed(ns: Any) -> None:
    listed = ns.list_operations().operations
    assert {"BatchCommitTables", "CreateMaterializedView"}.isdisjoint(listed)
    assert {"RenameTable", "CreateTableVersion", "AlterNamespace"} <= {*listed}


def test_a_server_serves_it(
    managed: Any, hive: MetastoreServer, home: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(SETTINGS.format(uri=hive.uri, root=tmp_path / "root"))
    create(managed, [*home, "t"], 1, 2)
    with serving(file) as (address, _):
        remote = lanceyard.RestNamespace(uri=address)
        create(remote, [*home, "u"], 3)
        assert (names(remote, home), rows(remote, [*home, "t"])) == (["t", "u"], [1, 2])
        assert remote.describe_table({"id": [*home, "u"]}).managed_versioning
        with refused(ErrorCode.TABLE_NOT_FOUND):
            remote.describe_table({"id": [*home, "missing"]})
    assert rows(managed, [*home, "u"]) == [3]


def test_managed_and_other_tables_live_side_by_side(ns: Any, managed: Any, home: list[str]) -> None:
    create(ns, [*home, "plain"], 1)
    create(managed, [*home, "kept"], 2)
    for each in (ns, managed):
        assert (rows(each, [*home, "plain"]), rows(each, [*home, "kept"])) == ([1], [2])
        assert each.describe_table({"id": [*home, "kept"]}).managed_versioning
        assert not each.describe_table({"id": [*home, "plain"]}).managed_versioning
