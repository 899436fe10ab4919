"""Publishing: whoever comes in between two storage calls, the committed manifest has its name."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pytest

from lanceyard.catalog.version_files import VersionFiles
from lanceyard.storage.failing import FailingStore, Moment
from lanceyard.storage.local import LocalStore
from tests.versions.managed import (
    Unpublished,
    append,
    check_settled,
    content,
    create,
    foreign,
    location,
    on_stage,
    open_managed,
    open_upon,
    rows,
    versions,
    write_past,
)

STAGED, FINAL = "18446744073709551613.manifest-1234", "18446744073709551613.manifest"
FOREIGN = 666


class Interrupted(FailingStore):
    """A store on which others do something right before a certain call.

    It has no path on a disk, and so no lock that would keep them out.
    """

    def __init__(self, root: Path, at: int, others: Callable[[], Any]) -> None:
        super().__init__(LocalStore(str(root)), 0, Moment.BEFORE)
        self._interrupted_at = at
        self._others = others

    def local_path(self, path: str) -> str | None:
        return None

    def _call(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if self.calls + 1 == self._interrupted_at:
            self._others()
        return super()._call(call, *args, **named)


class Folder:
    """The versions of a table, where one is staged, and maybe another one has its name."""

    def __init__(self, root: Path, *, taken: bool) -> None:
        self.root = root
        self._folder = root / "t" / "_versions"
        self._folder.mkdir(parents=True)
        (self._folder / STAGED).write_bytes(b"ours")
        if taken:
            (self._folder / FINAL).write_bytes(b"foreign")

    def publish(self, at: int = 0, others: Callable[[], Any] = lambda: None) -> int:
        """Publish with an interruption at a call, and return how many calls there were."""
        store = Interrupted(self.root, at, others)
        assert VersionFiles(store, "t").publish(STAGED, insist=True).is_ours
        return store.calls

    def check(self, *, taken: bool) -> None:
        files = {path.name: path.read_bytes() for path in self._folder.iterdir()}
        assert files.pop(FINAL) == b"ours"
        assert [*files.values()] == ([b"foreign"] if taken else []), files


@pytest.mark.parametrize("taken", [True, False], ids=["the name is taken", "the name is free"])
def test_two_that_publish_at_once_come_to_the_same(tmp_path: Path, taken: bool) -> None:
    calls = Folder(tmp_path / "alone", taken=taken).publish()
    for at in range(1, calls + 1):
        folder = Folder(tmp_path / str(at), taken=taken)
        folder.publish(at, folder.publish)
        folder.check(taken=taken)


def test_three_that_publish_at_once_come_to_the_same(tmp_path: Path) -> None:
    calls = Folder(tmp_path / "alone", taken=True).publish()
    for at in range(1, calls + 1):
        for then in range(1, calls + 1):
            folder = Folder(tmp_path / f"{at}-{then}", taken=True)
            folder.publish(at, lambda: folder.publish(then, folder.publish))  # noqa: B023
            folder.check(taken=True)


def test_a_name_that_is_taken_again_and_again_is_had_in_the_end(tmp_path: Path) -> None:
    folder = Folder(tmp_path, taken=True)
    final = tmp_path / "t" / "_versions" / FINAL

    def take() -> None:
        if not final.exists():
            final.write_bytes(b"foreign too")

    for at in range(1, 10):
        folder.publish(at, take)
        assert final.read_bytes() == b"ours"


Work = Callable[[Any], Any]


def interrupt(root: Path, prepare: Work, read: Work) -> Iterator[tuple[Any, Any]]:
    """Catalogs on which others did something at a call of a reader: one for each of its calls."""
    first = open_managed(root)
    create(first, "t", 1)
    first.close()
    for at in itertools.count(1):
        place = root.parent / str(at)
        shutil.copytree(root, place, copy_function=os.link)
        other = open_managed(place)
        store = Interrupted(place, at, prepare(other))
        reader = open_upon(store, place)
        read(reader)
        if store.calls < at:
            return
        yield reader, other
        reader.close()
        other.close()
        check_settled(place)


@pytest.mark.parametrize("read", [rows, versions])
def test_a_writer_that_comes_in_while_foreign_manifests_are_moved_loses_nothing(
    root: Path, read: Callable[[Any, str], Any]
) -> None:
    """At every storage call of a reader that meets a foreign version, another commits its own."""

    def prepare(ns: Any) -> Any:
        [request] = on_stage(ns, ["t"]).insert(2)
        write_past(ns, "t", FOREIGN)
        return partial(ns.create_table_version, request)

    for reader, other in interrupt(root, prepare, lambda ns: read(ns, "t")):
        assert rows(reader, "t") == rows(other, "t") == [1, 2]
        append(reader, "t", 3)
        assert rows(other, "t") == [1, 2, 3]
        assert len(foreign(other, "t")) == 1


def test_readers_that_meet_foreign_manifests_at_once_move_them_once(root: Path) -> None:
    def prepare(ns: Any) -> Any:
        write_past(ns, "t", FOREIGN)
        write_past(ns, "t", FOREIGN)
        return partial(rows, ns, "t")

    for reader, other in interrupt(root, prepare, lambda ns: rows(ns, "t")):
        assert rows(reader, "t") == rows(other, "t") == [1]
        assert len(foreign(other, "t")) == 2


def test_a_listing_does_not_show_a_foreign_manifest_that_has_the_name_of_a_version(
    root: Path,
) -> None:
    """Between the row and the publication of its manifest somebody took the name."""
    store = Unpublished(root)
    slow, other = open_upon(store, root), open_managed(root)
    create(other, "t", 1)
    [request] = on_stage(other, ["t"]).insert(2)
    slow.create_table_version(request)
    write_past(other, "t", FOREIGN)
    assert versions(other, "t") == [2, 1]
    assert content(lance.dataset(location(other, "t"), version=2)) == [1, 2]
    slow.close()
    other.close()
    check_settled(root)
