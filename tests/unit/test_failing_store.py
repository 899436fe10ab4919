"""The failing store: it fails where it is told to, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceyard.storage import LocalStore
from lanceyard.storage.failing import Crash, FailingStore, Moment


def failing(
    folder: Path, at: int, moment: Moment = Moment.BEFORE, error: type[BaseException] = Crash
) -> FailingStore:
    return FailingStore(LocalStore(str(folder)), at, moment, error)


def test_a_store_that_never_fails_passes_everything_on(tmp_path: Path) -> None:
    store = failing(tmp_path, 0)
    store.put_if_absent("a/b", b"x")
    store.move("a/b", "a/c")
    store.link_tree("a", "d")
    store.sync_tree("d")
    store.sync("d")
    store.delete_tree("a", last=["c"])
    assert (store.get("d/c"), store.exists("a"), store.has_file("d")) == (b"x", False, True)
    assert [entry.name for entry in store.entries("d")] == ["c"]
    assert store.modified("d/c")


def test_calls_that_reach_storage_are_counted(tmp_path: Path) -> None:
    store = failing(tmp_path, 0)
    store.put_if_absent("a", b"")
    store.exists("a")
    store.location("a")
    store.delete("a")
    assert store.calls == 3


def test_a_failure_before_a_call_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="before call 1"):
        failing(tmp_path, 1, Moment.BEFORE, OSError).put_if_absent("a", b"")
    assert not (tmp_path / "a").exists()


def test_a_failure_after_a_call_leaves_what_it_did(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="after call 1"):
        failing(tmp_path, 1, Moment.AFTER, OSError).put_if_absent("a", b"")
    assert (tmp_path / "a").exists()


def test_an_error_happens_once(tmp_path: Path) -> None:
    store = failing(tmp_path, 2, Moment.BEFORE, PermissionError)
    store.put_if_absent("a", b"")
    with pytest.raises(PermissionError):
        store.put_if_absent("b", b"")
    assert store.put_if_absent("b", b"")


@pytest.mark.parametrize("moment", Moment)
def test_after_a_crash_no_call_comes_through(tmp_path: Path, moment: Moment) -> None:
    store = failing(tmp_path, 1, moment)
    for _ in range(3):
        with pytest.raises(Crash):
            store.delete("a")
    with pytest.raises(Crash):
        store.put_if_absent("a", b"")
    assert not (tmp_path / "a").exists()


def test_no_handler_of_exceptions_outlives_a_crash() -> None:
    assert not issubclass(Crash, Exception)


def test_it_is_the_store_behind_it_in_all_that_is_no_call(tmp_path: Path) -> None:
    inner = LocalStore(str(tmp_path))
    store = FailingStore(inner, 1, Moment.BEFORE)
    assert store.location("a") == inner.location("a")
    assert store.relative(store.location("a")) == "a"
    assert store.local_path("a") == inner.local_path("a")
    assert store.contains("a")
    assert store.options == inner.options
