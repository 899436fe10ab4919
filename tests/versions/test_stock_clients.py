"""Stock pylance and lancedb on a catalog that keeps versions: all they do is rows, and settles."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lance
import lancedb
import pyarrow as pa
import pytest

from tests.races.arena import RACERS, Processes, stream
from tests.versions.managed import (
    append,
    append_many,
    check_settled,
    content,
    create,
    foreign,
    handle,
    location,
    numbers,
    numbers_of,
    open_managed,
    properties,
    rows,
    staged_files,
    version_rows,
    versions,
)

ODD_NAMES = ["with spaces", "été", "a#b", "100%", "%20", "who?", "a+b&c=d", "l" * 200, "é" * 100]


class Desk:
    """A client at work: instances on one root, and what must hold when they are closed."""

    def __init__(self, root: Path, mode: str) -> None:
        self.root = root
        self.mode = mode
        self._opened: list[Any] = []
        self.ns = self.again()

    def create(self, *values: int) -> Any:
        return create(self.ns, "t", *values)

    def again(self) -> Any:
        """Another instance."""
        self._opened.append(open_managed(self.root, self.mode))
        return self._opened[-1]

    def close(self) -> None:
        for instance in self._opened:
            instance.close()

    def check(self, expected: list[int], *, version: int) -> None:
        """Every version up to the latest one is a row, and new instances read what is expected."""
        assert rows(self.ns, "t") == expected
        assert rows(self.again(), "t") == expected
        assert handle(self.again(), "t").version == version
        self.close()
        assert numbers_of(self.root, "t") == [*range(1, version + 1)]
        assert versions(self.ns, "t") == [*range(version, 0, -1)]
        check_settled(self.root)
        assert staged_files(self.root) == []
        assert lance.dataset(location(self.ns, "t")).version == version


@pytest.fixture
def desk(root: Path, mode: str) -> Iterator[Desk]:
    made = Desk(root, mode)
    yield made
    made.close()


def test_create(desk: Desk) -> None:
    desk.create(1, 2)
    desk.check([1, 2], version=1)


def test_append_by_identifier(desk: Desk) -> None:
    desk.create(1)
    append(desk.ns, "t", 2)
    append(desk.ns, "t", 3)
    desk.check([1, 2, 3], version=3)


def test_append_to_what_the_catalog_created(desk: Desk) -> None:
    desk.ns.create_table({"id": ["t"]}, stream([1]))
    append(desk.ns, "t", 2)
    desk.check([1, 2], version=2)


def test_append_to_what_was_declared(desk: Desk) -> None:
    desk.ns.declare_table({"id": ["t"]})
    append(desk.ns, "t", 1)
    desk.check([1], version=1)


def test_overwrite(desk: Desk) -> None:
    desk.create(1)
    lance.write_dataset(numbers(7), namespace_client=desk.ns, table_id=["t"], mode="overwrite")
    desk.check([7], version=2)


def _delete(dataset: lance.LanceDataset) -> None:
    dataset.delete("n = 2")


def _update(dataset: lance.LanceDataset) -> None:
    dataset.update({"n": "n + 10"}, where="n = 3")


def _merge(dataset: lance.LanceDataset) -> None:
    merge = dataset.merge_insert("n").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(numbers(3, 9))


def _index(dataset: lance.LanceDataset) -> None:
    dataset.create_scalar_index("n", "BTREE")


def _add_columns(dataset: lance.LanceDataset) -> None:
    dataset.add_columns({"twice": "n * 2"})


def _compact(dataset: lance.LanceDataset) -> None:
    dataset.insert(numbers(4))
    dataset.optimize.compact_files()


def _configure(dataset: lance.LanceDataset) -> None:
    dataset.update_config({"k": "v"})


@pytest.mark.parametrize(
    ("work", "expected", "version"),
    [
        pytest.param(_delete, [1, 3], 2, id="delete"),
        pytest.param(_update, [1, 2, 13], 2, id="update"),
        pytest.param(_merge, [1, 2, 3, 9], 2, id="merge_insert"),
        pytest.param(_index, [1, 2, 3], 2, id="scalar index"),
        pytest.param(_add_columns, [1, 2, 3], 2, id="add_columns"),
        pytest.param(_compact, [1, 2, 3, 4], 4, id="compact_files"),
        pytest.param(_configure, [1, 2, 3], 2, id="update_config"),
    ],
)
def test_a_handle_commits_through_the_catalog(
    desk: Desk, work: Callable[[lance.LanceDataset], None], expected: list[int], version: int
) -> None:
    work(desk.create(1, 2, 3))
    desk.check(expected, version=version)


def test_an_index_and_a_column_are_there_for_others(desk: Desk) -> None:
    dataset = desk.create(1, 2)
    _index(dataset)
    _add_columns(dataset)
    other = handle(desk.again(), "t")
    assert [index.name for index in other.describe_indices()] == ["n_idx"]
    assert sorted(other.to_table()["twice"].to_pylist()) == [2, 4]
    desk.check([1, 2], version=3)


def test_a_version_can_be_checked_out_and_restored(desk: Desk) -> None:
    dataset = desk.create(1)
    dataset.insert(numbers(2))
    dataset.delete("n = 1")
    old = dataset.checkout_version(2)
    assert content(old) == [1, 2]
    assert rows(desk.ns, "t", 1) == [1]
    old.restore()
    desk.check([1, 2], version=4)


def test_a_tag_leads_to_its_version(desk: Desk) -> None:
    dataset = desk.create(1)
    dataset.insert(numbers(2))
    dataset.tags.create("first", 1)
    assert rows(desk.ns, "t", "first") == [1]
    assert content(handle(desk.again(), "t").checkout_version("first")) == [1]
    desk.check([1, 2], version=2)


def test_a_branch_and_main_have_the_same_version_and_no_conflict(desk: Desk) -> None:
    main = desk.create(1)
    branch = main.create_branch("side")
    branch.insert(numbers(70))
    main.insert(numbers(2))
    assert branch.version == main.version == 2
    branch.insert(numbers(71))
    assert content(handle(desk.again(), "t").checkout_version(("side", None))) == [1, 70, 71]
    assert max(versions(desk.ns, "t", branch="side")) == 3
    assert desk.ns.describe_table_version({"id": ["t"], "version": 2}).version.version == 2
    desk.check([1, 2], version=2)


def test_stale_handles_are_rebased(desk: Desk) -> None:
    desk.create(1)
    first, second = handle(desk.ns, "t"), handle(desk.again(), "t")
    first.insert(numbers(2))
    second.insert(numbers(3))
    first.insert(numbers(4))
    desk.check([1, 2, 3, 4], version=4)


def test_a_dropped_table_begins_anew(desk: Desk) -> None:
    desk.create(1)
    append(desk.ns, "t", 2)
    desk.ns.drop_table({"id": ["t"]})
    desk.create(3)
    desk.check([3], version=1)


def test_a_renamed_table_keeps_its_versions(desk: Desk) -> None:
    create(desk.ns, "before", 1)
    append(desk.ns, "before", 2)
    desk.ns.rename_table({"id": ["before"], "new_table_name": "t"})
    append(desk.ns, "t", 3)
    desk.check([1, 2, 3], version=3)


def test_a_pickled_namespace_reads_and_writes(desk: Desk) -> None:
    desk.create(1)
    copy = pickle.loads(pickle.dumps(desk.ns))
    append(copy, "t", 2)
    assert rows(copy, "t") == [1, 2]
    copy.close()
    desk.check([1, 2], version=2)


def test_a_pickled_handle_reads_its_version_and_what_comes_after(desk: Desk) -> None:
    dataset = desk.create(1)
    dataset.insert(numbers(2))
    copy = pickle.loads(pickle.dumps(dataset))
    dataset.insert(numbers(3))
    assert content(copy) == [1, 2]
    assert rows(desk.ns, "t") == [1, 2, 3]
    desk.check([1, 2, 3], version=3)


def test_handles_of_one_namespace_serve_threads(desk: Desk) -> None:
    desk.create(-1)
    barrier = threading.Barrier(4, timeout=60)
    failures: list[Exception] = []

    def work(first: int) -> None:
        barrier.wait()
        try:
            for value in range(first, first + 5):
                append(desk.ns, "t", value)
                assert value in rows(desk.ns, "t")
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(5 * i,), daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    desk.check([*range(-1, 20)], version=21)


def test_one_handle_serves_readers_in_threads(desk: Desk) -> None:
    dataset = desk.create(1)
    answers: list[list[int]] = []

    def read() -> None:
        answers.append(content(dataset))

    threads = [threading.Thread(target=read, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [[1]] * 8


@pytest.mark.parametrize("each", [25, pytest.param(100, marks=pytest.mark.deep)])
def test_processes_lose_nothing_and_double_nothing(
    processes: Processes, root: Path, each: int
) -> None:
    ns = open_managed(root)
    create(ns, "t")
    values = [range(i * each, (i + 1) * each) for i in range(RACERS)]
    told = processes.run([partial(append_many, str(root), "v2", "t", part) for part in values])
    assert told == [[]] * RACERS
    total = RACERS * each
    assert rows(ns, "t") == [*range(total)]
    ns.close()
    assert numbers_of(root, "t") == [*range(1, total + 2)]
    check_settled(root)
    assert staged_files(root) == []
    assert foreign(ns, "t") == []


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_table_may_have_an_odd_name(root: Path, mode: str, name: str) -> None:
    ns = open_managed(root, mode)
    create(ns, name, 1)
    append(ns, name, 2)
    handle(ns, name).delete("n = 1")
    assert rows(open_managed(root, mode), name) == [2]
    assert rows(ns, name, 2) == [1, 2]
    ns.close()
    assert numbers_of(root, name) == [1, 2, 3]
    check_settled(root)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_the_root_may_have_an_odd_name(tmp_path: Path, name: str) -> None:
    root = tmp_path / name / "root"
    ns = open_managed(root)
    create(ns, "t", 1)
    append(ns, "t", 2)
    handle(ns, "t").delete("n = 1")
    assert rows(open_managed(root), "t") == [2]
    assert rows(ns, "t", 2) == [1, 2]
    ns.close()
    assert numbers_of(root, "t") == [1, 2, 3]
    check_settled(root)


def test_tables_whose_names_look_like_versions_are_apart(ns: Any) -> None:
    ns.create_namespace({"id": ["t"]})
    lance.write_dataset(numbers(1), namespace_client=ns, table_id=["t", "1"])
    lance.write_dataset(numbers(2), namespace_client=ns, table_id=["1"])
    for table, value in ((["t", "1"], 1), (["1"], 2)):
        dataset = lance.dataset(namespace_client=ns, table_id=table)
        dataset.insert(numbers(3))
        assert content(dataset) == [value, 3]
        listed = ns.list_table_versions({"id": table}).versions
        assert [version.version for version in listed] == [2, 1]


def lancedb_at(desk: Desk) -> Any:
    return lancedb.connect_namespace(
        "lanceyard.DirectoryNamespace", properties(desk.root, desk.mode)
    )


def test_lancedb_creates_adds_reads_and_lists_versions(desk: Desk) -> None:
    database = lancedb_at(desk)
    table = database.create_table("t", numbers(1, 2))
    table.add(numbers(3))
    assert table.version == 2
    assert [version["version"] for version in table.list_versions()] == [1, 2]
    assert sorted(database.open_table("t").to_arrow()["n"].to_pylist()) == [1, 2, 3]
    database.open_table("t").delete("n = 1")
    assert rows(desk.ns, "t", 2) == [1, 2, 3]
    assert versions(desk.ns, "t") == [3, 2, 1]
    assert rows(desk.ns, "t") == [2, 3]


def test_lancedb_and_pylance_take_turns(desk: Desk) -> None:
    desk.create(1)
    table = lancedb_at(desk).open_table("t")
    table.add(numbers(2))
    append(desk.ns, "t", 3)
    table.checkout_latest()
    assert sorted(table.to_arrow()["n"].to_pylist()) == [1, 2, 3]
    table.add(numbers(4))
    table.checkout(2)
    assert sorted(table.to_arrow()["n"].to_pylist()) == [1, 2]
    assert rows(desk.ns, "t") == [1, 2, 3, 4]
    assert versions(desk.ns, "t") == [4, 3, 2, 1]


def test_rows_say_what_the_writer_said(desk: Desk) -> None:
    desk.create(1)
    desk.ns.close()
    [row] = version_rows(desk.root)
    path = desk.root / row.said["manifest_path"]
    assert row.said["manifest_size"] == path.stat().st_size
    assert row.said["naming_scheme"] == "V2"
    described = desk.ns.describe_table_version({"id": ["t"]}).version
    assert f"/{described.manifest_path}" == str(path)
    assert (described.e_tag, described.manifest_size) == (
        row.said["e_tag"],
        row.said["manifest_size"],
    )


def test_a_table_with_many_kinds_of_columns_is_read_as_written(desk: Desk) -> None:
    table = pa.table(
        {
            "n": pa.array([1, 2], pa.int64()),
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "text": ["é", None],
        }
    )
    lance.write_dataset(table, namespace_client=desk.ns, table_id=["t"], mode="create")
    assert handle(desk.again(), "t").to_table() == table
