"""Claims: of two that fill or delete the directory of a root table in a bucket, one waits."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.catalog.directory import claims
from tests.cloud.conftest import Open
from tests.cloud.paths import ObjectPath
from tests.conformance.kit import numbers, stream

T = {"id": ["t"]}
OVERWRITE = {**T, "mode": "overwrite"}


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
    time.sleep(2.5)  # a store may tell the time in whole seconds
    catalog.drop_table({"id": ["dropped"]})
    catalog.declare_table({"id": ["declared"]})
    for name in ("created", "half"):
        catalog.create_table({"id": [name]}, stream(numbers(0)))
    catalog.create_table({"id": ["overwritten"], "mode": "overwrite"}, stream(numbers(1, 2)))
    tables = catalog.list_tables({"id": []}).tables
    assert tables == ["created", "declared", "half", "overwritten"]
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
