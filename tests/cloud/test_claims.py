"""Claims: of two that fill or delete the directory of a root table in a bucket, one waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lanceyard import errors
from lanceyard.catalog.directory import claims
from lanceyard.catalog.directory import open_catalog as open_directory
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings
from tests.cloud import bucket
from tests.cloud.conftest import MODES, Open
from tests.cloud.paths import ObjectPath
from tests.conformance.kit import numbers, stream
from tests.races.arena import Clock

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


@pytest.fixture
def open_late(root: str, mode: str) -> Iterator[Callable[[], Any]]:
    """Opens the catalog when all that is there is older than the window."""
    opened = []

    def open_root() -> Any:
        properties = {"root": root, **MODES[mode], **bucket.storage()}
        settings = DirectorySettings.from_properties(properties)
        clock = Clock()
        clock.ahead = settings.window + 1
        opened.append(Namespace(open_directory(settings, clock=clock)))
        return opened[-1]

    yield open_root
    for each in opened:
        each.close()


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
@pytest.mark.parametrize("act", ["overwrite", "drop"])
def test_a_claim_as_old_as_the_window_is_taken_over(
    catalog: Any, open_late: Callable[[], Any], claim: ObjectPath, act: str
) -> None:
    claim.write_bytes(b"dropping")
    late = open_late()
    if act == "drop":
        late.drop_table(T)
    else:
        late.create_table(OVERWRITE, stream(numbers(1, 2)))
    assert not claim.exists()
    assert catalog.list_tables({"id": []}).tables == ([] if act == "drop" else ["t"])


def test_a_claim_alone_is_no_table_and_a_name_is_free_once_it_is_old(
    open_catalog: Open, open_late: Callable[[], Any], mode: str, claim: ObjectPath
) -> None:
    claim.write_bytes(b"dropping")
    catalog = open_catalog(mode)
    assert catalog.list_tables({"id": []}).tables == []
    with pytest.raises(errors.TableNotFoundError):
        catalog.describe_table(T)
    with pytest.raises(errors.ConcurrentModificationError):
        catalog.declare_table(T)
    open_late().declare_table(T)
    assert names(claim) == {".lance-reserved"}
