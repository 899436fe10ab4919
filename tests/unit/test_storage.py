"""Storage: one behaviour, on local disk with either durability and on an object store."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import obstore
import pytest
from obstore import exceptions
from obstore.store import MemoryStore

from lanceyard.errors import InvalidInputError
from lanceyard.settings import DirectorySettings, Durability
from lanceyard.storage import Entry, LocalStore, Store, open_store
from lanceyard.storage.failures import os_errors
from lanceyard.storage.options import with_plain_http
from lanceyard.storage.remote import RemoteStore

ODD = "é b/50%/#1?.txt"


@pytest.fixture(params=["fsync", "os", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "remote":
        return RemoteStore("memory:///top", {}, MemoryStore())
    return LocalStore(str(tmp_path / "root"), Durability(request.param))


def put(store: Store, *paths: str) -> None:
    for path in paths:
        assert store.put_if_absent(path, path.encode())


def files(store: Store, path: str) -> set[str]:
    found: set[str] = set()
    for entry in store.entries(path):
        below = f"{path}/{entry.name}".lstrip("/")
        found |= files(store, below) if entry.is_directory else {below}
    return found


def test_a_file_reads_back(store: Store) -> None:
    assert store.put_if_absent("a/b", b"data")
    assert store.get("a/b") == b"data"


def test_a_file_of_an_odd_name_reads_back(store: Store) -> None:
    put(store, ODD)
    assert store.get(ODD) == ODD.encode()
    assert files(store, "") == {ODD}


def test_putting_a_second_time_changes_nothing(store: Store) -> None:
    put(store, "a")
    assert not store.put_if_absent("a", b"other")
    assert store.get("a") == b"a"


def test_a_missing_file_has_no_content(store: Store) -> None:
    put(store, "file")
    assert [store.get(path) for path in ("missing", "missing/x", "file/x")] == [None] * 3


def test_a_file_and_its_directories_exist(store: Store) -> None:
    put(store, "a/b/c")
    assert [store.exists(p) for p in ("a/b/c", "a/b", "a", "a/b/d", "b")] == [True] * 3 + [
        False,
        False,
    ]


def test_a_name_that_begins_alike_does_not_exist(store: Store) -> None:
    put(store, "table.lance/x")
    assert not store.exists("table")
    assert not store.has_file("table")


def test_entries_are_the_names_directly_below(store: Store) -> None:
    put(store, "a/file", "a/folder/x", "a/folder/y", "other")
    assert set(store.entries("a")) == {Entry("file", False), Entry("folder", True)}


def test_the_root_can_be_listed(store: Store) -> None:
    put(store, "file", "folder/x")
    assert set(store.entries("")) == {Entry("file", False), Entry("folder", True)}


@pytest.mark.parametrize("path", ["", "missing", "missing/x", "file"])
def test_where_there_is_no_directory_there_are_no_entries(store: Store, path: str) -> None:
    if path == "file":
        put(store, "file")
    assert list(store.entries(path)) == []


def test_a_file_is_found_however_deep(store: Store) -> None:
    put(store, "a/b/c/d")
    assert [store.has_file(path) for path in ("a", "a/b/c", "b")] == [True, True, False]


def test_moving_leaves_nothing_behind(store: Store) -> None:
    put(store, "a/x")
    store.move("a/x", "b/y")
    assert (store.get("b/y"), store.exists("a/x")) == (b"a/x", False)


def test_nothing_is_moved_onto_another_file(store: Store) -> None:
    put(store, "a", "b")
    with pytest.raises(FileExistsError):
        store.move("a", "b")
    assert (store.get("a"), store.get("b")) == (b"a", b"b")


def test_moving_what_is_not_there_fails(store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        store.move("missing", "b")


def test_a_linked_tree_has_the_same_files(store: Store) -> None:
    put(store, "a/data/x", "a/_versions/1.manifest", "a/top")
    store.link_tree("a", "deep/b")
    assert files(store, "deep/b") == {
        "deep/b/data/x",
        "deep/b/_versions/1.manifest",
        "deep/b/top",
    }
    assert store.get("deep/b/data/x") == b"a/data/x"


def test_linking_keeps_what_is_there(store: Store) -> None:
    put(store, "a/x", "a/y", "b/x")
    store.link_tree("a", "b")
    assert (store.get("b/x"), store.get("b/y")) == (b"b/x", b"a/y")


def test_a_linked_tree_outlives_its_source(store: Store) -> None:
    put(store, "a/x")
    store.link_tree("a", "b")
    store.delete_tree("a")
    assert (store.get("b/x"), store.exists("a")) == (b"a/x", False)


def test_a_file_is_deleted_once_and_for_all(store: Store) -> None:
    put(store, "a")
    store.delete("a")
    store.delete("a")
    assert not store.exists("a")


def test_a_deleted_tree_is_gone_with_its_directory(store: Store) -> None:
    put(store, "a/b/c", "a/d", "ab/e")
    store.delete_tree("a")
    assert set(store.entries("")) == {Entry("ab", True)}


def test_deleting_a_tree_that_is_not_there_does_nothing(store: Store) -> None:
    store.delete_tree("missing")
    store.delete_tree("missing", last=["marker"])


def test_the_last_files_of_a_tree_are_deleted_too(store: Store) -> None:
    put(store, "a/marker", "a/second", "a/b/c", "b")
    store.delete_tree("a", last=["marker", "second", "missing"])
    assert set(store.entries("")) == {Entry("b", False)}


def test_a_link_is_deleted_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").touch()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    LocalStore(str(tmp_path / "root")).delete_tree("link")
    assert (tmp_path / "outside" / "x").exists()
    assert not (tmp_path / "root" / "link").is_symlink()


def test_a_link_out_of_the_root_is_not_contained(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    store = LocalStore(str(tmp_path / "root"))
    assert (store.contains("link"), store.contains("link/x"), store.contains("a")) == (
        False,
        False,
        True,
    )


@pytest.mark.parametrize("path", ["", "a", "a/b", "é b/50%", "a.lance"])
def test_a_location_leads_back_to_its_path(store: Store, path: str) -> None:
    assert store.relative(store.location(path)) == path


@pytest.mark.parametrize("beside", ["..", "../b", "a/../.."])
def test_a_location_outside_the_root_has_no_path(store: Store, beside: str) -> None:
    assert store.relative(store.location(beside)) is None


def test_a_root_whose_name_begins_alike_is_another_place(store: Store) -> None:
    assert store.relative(store.location("") + "-more/a") is None


def test_a_written_file_tells_when(store: Store) -> None:
    put(store, "a")
    assert (store.modified("a") or 0) > 1_700_000_000
    assert store.modified("missing") is None


def test_syncing_is_always_allowed(store: Store) -> None:
    put(store, "a/b/c")
    store.sync_tree("a")
    store.sync("a/b/c")
    store.sync("a/b")


def test_making_a_store_writes_nothing(tmp_path: Path) -> None:
    store = open_store(DirectorySettings(root=str(tmp_path / "root")))
    assert not store.exists("")
    assert list(tmp_path.iterdir()) == []


def test_reading_creates_no_directory(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path / "root"))
    store.get("a")
    store.delete("a")
    store.delete_tree("b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["{}", "file://{}", "file://localhost{}", "{}/", "{}/x/.."])
def test_a_local_root_is_a_path_or_a_uri(tmp_path: Path, form: str) -> None:
    store = open_store(DirectorySettings(root=form.format(tmp_path)))
    assert store.location("a") == f"{tmp_path}/a"


def test_percent_signs_mean_bytes_in_a_uri_and_themselves_in_a_path(tmp_path: Path) -> None:
    by_uri = open_store(DirectorySettings(root=f"file://{tmp_path}/a%20b"))
    by_path = open_store(DirectorySettings(root=f"{tmp_path}/a%20b"))
    assert (by_uri.location(""), by_path.location("")) == (
        f"{tmp_path}/a b",
        f"{tmp_path}/a%20b",
    )


def test_a_relative_root_counts_from_the_current_folder() -> None:
    store = open_store(DirectorySettings(root="some/where"))
    assert store.location("") == os.path.join(os.getcwd(), "some", "where")


@pytest.mark.parametrize(
    "root", ["file://elsewhere/x", "nonsense://x/y", "abfs://x@y/z", "s3a://x/y"]
)
def test_a_root_that_cannot_be_opened_is_refused(root: str) -> None:
    with pytest.raises(InvalidInputError, match=root):
        open_store(DirectorySettings(root=root))


def test_a_file_in_the_way_of_a_directory_is_an_error(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    put(store, "a")
    with pytest.raises(OSError, match="a"):
        store.put_if_absent("a/b", b"")


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (exceptions.NotFoundError, FileNotFoundError),
        (exceptions.AlreadyExistsError, FileExistsError),
        (exceptions.PreconditionError, FileExistsError),
        (exceptions.PermissionDeniedError, PermissionError),
        (exceptions.UnauthenticatedError, PermissionError),
        (exceptions.GenericError, OSError),
    ],
)
def test_what_an_object_store_raises_reads_as_an_os_error(
    raised: type[Exception], expected: type[OSError]
) -> None:
    with pytest.raises(expected, match="why") as failure, os_errors("a"):
        raise raised("why")
    assert failure.value.filename == "a"
    assert failure.value.errno in (errno.ENOENT, errno.EEXIST, errno.EACCES, errno.EIO)
    assert isinstance(failure.value.__cause__, raised)


def test_an_http_endpoint_allows_plain_http() -> None:
    assert with_plain_http({"aws_endpoint": "http://localhost"})["allow_http"] == "true"
    assert "allow_http" not in with_plain_http({"aws_endpoint": "https://localhost"})


def test_a_remote_store_shares_its_bucket_with_others() -> None:
    bucket = MemoryStore()
    store = RemoteStore("memory:///top", {}, bucket)
    obstore.put(bucket, "a/b", b"theirs")
    assert store.get("a/b") == b"theirs"
    assert not store.put_if_absent("a/b", b"ours")
