"""A store that fails on purpose: the seam through which tests crash a catalog at every call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, TypeVar

from lanceyard.storage.base import PATIENCE, Entry, File, Stat, Store

_R = TypeVar("_R")


class Moment(Enum):
    """When a call fails, seen from the storage behind it."""

    BEFORE = "before"
    """Nothing happened."""
    AFTER = "after"
    """It happened, and the reply was lost."""


class Crash(BaseException):
    """The end of a simulated process. No `except Exception` and no clean-up may outlive it."""


class FailingStore(Store):
    """Passes calls on to another store, and fails at the n-th one that can change something.

    With `Crash` every later call fails too, as in a process that is gone; with any other error
    only that one call fails.
    """

    def __init__(
        self, inner: Store, at: int, moment: Moment, error: type[BaseException] = Crash
    ) -> None:
        """Fail at call number `at`, counted from 1; 0 never fails, and only counts."""
        self._inner = inner
        self._at = at
        self._moment = moment
        self._error = error
        self.calls = 0
        self.options = inner.options
        self.quick_options = inner.quick_options
        self.has_locks = inner.has_locks
        self.keeps_conditions = inner.keeps_conditions

    def location(self, path: str) -> str:
        return self._inner.location(path)

    def relative(self, location: str) -> str | None:
        return self._inner.relative(location)

    def contains(self, path: str) -> bool:
        return self._inner.contains(path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self._call(self._inner.put_if_absent, path, data)

    def prove_conditions(self, path: str) -> None:
        self._inner.prove_conditions(path)

    def copy_if_absent(self, source: str, target: str) -> bool:
        return self._call(self._inner.copy_if_absent, source, target)

    def is_copy(self, path: str, source: str) -> bool:
        return self._call(self._inner.is_copy, path, source)

    def get(self, path: str) -> bytes | None:
        return self._call(self._inner.get, path)

    def exists(self, path: str) -> bool:
        return self._call(self._inner.exists, path)

    def entries(self, path: str) -> Iterator[Entry]:
        return iter(self._call(lambda: [*self._inner.entries(path)]))

    def inhabited(self, path: str) -> set[str]:
        return self._call(self._inner.inhabited, path)

    def some_names(self, path: str, after: str, enough: int) -> tuple[list[str], bool]:
        return self._call(self._inner.some_names, path, after, enough)

    def has_file(self, path: str) -> bool:
        return self._call(self._inner.has_file, path)

    def files(self, path: str) -> Iterator[File]:
        return iter(self._call(lambda: [*self._inner.files(path)]))

    def changed(self, path: str) -> float | None:
        return self._call(self._inner.changed, path)

    def move(self, source: str, target: str) -> None:
        self._call(self._inner.move, source, target)

    def move_tree(self, source: str, target: str) -> None:
        self._call(self._inner.move_tree, source, target)

    def link_tree(self, source: str, target: str) -> None:
        self._call(self._inner.link_tree, source, target)

    def link_files(self, files: Mapping[str, str]) -> None:
        self._call(self._inner.link_files, files)

    def delete_all(self, paths: Iterable[str]) -> None:
        self._call(self._inner.delete_all, paths)

    def delete(self, path: str) -> None:
        self._call(self._inner.delete, path)

    def delete_own(self, path: str, data: bytes) -> None:
        self._call(self._inner.delete_own, path, data)

    def delete_tree(
        self, path: str, *, last: Sequence[str] = (), but: Collection[str] = ()
    ) -> bool:
        return self._call(self._inner.delete_tree, path, last=last, but=but)

    def sync_tree(self, path: str) -> None:
        self._call(self._inner.sync_tree, path)

    def hold(self, path: str, patience: float = PATIENCE) -> AbstractContextManager[None]:
        return self._inner.hold(path, patience)

    def sync(self, path: str) -> None:
        self._call(self._inner.sync, path)

    def local_path(self, path: str) -> str | None:
        return self._inner.local_path(path)

    def stat(self, path: str) -> Stat | None:
        return self._call(self._inner.stat, path)

    def _call(self, call: Callable[..., _R], *args: Any, **named: Any) -> _R:
        self.calls += 1
        due = self.calls == self._at
        gone = self._error is Crash and 0 < self._at < self.calls
        if gone or (due and self._moment is Moment.BEFORE):
            raise self._error(f"before call {self.calls}: {call}{args}")
        result = call(*args, **named)
        if due:
            raise self._error(f"after call {self.calls}: {call}{args}")
        return result
