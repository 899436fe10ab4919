"""Written, or removed, past the catalog: rows decide, it is told, and writers go on."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pytest
from lance_namespace.errors import LanceNamespaceError

from lanceyard.storage.failing import Crash, FailingStore
from lanceyard.storage.local import LocalStore
from tests.crash.wreck import Point, Witness
from tests.races.arena import stream
from tests.versions.managed import (
    Unpublished,
    append,
    check_settled,
    content,
    create,
    foreign,
    handle,
    location,
    numbers,
    numbers_of,
    on_stage,
    open_managed,
    open_upon,
    rows,
    versions,
    write_past,
)

LOGGER = "lanceyard.catalog.version_files"
FOREIGN = 666
# The upkeep of a crashed catalog crashes too, in a thread that nobody waits for.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture
def ns(root: Path, mode: str) -> Iterator[Any]:
    """A catalog with a table at version 2."""
    opened = open_managed(root, mode)
    create(opened, "t", 1)
    append(opened, "t", 2)
    yield opened
    opened.close()


@pytest.fixture(params=["the same instance", "another instance"])
def other(request: pytest.FixtureRequest, ns: Any, root: Path, mode: str) -> Iterator[Any]:
    """Who meets what was written past the catalog."""
    opened = ns if request.param == "the same instance" else open_managed(root, mode)
    yield opened
    opened.close()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


def insist(write: Callable[[], Any]) -> int:
    """Try until it works, at most three times, and return how often it failed."""
    for failures in range(3):
        try:
            write()
        except (OSError, RuntimeError):  # what pylance makes of the refusal
            continue
        return failures
    return 3


def check(ns: Any, root: Path, expected: list[int], *, aside: int) -> None:
    """All readers of the catalog agree, and what was foreign lies aside."""
    assert rows(ns, "t") == expected
    assert len(foreign(ns, "t")) == aside
    assert content(lance.dataset(location(ns, "t"))) == expected
    for number in versions(ns, "t"):
        assert FOREIGN not in rows(ns, "t", number)
    ns.close()
    check_settled(root)


def test_readers_do_not_see_it(ns: Any, other: Any) -> None:
    before = handle(ns, "t")
    write_past(ns, "t", FOREIGN)
    assert content(before) == [1, 2]
    assert rows(other, "t") == [1, 2]
    assert versions(other, "t") == [2, 1]
    assert other.describe_table_version({"id": ["t"]}).version.version == 2
    with pytest.raises(LanceNamespaceError) as refusal:
        other.describe_table_version({"id": ["t"], "version": 3})
    assert refusal.value.code == 11
    with pytest.raises(Exception, match="version 3"):
        handle(other, "t", 3)


def test_it_is_told_and_moved_aside(
    ns: Any,
    other: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_past(ns, "t", FOREIGN)
    with caplog.at_level(logging.WARNING, LOGGER):
        rows(other, "t")
    [message] = told(caplog)
    [name] = foreign(ns, "t")
    assert "version 3 of table t past the catalog" in message
    assert message.endswith(f"_versions/{name}")
    rows(other, "t")
    assert len(told(caplog)) == 1


def test_a_handle_that_is_opened_afterwards_just_works(ns: Any, other: Any, root: Path) -> None:
    write_past(ns, "t", FOREIGN)
    dataset = handle(other, "t")
    dataset.insert(numbers(3))
    assert dataset.version == 3
    append(other, "t", 4)
    check(other, root, [1, 2, 3, 4], aside=1)


def test_an_append_by_identifier_just_works(ns: Any, other: Any, root: Path) -> None:
    write_past(ns, "t", FOREIGN)
    append(other, "t", 3)
    check(other, root, [1, 2, 3], aside=1)


@pytest.mark.parametrize("writes", [1, 4])
def test_a_handle_from_before_fails_once(
    ns: Any,
    other: Any,
    root: Path,
    caplog: pytest.LogCaptureFixture,
    writes: int,
) -> None:
    dataset = handle(other, "t")
    for _ in range(writes):
        write_past(ns, "t", FOREIGN)
    assert insist(lambda: dataset.insert(numbers(3))) == 1
    assert content(dataset) == [1, 2, 3]
    assert len(told(caplog)) == writes
    dataset.insert(numbers(4))
    check(other, root, [1, 2, 3, 4], aside=writes)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(lambda dataset: dataset.delete("n = 1"), [2], id="delete"),
        pytest.param(
            lambda dataset: dataset.update({"n": "9"}, where="n = 1"), [2, 9], id="update"
        ),
        pytest.param(
            lambda dataset: (
                dataset.merge_insert("n").when_not_matched_insert_all().execute(numbers(1, 3))
            ),
            [1, 2, 3],
            id="merge_insert",
        ),
        pytest.param(
            lambda dataset: dataset.create_scalar_index("n", "BTREE"), [1, 2], id="scalar index"
        ),
    ],
)
def test_other_work_of_a_handle_from_before_succeeds_too(
    ns: Any,
    root: Path,
    work: Callable[[lance.LanceDataset], Any],
    expected: list[int],
) -> None:
    dataset = handle(ns, "t")
    write_past(ns, "t", FOREIGN)
    assert insist(lambda: work(dataset)) <= 1
    check(ns, root, expected, aside=1)


def test_it_may_come_again_and_again(ns: Any, root: Path) -> None:
    dataset = handle(ns, "t")
    for i in range(3, 8):
        write_past(ns, "t", FOREIGN)
        assert insist(lambda: dataset.insert(numbers(i))) == 1  # noqa: B023 - called at once
    check(ns, root, [*range(1, 8)], aside=5)


def test_an_overwrite_past_the_catalog_is_not_part_of_the_table(ns: Any, root: Path) -> None:
    lance.write_dataset(numbers(FOREIGN), location(ns, "t"), mode="overwrite")
    append(ns, "t", 3)
    check(ns, root, [1, 2, 3], aside=1)


def test_a_handle_by_path_from_before_cannot_bring_it_back(ns: Any, root: Path) -> None:
    by_path = lance.dataset(location(ns, "t"))
    by_path.insert(numbers(FOREIGN))
    append(ns, "t", 3)
    by_path.insert(numbers(FOREIGN))
    append(ns, "t", 4)
    check(ns, root, [1, 2, 3, 4], aside=2)


def test_a_table_whose_manifests_count_up_is_no_different(ns: Any, root: Path) -> None:
    lance.write_dataset(
        numbers(1), namespace_client=ns, table_id=["old"], enable_v2_manifest_paths=False
    )
    append(ns, "old", 2)
    write_past(ns, "old", FOREIGN)
    append(ns, "old", 3)
    assert rows(ns, "old") == [1, 2, 3]
    assert versions(ns, "old") == [3, 2, 1]
    [name] = foreign(ns, "old")
    assert name.startswith("3.manifest-foreign-")
    ns.close()
    check_settled(root)


def test_a_table_that_was_only_declared_takes_in_what_was_written(ns: Any, root: Path) -> None:
    ns.declare_table({"id": ["new"]})
    lance.write_dataset(numbers(7), location(ns, "new"), mode="append")
    assert rows(ns, "new") == [7]
    append(ns, "new", 8)
    assert rows(ns, "new") == [7, 8]
    ns.close()
    assert numbers_of(root, "new") == [1, 2]
    check_settled(root)


def test_a_foreign_write_between_row_and_publication_gives_way(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = open_managed(root)
    create(first, "t", 1)
    first.close()
    store = Unpublished(root)
    slow = open_upon(store, root)
    [request] = _staged_insert(slow, 2)
    slow.create_table_version(request)
    write_past(first, "t", FOREIGN)
    assert rows(first, "t") == [1, 2]
    assert any("version 2 of table t past the catalog" in message for message in told(caplog))
    store.fails = False
    assert rows(slow, "t") == [1, 2]
    append(slow, "t", 3)
    slow.close()
    check(first, root, [1, 2, 3], aside=1)


def test_several_foreign_writes_between_row_and_publication_give_way(root: Path) -> None:
    first = open_managed(root)
    create(first, "t", 1)
    first.close()
    store = Unpublished(root)
    slow = open_upon(store, root)
    [request] = _staged_insert(slow, 2)
    slow.create_table_version(request)
    for _ in range(3):
        write_past(first, "t", FOREIGN)
    append(first, "t", 3)
    slow.close()
    check(first, root, [1, 2, 3], aside=3)


def _staged_insert(ns: Any, *values: int) -> list[dict[str, Any]]:
    return on_stage(ns, ["t"]).insert(*values)


def test_a_crash_at_any_moment_of_a_commit_and_a_foreign_write_after_it(root: Path) -> None:
    """The row is there or not, and the foreign write never is."""
    first = open_managed(root)
    create(first, "t", 1)
    first.close()
    [request] = _staged_insert(first, 2)
    seen = set()
    for point in _changes(root, request):
        place = root.parent / f"{point.call}-{point.moment.value}"
        shutil.copytree(root, place, copy_function=os.link)
        store = FailingStore(LocalStore(str(place)), point.call, point.moment)
        victim, other = open_upon(store, place), open_managed(place)
        acknowledged = _is_acknowledged(partial(victim.create_table_version, request))
        write_past(other, "t", FOREIGN)
        found = rows(other, "t")
        assert found in ([[1, 2]] if acknowledged else [[1], [1, 2]]), point
        seen.add(tuple(found))
        append(other, "t", 3)
        assert rows(other, "t") == [*found, 3], point
        other.close()
        victim.close()
        check_settled(place)
    assert seen == {(1,), (1, 2)}


def _changes(root: Path, request: dict[str, Any]) -> list[Point]:
    """The calls of a commit between which the disk changes."""
    place = root.parent / "witness"
    shutil.copytree(root, place, copy_function=os.link)
    witness = Witness(place)
    ns = open_upon(witness, place)
    ns.create_table_version(request)
    calls = witness.calls
    ns.close()
    found = [Point(call, moment) for (_, moment), call in witness.seen.items()]
    return [point for point in found if point.call <= calls]


def _is_acknowledged(call: Callable[[], Any]) -> bool:
    try:
        call()
    except Crash:
        return False
    return True


def _through_a_handle(ns: Any) -> Any:
    return handle(ns, "t")


def _by_path(ns: Any) -> Any:
    return lance.dataset(location(ns, "t"))


by_anyone = pytest.mark.parametrize("opened", [_through_a_handle, _by_path])


@by_anyone
@pytest.mark.parametrize("settled", [True, False], ids=["later", "at once"])
def test_versions_that_were_cleaned_up_are_gone(
    ns: Any,
    root: Path,
    opened: Callable[[Any], Any],
    settled: bool,
) -> None:
    append(ns, "t", 3)
    if settled:
        ns.close()
    opened(ns).cleanup_old_versions(older_than=timedelta(0))
    for client in (ns, open_managed(root)):
        assert versions(client, "t") == [3]
        assert versions(client, "t", descending=False) == [3]
        assert versions(client, "t", limit=1) == [3]
        for number in (1, 2):
            with pytest.raises(LanceNamespaceError) as refusal:
                client.describe_table_version({"id": ["t"], "version": number})
            assert refusal.value.code == 11
        assert client.describe_table_version({"id": ["t"]}).version.version == 3
        assert rows(client, "t") == [1, 2, 3]
    append(ns, "t", 4)
    assert versions(ns, "t") == [4, 3]
    assert rows(ns, "t") == [1, 2, 3, 4]
    ns.close()
    assert numbers_of(root, "t")[-2:] == [3, 4]
    check_settled(root, removed=True)


@by_anyone
def test_pages_go_on_past_versions_that_were_cleaned_up(
    ns: Any, opened: Callable[[Any], Any]
) -> None:
    opened(ns).cleanup_old_versions(older_than=timedelta(0))
    for i in range(3, 7):
        append(ns, "t", i)
    for descending in (True, False):
        found: list[int] = []
        token = None
        while True:
            page = ns.list_table_versions(
                {"id": ["t"], "limit": 2, "page_token": token, "descending": descending}
            )
            found += [version.version for version in page.versions]
            token = page.page_token
            if token is None:
                break
        assert sorted(found) == [2, 3, 4, 5, 6]


@by_anyone
def test_a_handle_from_before_a_clean_up_writes_on(
    ns: Any, root: Path, opened: Callable[[Any], Any]
) -> None:
    before = handle(ns, "t")
    append(ns, "t", 3)
    opened(ns).cleanup_old_versions(older_than=timedelta(0))
    assert insist(lambda: before.insert(numbers(4))) <= 1
    assert rows(ns, "t") == [1, 2, 3, 4]
    assert versions(ns, "t") == [4, 3]


def test_a_clean_up_keeps_tagged_versions(ns: Any) -> None:
    dataset = handle(ns, "t")
    dataset.tags.create("keep", 1)
    append(ns, "t", 3)
    handle(ns, "t").cleanup_old_versions(
        older_than=timedelta(0), error_if_tagged_old_versions=False
    )
    assert versions(ns, "t") == [3, 1]
    assert rows(ns, "t", "keep") == [1]


def test_what_the_catalog_itself_created_is_cleaned_up_likewise(
    ns: Any,
) -> None:
    ns.create_table({"id": ["new"]}, stream([1]))
    append(ns, "new", 2)
    handle(ns, "new").cleanup_old_versions(older_than=timedelta(0))
    append(ns, "new", 3)
    assert versions(ns, "new") == [3, 2]
    assert rows(ns, "new") == [1, 2, 3]
