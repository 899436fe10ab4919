"""A store on a local file system."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from lanceyard.settings import Durability
from lanceyard.storage.base import PATIENCE, Entry, File, Stat, Store

REMOVALS = 10
LOCK_PAUSE = 0.001


class LocalStore(Store):
    """Files below a directory, which is created by the first write."""

    has_locks = True
    is_near = True

    def __init__(self, root: str, durability: Durability = Durability.OS) -> None:
        """Take an absolute path; nothing is read or written."""
        self._root = os.path.normpath(root)
        self._prefix = self._root.rstrip("/") + "/"
        self._durable = durability is Durability.FSYNC
        self.options = {}
        self.quick_options = {}

    def location(self, path: str) -> str:
        return self._prefix + path if path else self._root

    def relative(self, location: str) -> str | None:
        path = os.path.normpath(location)
        if path == self._root:
            return ""
        return path[len(self._prefix) :] if path.startswith(self._prefix) else None

    def contains(self, path: str) -> bool:
        root = os.path.realpath(self._root)
        return os.path.realpath(self._prefix + path).startswith(root.rstrip("/") + "/")

    def put_if_absent(self, path: str, data: bytes) -> bool:
        target = self._prefix + path
        folder = os.path.dirname(target)
        while True:
            try:
                handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
                break
            except FileExistsError:
                return False
            except FileNotFoundError:
                _make_folder(folder)
        try:
            os.write(handle, data)
            if self._durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        self._sync_directories(folder)
        return True

    def copy_if_absent(self, source: str, target: str) -> bool:
        try:
            os.link(self._prefix + source, self._prefix + target)
        except FileExistsError:
            return False
        except FileNotFoundError:
            folder = os.path.dirname(self._prefix + target)
            if os.path.exists(folder):
                raise
            _make_folder(folder)
            return self.copy_if_absent(source, target)
        except OSError:  # no hard links here
            data = self.get(source)
            if data is None:
                raise FileNotFoundError(errno.ENOENT, "is gone", source) from None
            return self.put_if_absent(target, data)
        return True

    def get(self, path: str) -> bytes | None:
        try:
            return Path(self._prefix + path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, path: str) -> bool:
        return os.access(self._prefix + path, os.F_OK)

    def probe(self, path: str) -> Callable[[], bool]:
        # access() is the cheapest question there is: no exception for a missing file.
        return partial(os.access, self._prefix + path, os.F_OK)

    def entries(self, path: str) -> Iterator[Entry]:
        try:
            with os.scandir(self._prefix + path) as found:
                for item in found:
                    yield Entry(item.name, item.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return

    def names(self, path: str) -> list[str]:
        try:
            return os.listdir(self._prefix + path)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def has_file(self, path: str) -> bool:
        entries = list(self.entries(path))
        if any(not entry.is_directory for entry in entries):
            return True
        return any(self.has_file(f"{path}/{entry.name}") for entry in entries)

    def files(self, path: str) -> Iterator[File]:
        for below in self._files_below(path):
            modified = self.modified(below)
            if modified is not None:
                yield File(below, modified)

    def changed(self, path: str) -> float | None:
        newest = self.modified(path)
        if newest is None:
            return None
        for entry in list(self.entries(path)):
            below = self.changed(f"{path}/{entry.name}")
            newest = max(newest, below or newest)
        return newest

    def move(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(f"{target!r} exists")
        destination = Path(self._prefix + target)
        destination.parent.mkdir(parents=True, exist_ok=True)
        os.rename(self._prefix + source, destination)
        self._sync_directories(str(destination.parent))

    def move_tree(self, source: str, target: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.move(source, target)

    def link_tree(self, source: str, target: str) -> None:
        for path in sorted(self._files_below(source), key=lambda path: "_versions/" in path):
            destination = Path(self._prefix + target + path.removeprefix(source))
            destination.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(self._prefix + path, destination)
            except FileExistsError:
                continue
            except FileNotFoundError:
                continue  # replaced or removed meanwhile by its writer
            except OSError:  # no hard links here
                shutil.copy2(self._prefix + path, destination)
        self.sync_tree(target)

    def _files_below(self, path: str) -> Iterator[str]:
        for entry in list(self.entries(path)):
            below = f"{path}/{entry.name}"
            if entry.is_directory:
                yield from self._files_below(below)
            else:
                yield below

    def delete(self, path: str) -> None:
        Path(self._prefix + path).unlink(missing_ok=True)

    def delete_tree(
        self, path: str, *, last: Sequence[str] = (), but: Collection[str] = ()
    ) -> bool:
        if os.path.islink(self._prefix + path):
            self.delete(path)  # and not what it leads to
            return True
        doomed = [entry for entry in self.entries(path) if entry.name not in {*last, *but}]
        for entry in doomed:
            below = f"{path}/{entry.name}"
            if entry.is_directory and not os.path.islink(self._prefix + below):
                _remove_tree(self._prefix + below)
            else:
                self.delete(below)
        for name in last:
            if name not in but:
                self.delete(f"{path}/{name}")
        # Not empty: somebody has begun anew here after we listed, and that is not ours to delete.
        with contextlib.suppress(FileNotFoundError), suppress_errno(errno.ENOTEMPTY):
            os.rmdir(self._prefix + path)
        return bool(doomed)

    @contextlib.contextmanager
    def hold(self, path: str, patience: float = PATIENCE) -> Iterator[None]:
        """Hold the directory itself locked: no file is added, and the lock goes with it."""
        target = self._prefix + path
        with contextlib.ExitStack() as opened:
            deadline = time.monotonic() + patience
            while True:
                _make_folder(target)
                try:
                    handle = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
                except FileNotFoundError:
                    continue
                opened.callback(os.close, handle)
                _lock(handle, deadline)
                if _is_at(handle, target):
                    break
                opened.close()  # it was deleted while we waited
            try:
                yield
            finally:
                # Where nothing was left in it, it goes; unless it went already, and what is there
                # now was made, and is held, by the next one.
                if _is_at(handle, target):
                    with contextlib.suppress(OSError):
                        os.rmdir(target)

    def sync_tree(self, path: str) -> None:
        if not self._durable:
            return
        for folder, _, files in os.walk(self._prefix + path, topdown=False):
            for name in files:
                _fsync(os.path.join(folder, name))
            _fsync(folder)
        self._sync_directories(os.path.dirname(self._prefix + path))

    def sync(self, path: str) -> None:
        if self._durable:
            _fsync(self._prefix + path)

    def local_path(self, path: str) -> str:
        return self.location(path)

    def stat(self, path: str) -> Stat | None:
        try:
            found = os.stat(self._prefix + path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        e_tag = f'"{found.st_ino:x}-{found.st_mtime_ns // 1000:x}-{found.st_size:x}"'
        return Stat(found.st_size, found.st_mtime, e_tag)

    def _sync_directories(self, folder: str) -> None:
        """Make a new entry durable: its folder, and those above that may be new as well."""
        if not self._durable:
            return
        while True:
            _fsync(folder)
            if len(folder) <= len(self._root):
                return
            folder = os.path.dirname(folder)


def _make_folder(path: str) -> None:
    # Also while another process deletes it, which makes `exist_ok` fail: callers try again.
    with contextlib.suppress(FileExistsError):
        os.makedirs(path, exist_ok=True)


def _lock(handle: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "held by another writer") from held
            time.sleep(LOCK_PAUSE)


def _is_at(handle: int, path: str) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(handle))


def _remove_tree(path: str) -> None:
    """Delete a directory, also while a writer that is about to notice still adds files."""
    for _ in range(REMOVALS):
        with contextlib.suppress(FileNotFoundError), suppress_errno(errno.ENOTEMPTY):
            shutil.rmtree(path)
        if not os.path.exists(path):
            return
    shutil.rmtree(path)


@contextlib.contextmanager
def suppress_errno(number: int) -> Iterator[None]:
    """Suppress an `OSError` of one kind."""
    try:
        yield
    except OSError as error:
        if error.errno != number:
            raise


def _fsync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
