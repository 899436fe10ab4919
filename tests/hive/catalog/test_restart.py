"""The metastore is killed and started again while a catalog is used."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lance_namespace.errors import ErrorCode

from lanceyard import HiveNamespace, errors
from tests.conformance.kit import refused
from tests.hive.metastore import MetastoreServer

from .tables import append, create, names, rows


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[MetastoreServer]:
    """A metastore that may be killed."""
    (tmp_path / "hive").mkdir()
    server = MetastoreServer(tmp_path / "hive")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def ns(fragile: MetastoreServer, tmp_path: Path) -> Iterator[Any]:
    made = HiveNamespace(uri=fragile.uri, root=str(tmp_path / "root"), managed_by="impl")
    yield made
    made.close()


def test_an_instance_goes_on_when_its_metastore_is_back(ns: Any, fragile: MetastoreServer) -> None:
    above = ["hive"] if ns._catalog.databases.depth > 1 else []
    home = [*above, "d"]
    table = [*home, "t"]
    ns.create_namespace({"id": home})
    create(ns, table, 0)
    append(ns, table, 1)
    fragile.kill()
    for call in (
        lambda: ns.list_namespaces({}),
        lambda: ns.describe_table({"id": table}),
        lambda: ns.create_namespace({"id": [*above, "e"]}),
        lambda: create(ns, [*home, "u"], 1),
        lambda: ns.drop_table({"id": table}),
    ):
        with refused(ErrorCode.SERVICE_UNAVAILABLE):
            call()
    fragile.start()
    append(ns, table, 2)
    create(ns, [*home, "u"], 1)
    assert (rows(ns, table), names(ns, home)) == ([0, 1, 2], ["t", "u"])


def test_nothing_is_doubled_by_a_restart_in_the_middle_of_a_run(
    ns: Any, fragile: MetastoreServer
) -> None:
    home = ["hive", "d"] if ns._catalog.databases.depth > 1 else ["d"]
    ns.create_namespace({"id": home})
    create(ns, [*home, "t"])
    told: Counter[str] = Counter()
    acknowledged: list[int] = []
    unknown: list[int] = []
    done = threading.Event()

    def write() -> None:
        value = 0
        while not done.is_set():
            value += 1
            try:
                ns.insert_into_table({"id": [*home, "t"]}, _stream(value))
                acknowledged.append(value)
            except errors.ServiceUnavailableError:
                told["17"] += 1
                time.sleep(0.05)
            except errors.LanceNamespaceError:
                unknown.append(value)

    writer = threading.Thread(target=write)
    writer.start()
    _wait(lambda: len(acknowledged) >= 3)
    fragile.kill()
    _wait(lambda: told["17"] >= 3)
    fragile.start()
    before = len(acknowledged)
    _wait(lambda: len(acknowledged) >= before + 3)
    done.set()
    writer.join()
    found = rows(ns, [*home, "t"])
    assert len(found) == len({*found}), "doubled"
    assert {*acknowledged} <= {*found} <= {*acknowledged, *unknown}
    assert len(unknown) <= 2


def _stream(value: int) -> bytes:
    from tests.conformance.kit import numbers, stream

    return stream(numbers(value))


def _wait(condition: Any, patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)
