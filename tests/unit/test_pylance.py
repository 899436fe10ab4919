"""What pylance does and its documentation does not promise; the manifest engine stands on it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata, write_fragments

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
LAST = 2**64 - 1


def numbers(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "text": [str(i) for i in ids]}, schema=SCHEMA)


def written(dataset: LanceDataset, *ids: int) -> list[FragmentMetadata]:
    return list(write_fragments(numbers(*ids), dataset, mode="append"))


def fragments(dataset: LanceDataset) -> list[FragmentMetadata]:
    return [fragment.metadata for fragment in dataset.get_fragments()]


def swap(dataset: LanceDataset, operation: Any) -> LanceDataset:
    return LanceDataset.commit(dataset, operation, read_version=dataset.version, max_retries=0)


def merge(dataset: LanceDataset) -> LanceDataset:
    new = written(dataset, 100)
    return swap(dataset, LanceOperation.Merge([*fragments(dataset), *new], dataset.lance_schema))


def update(dataset: LanceDataset, at: int) -> LanceDataset:
    old = fragments(dataset)[at]
    operation = LanceOperation.Update(
        removed_fragment_ids=[old.id], new_fragments=written(dataset, 200)
    )
    return swap(dataset, operation)


def update_first(dataset: LanceDataset) -> LanceDataset:
    return update(dataset, 0)


def update_last(dataset: LanceDataset) -> LanceDataset:
    return update(dataset, -1)


def overwrite(dataset: LanceDataset) -> LanceDataset:
    new = written(dataset, 300)
    return swap(dataset, LanceOperation.Overwrite(SCHEMA, [*fragments(dataset), *new]))


def append(dataset: LanceDataset) -> LanceDataset:
    return swap(dataset, LanceOperation.Append(written(dataset, 400)))


def reference_overwrite(dataset: LanceDataset) -> None:
    lance.write_dataset(numbers(1, 2, 3, 4, 500), dataset.uri, mode="overwrite")


def delete_first(dataset: LanceDataset) -> None:
    dataset.delete("id = 1")


def merge_insert(dataset: LanceDataset) -> None:
    dataset.merge_insert("id").when_matched_update_all().execute(numbers(1))


def create_index(dataset: LanceDataset) -> None:
    dataset.create_scalar_index("id", "BTREE", name="by_id")


def configure(dataset: LanceDataset) -> None:
    dataset.update_config({"k": "v"})


def describe(dataset: LanceDataset) -> None:
    dataset.update_metadata({"k": "v"})


def add_column(dataset: LanceDataset) -> None:
    dataset.add_columns({"more": "id + 1"})


LANDS, CONFLICTS = True, False
TABLE = [
    (merge, append, CONFLICTS),
    (merge, merge, CONFLICTS),
    (merge, update_first, CONFLICTS),
    (merge, update_last, CONFLICTS),
    (merge, delete_first, CONFLICTS),
    (merge, merge_insert, CONFLICTS),
    (merge, overwrite, CONFLICTS),
    (merge, reference_overwrite, CONFLICTS),
    (merge, add_column, CONFLICTS),
    (merge, create_index, LANDS),
    (merge, configure, LANDS),
    (merge, describe, LANDS),
    (update_last, append, LANDS),
    (update_last, merge, CONFLICTS),
    (update_last, update_last, CONFLICTS),
    (update_last, update_first, LANDS),
    (update_first, delete_first, CONFLICTS),
    (update_last, delete_first, LANDS),
    (update_last, overwrite, CONFLICTS),
    (update_last, reference_overwrite, CONFLICTS),
    (update_last, create_index, LANDS),
    (update_last, configure, LANDS),
    (overwrite, append, CONFLICTS),
    (overwrite, merge, CONFLICTS),
    (overwrite, update_last, CONFLICTS),
    (overwrite, delete_first, CONFLICTS),
    (overwrite, overwrite, CONFLICTS),
    (overwrite, create_index, CONFLICTS),
    (append, append, LANDS),
]
"""Our commit, what landed since the version it read, and what becomes of ours."""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def dataset(path: str) -> LanceDataset:
    """Two fragments of two rows each."""
    return lance.write_dataset(numbers(1, 2, 3, 4), path, max_rows_per_file=2)


@pytest.mark.parametrize(
    ("ours", "theirs", "lands"), TABLE, ids=[f"{o.__name__}-{t.__name__}" for o, t, _ in TABLE]
)
def test_a_commit_conflicts_with_what_landed_since_as_the_table_says(
    dataset: LanceDataset,
    ours: Callable[[LanceDataset], LanceDataset],
    theirs: Callable[[LanceDataset], Any],
    lands: bool,
) -> None:
    theirs(lance.dataset(dataset.uri))
    if lands:
        assert ours(dataset).version == dataset.version + 2
    else:
        with pytest.raises(CommitConflictError):
            ours(dataset)


def test_a_conflict_is_an_os_error() -> None:
    assert issubclass(CommitConflictError, OSError)


def test_a_merge_keeps_indexes_and_finds_new_rows(dataset: LanceDataset) -> None:
    create_index(dataset)
    merged = merge(dataset)
    assert [index.name for index in merged.describe_indices()] == ["by_id"]
    assert merged.to_table(filter="id = 100").num_rows == 1


def test_an_update_keeps_indexes_and_loses_removed_rows(dataset: LanceDataset) -> None:
    create_index(dataset)
    updated = update_first(dataset)
    assert [index.name for index in updated.describe_indices()] == ["by_id"]
    assert updated.to_table(filter="id IN (1, 2, 3, 200)")["id"].to_pylist() == [3, 200]


def test_an_overwrite_drops_indexes(dataset: LanceDataset) -> None:
    create_index(dataset)
    assert overwrite(dataset).describe_indices() == []


def test_of_many_who_create_a_table_at_once_one_wins(path: str) -> None:
    outcomes: list[BaseException | None] = []
    start = threading.Barrier(8)

    def create() -> None:
        start.wait()
        try:
            LanceDataset.commit(path, LanceOperation.Overwrite(SCHEMA, []), max_retries=0)
        except OSError as failure:
            outcomes.append(failure)
        else:
            outcomes.append(None)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count(None), len(outcomes)) == (1, 8)
    assert lance.dataset(path).version == 1


def test_creating_over_a_table_with_rows_fails_and_keeps_them(path: str) -> None:
    lance.write_dataset(numbers(1), path)
    with pytest.raises(OSError, match=r"(?i)exists|conflict|not found"):
        LanceDataset.commit(path, LanceOperation.Overwrite(SCHEMA, []), max_retries=0)
    assert lance.dataset(path).count_rows() == 1


def remove_transactions(dataset: LanceDataset) -> None:
    folder = f"{dataset.uri}/_transactions"
    for name in os.listdir(folder):
        os.unlink(f"{folder}/{name}")


def marked_merge(dataset: LanceDataset, mark: str) -> LanceDataset:
    new = written(dataset, 100)
    operation = LanceOperation.Merge([*fragments(dataset), *new], dataset.lance_schema)
    transaction = Transaction(dataset.version, operation, transaction_properties={"mark": mark})
    return LanceDataset.commit(dataset, transaction, max_retries=0)


def test_a_transaction_is_readable_after_its_file_is_gone(dataset: LanceDataset) -> None:
    version = marked_merge(dataset, "ours").version
    remove_transactions(dataset)
    transaction = lance.dataset(dataset.uri).read_transaction(version)
    assert transaction is not None
    assert transaction.transaction_properties == {"mark": "ours"}


def test_a_transaction_whose_file_is_gone_still_conflicts(dataset: LanceDataset) -> None:
    marked_merge(lance.dataset(dataset.uri), "theirs")
    remove_transactions(dataset)
    with pytest.raises(CommitConflictError):
        merge(dataset)


def clean_up(dataset: LanceDataset) -> None:
    dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)


def test_a_stale_commit_is_stopped_by_a_fence_that_outlives_clean_up(
    dataset: LanceDataset,
) -> None:
    other = update_first(lance.dataset(dataset.uri))
    fence = swap(other, LanceOperation.Merge(fragments(other), other.lance_schema))
    clean_up(fence)
    for stale in (merge, update_first, update_last):
        with pytest.raises(CommitConflictError):
            stale(dataset)
    assert lance.dataset(dataset.uri).to_table()["id"].to_pylist() == [3, 4, 200]


def test_a_fence_changes_no_row_and_keeps_indexes(dataset: LanceDataset) -> None:
    create_index(dataset)
    fence = swap(dataset, LanceOperation.Merge(fragments(dataset), dataset.lance_schema))
    assert fence.to_table() == dataset.to_table()
    assert [index.name for index in fence.describe_indices()] == ["by_id"]


def test_without_batches_no_fragment_is_written(dataset: LanceDataset, path: str) -> None:
    empty = pa.RecordBatchReader.from_batches(SCHEMA, [])
    assert list(write_fragments(empty, dataset, mode="append")) == []
    assert list(write_fragments(SCHEMA.empty_table(), f"{path}-new", mode="create")) == []


def test_a_manifest_ends_with_the_magic_bytes(dataset: LanceDataset) -> None:
    merge(dataset)
    for manifest in Path(dataset.uri, "_versions").glob("*.manifest"):
        assert manifest.read_bytes().endswith(b"LANC")


def test_manifests_are_numbered_downwards_from_the_last_number(dataset: LanceDataset) -> None:
    merge(dataset)
    names = {path.name for path in Path(dataset.uri, "_versions").glob("*.manifest")}
    assert names == {f"{LAST - version:020d}.manifest" for version in (1, 2)}


def test_a_torn_manifest_cannot_be_opened_and_an_older_version_can(dataset: LanceDataset) -> None:
    newest = Path(dataset.uri, "_versions", f"{LAST - merge(dataset).version:020d}.manifest")
    newest.write_bytes(newest.read_bytes()[:-7])
    with pytest.raises((OSError, ValueError)):
        lance.dataset(dataset.uri, version=2)
    assert lance.dataset(dataset.uri, version=1).count_rows() == 4


def test_a_commit_names_its_transaction_file_by_version_and_mark(dataset: LanceDataset) -> None:
    mark = "11111111-2222-3333-4444-555555555555"
    operation = LanceOperation.Merge(fragments(dataset), dataset.lance_schema)
    LanceDataset.commit(dataset, Transaction(1, operation, mark), max_retries=0)
    assert Path(dataset.uri, "_transactions", f"1-{mark}.txn").exists()


def test_rows_are_scanned_in_the_order_of_fragments(dataset: LanceDataset) -> None:
    merged = merge(dataset)
    scanner = merged.scanner(fragments=merged.get_fragments(), scan_in_order=True)
    assert scanner.to_table()["id"].to_pylist() == [1, 2, 3, 4, 100]


def test_metadata_and_config_survive_merges_and_updates(dataset: LanceDataset) -> None:
    configure(dataset)
    describe(dataset)
    last = update_last(merge(lance.dataset(dataset.uri)))
    assert (last.metadata["k"], last.config()["k"]) == ("v", "v")


@pytest.mark.parametrize("name", ["é", "a b", "50%", "#1", "q?", "o'brien", "a$b", "v1.0"])
def test_a_plain_path_with_an_odd_name_opens(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    lance.write_dataset(numbers(1), path)
    assert os.path.isdir(path)
    assert lance.dataset(path).count_rows() == 1
