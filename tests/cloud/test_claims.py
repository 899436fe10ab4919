"""Claims: of two that fill or delete the directory of a root table in a bucket, one waits."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import lance
import pytest

import lanceyard
from lanceyard import errors
from lanceyard.catalog.directory import claims
from tests.cloud import bucket
from tests.cloud.conftest import MODES, Open
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy, Request
from tests.conformance.kit import numbers, stream

T = {"id": ["t"]}
OVERWRITE = {**T, "mode": "overwrite"}
LONG = 8
"""A window in seconds that no single operation takes."""


@pytest.fixture(params=["v1", "compat"])
def mode(request: pytest.FixtureRequest) -> str:
    """A mode in which the directory of a root table has its name."""
    name: str = request.param
    return name


@pytest.fixture
def catalog(open_catalog: Open, mode: str) -> Any:
    made = open_catalog(mode, drop_retention="0") if mode == "compat" else open_catalog(mode)
    made.create_table(T, stream(numbers(0)))
    return made


@pytest.fixture
def claim(root: str) -> ObjectPath:
    """The claim on the directory of a table."""
    return ObjectPath.of(root) / "t.lance" / ".lance-dropping"


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "PATIENCE", 0.2)


def names(claim: ObjectPath) -> set[str]:
    return {entry.name for entry in claim.parent.iterdir()}


def test_nothing_of_a_claim_stays_after_a_table_was_written(
    catalog: Any, claim: ObjectPath
) -> None:
    catalog.create_table(OVERWRITE, stream(numbers(1, 2)))
    with pytest.raises(errors.TableAlreadyExistsError):
        catalog.create_table(T, stream(numbers(3)))
    assert names(claim) == {"_versions", "_transactions", "data"}


@pytest.mark.usefixtures("_impatient")
def test_what_another_writer_has_claimed_is_neither_dropped_nor_overwritten(
    catalog: Any, claim: ObjectPath
) -> None:
    claim.write_bytes(b"dropping")
    before = names(claim)
    with pytest.raises(errors.ConcurrentModificationError, match="creating or dropping table 't'"):
        catalog.drop_table(T)
    with pytest.raises(errors.ConcurrentModificationError, match="try again later"):
        catalog.create_table(OVERWRITE, stream(numbers(1)))
    assert names(claim) == before
    assert catalog.count_table_rows(T).count == 1


def test_a_drop_waits_for_whoever_has_claimed_the_table(catalog: Any, claim: ObjectPath) -> None:
    claim.write_bytes(b"dropping")
    threading.Timer(0.3, claim.unlink).start()
    catalog.drop_table(T)
    assert names(claim) == set()


@pytest.mark.usefixtures("_impatient")
def test_what_a_crash_left_is_taken_over_once_nothing_was_written_for_a_window(
    open_catalog: Open, mode: str, root: str
) -> None:
    retention = {"drop_retention": "0"} if mode == "compat" else {}
    catalog = open_catalog(mode, window="1", **retention)
    for name in ("dropped", "overwritten"):
        catalog.create_table({"id": [name]}, stream(numbers(0)))
    for name in ("declared", "created", "dropped", "overwritten", "half"):
        (ObjectPath.of(root) / f"{name}.lance" / ".lance-dropping").write_bytes(b"dropping")
    (ObjectPath.of(root) / "half.lance" / ".lance-deregistered").write_bytes(b"creating")
    for name in (".lance-dropping", ".lance-deregistered", "data/1.lance"):
        (ObjectPath.of(root) / "killed.lance" / name).write_bytes(b"dropping")
    time.sleep(2.5)  # a store may tell the time in whole seconds
    catalog.drop_table({"id": ["dropped"]})
    catalog.declare_table({"id": ["declared"]})
    for name in ("created", "half", "killed"):
        catalog.create_table({"id": [name]}, stream(numbers(0)))
    catalog.create_table({"id": ["overwritten"], "mode": "overwrite"}, stream(numbers(1, 2)))
    tables = catalog.list_tables({"id": []}).tables
    assert tables == ["created", "declared", "half", "killed", "overwritten"]
    marks = {path.name for path in ObjectPath.of(root).rglob(".lance-*")}
    assert marks == {".lance-reserved"}


def test_a_claim_alone_is_no_table(open_catalog: Open, mode: str, claim: ObjectPath) -> None:
    claim.write_bytes(b"dropping")
    catalog = open_catalog(mode)
    assert catalog.list_tables({"id": []}).tables == []
    with pytest.raises(errors.TableNotFoundError):
        catalog.describe_table(T)
    with pytest.raises(errors.ConcurrentModificationError):
        catalog.declare_table(T)
    assert names(claim) == {".lance-dropping"}


@pytest.mark.deep
@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("left", [[".lance-dropping"], [".lance-dropping", ".lance-deregistered"]])
def test_of_two_that_take_over_what_a_crash_left_none_deletes_what_the_other_wrote(
    mode: str, proxy: Proxy, left: list[str]
) -> None:
    """One creates the table anew between any two requests of the other."""
    roots = [bucket.fresh_root() for _ in range(60)]
    for root, name in itertools.product(roots, left):
        (ObjectPath.of(root) / "t.lance" / name).write_bytes(b"creating")
    time.sleep(LONG + 1.1)  # a store may tell the time in whole seconds
    for number, root in enumerate(roots):
        created = take_over(proxy, mode, root, number)
        if created is None:
            return
        assert len(created) <= 1, number
        assert not created or rows(root) == created, number
    pytest.fail("there were more requests than roots")


@pytest.mark.deep
@pytest.mark.usefixtures("_impatient")
def test_repair_takes_nothing_away_that_came_after_what_a_crash_left(
    mode: str, proxy: Proxy
) -> None:
    """Somebody creates the table anew between any two requests of a repair."""
    roots = [bucket.fresh_root() for _ in range(60)]
    for root, name in itertools.product(roots, (".lance-dropping", ".lance-deregistered", "data")):
        (ObjectPath.of(root) / "t.lance" / name).write_bytes(b"dropping")
    time.sleep(LONG + 1.1)
    for number, root in enumerate(roots):
        settings = {"window": str(LONG), **MODES[mode]}
        other = lanceyard.DirectoryNamespace(root=root, **settings, **bucket.storage())
        yard = lanceyard.open(root, **settings, **bucket.storage(proxy.endpoint))
        with yard, another(proxy, number, partial(create, other, 2)) as accepted:
            yard.repair(dry_run=False)
        other.close()
        if not accepted:
            return
        assert accepted == [False] or rows(root) == [2], number
    pytest.fail("there were more requests than roots")


def take_over(proxy: Proxy, mode: str, root: str, number: int) -> list[int] | None:
    """Let another come before a request of one; the rows that were acknowledged, or None."""
    first, other = (
        lanceyard.DirectoryNamespace(root=root, window=str(LONG), **MODES[mode], **storage)
        for storage in (bucket.storage(proxy.endpoint), bucket.storage())
    )
    with another(proxy, number, partial(create, other, 2)) as accepted:
        is_first_accepted = create(first, 1)
    first.close()
    other.close()
    if not accepted:
        return None
    return [*([2] if accepted[0] else []), *([1] if is_first_accepted else [])]


@contextlib.contextmanager
def another(proxy: Proxy, number: int, act: Callable[[], bool]) -> Iterator[list[bool]]:
    """Let another act right before a request, by its number; gives what came of it, if it came."""
    count = itertools.count()
    came: list[bool] = []

    def comes_between(_: Request) -> bool:
        if next(count) == number:
            came.append(act())
        return False

    with proxy.failing(Fault.LOST, comes_between):
        yield came


def create(catalog: Any, row: int) -> bool:
    """Whether a table is created with a row."""
    try:
        catalog.create_table(T, stream(numbers(row)))
    except errors.LanceNamespaceError:
        return False
    return True


def rows(root: str) -> list[int]:
    options = {**bucket.server().options(), "allow_http": "true"}
    found = lance.dataset(f"{root}/t.lance", storage_options=options).to_table()
    return [*found["n"].to_pylist()]
