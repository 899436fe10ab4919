"""A store on an object store (S3, Azure, GCS), through obstore."""

from __future__ import annotations

import errno
import posixpath
import random
import re
import time
import uuid
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

import obstore
from obstore import exceptions
from obstore.store import from_url

from lanceyard.errors import InvalidInputError
from lanceyard.storage.base import Entry, File, Stat, Store
from lanceyard.storage.failures import as_os_error, os_errors
from lanceyard.storage.guard import Guard
from lanceyard.storage.headway import Headway
from lanceyard.storage.options import (
    LONG_PATIENCE,
    RETRY,
    for_obstore,
    impatient,
    with_plain_http,
)

MARK = "lanceyardput"
"""The metadata by which a write is known again whose reply was lost."""
COPIERS = 16
PAGE = 1_000
"""How many keys a listing gives at once."""
PUTTING = 5.0
"""Seconds within which a write is tried again."""
FIRST_PAUSE = 0.05
SCHEMES = ("s3", "az", "abfss", "gs")
"""Those that both Lance and obstore know."""
NOT_IN_URIS = re.compile("[%#? ]")
"""What would end the path of a URI, or stand for something else in it."""


class RemoteStore(Store):
    """Objects below a prefix of a bucket."""

    def __init__(
        self,
        root: str,
        options: Mapping[str, str],
        store: Any = None,
        *,
        unsafe: bool = False,
    ) -> None:
        """Take the URI of the root; `store` replaces the obstore store that it names.

        Unless it is `unsafe`, the first write makes sure that the store keeps conditions.
        """
        self._root = root.rstrip("/")
        self.keeps_conditions = not unsafe
        self._guard = Guard(root, options, is_off=unsafe)
        self.options = with_plain_http(options)
        self.quick_options = impatient(self.options)
        self._given = store
        self._store = store if store is not None else open_remote(self._root, self.options)

    @cached_property
    def _once(self) -> Any:
        """For writes: sent again after a lost reply by obstore, one would be found refused."""
        return self._given or open_remote(self._root, self.options, {**RETRY, "max_retries": 0})

    @cached_property
    def _patient(self) -> Any:
        """For requests about a thousand files, or a large one, which may take their time."""
        return self._given or open_remote(self._root, {**LONG_PATIENCE, **self.options})

    def location(self, path: str) -> str:
        return f"{self._root}/{escaped(path)}" if path else self._root

    def relative(self, location: str) -> str | None:
        scheme, _, path = location.partition("://")
        normal = f"{scheme}://{posixpath.normpath(path)}"
        if normal == self._root:
            return ""
        below = self._root + "/"
        return unquote(normal[len(below) :]) if normal.startswith(below) else None

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self._put(path, data, uuid.uuid4().hex)

    def _put(self, path: str, data: bytes, mark: str) -> bool:
        """Create a file, and find out whether we did if a reply is lost."""
        failure: OSError | None = None
        for pause in _pauses():
            time.sleep(pause)
            try:
                with os_errors(path):
                    obstore.put(self._once, path, data, mode="create", attributes={MARK: mark})
            except FileExistsError:
                return failure is not None and self._is_marked(path, mark)
            except PermissionError:
                raise
            except OSError as lost:
                failure = lost
            else:
                self._require_conditions(path, data, undo=True)
                return True
        assert failure is not None
        raise failure

    def prove_conditions(self, path: str) -> None:
        if self._guard.is_due:
            data = self.get(path)
            if data is not None:
                self._require_conditions(path, data)

    def _require_conditions(self, path: str, data: bytes, *, undo: bool = False) -> None:
        """Write a file that is there once more, on condition that it is not.

        If that succeeds, the store is refused, and the file deleted if it was new. It may be sent
        more than once: what is there stays there.
        """
        if not self._guard.is_due:
            return
        try:
            with os_errors(path):
                obstore.put(self._store, path, data, mode="create")
        except FileExistsError:
            self._guard.has_passed()
        else:
            if undo:
                self.delete(path)
            raise self._guard.refusal()

    def _is_marked(self, path: str, mark: str) -> bool:
        """Whether it was one of our own writes that created a file."""
        try:
            with os_errors(path):
                return obstore.get(self._store, path).attributes.get(MARK) == mark
        except FileNotFoundError:
            return False

    def copy_if_absent(self, source: str, target: str) -> bool:
        # Not every store can copy on that condition; manifests are small.
        data = self.get(source)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, "is gone", source)
        return self._put(target, data, _mark_of_copy(source))

    def is_copy(self, path: str, source: str) -> bool:
        return self._is_marked(path, _mark_of_copy(source))

    def get(self, path: str) -> bytes | None:
        try:
            with os_errors(path):
                return bytes(obstore.get(self._store, path).bytes())
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        return self.is_file(path) or self.has_file(path)

    def is_file(self, path: str) -> bool:
        return self.stat(path) is not None

    def entries(self, path: str) -> Iterator[Entry]:
        prefix = path or None
        with os_errors(path):
            found = obstore.list_with_delimiter(self._store, prefix)
        for folder in found["common_prefixes"]:
            yield Entry(posixpath.basename(folder.rstrip("/")), is_directory=True)
        for item in found["objects"]:
            yield Entry(posixpath.basename(item["path"]), is_directory=False)

    def has_file(self, path: str) -> bool:
        with os_errors(path):
            return any(len(page) for page in obstore.list(self._store, path, chunk_size=1))

    def inhabited(self, path: str) -> set[str]:
        names: set[str] = set()
        after = None
        while True:
            page = self._page(path, after)
            names.update(_first_part(path, key) for key in page)
            if len(page) < PAGE:
                return names
            after = _beyond(path, _first_part(path, page[-1]))

    def some_names(self, path: str, after: str, enough: int) -> tuple[list[str], bool]:
        page = self._page(path, posixpath.join(path, after) if after else None)
        names = list(dict.fromkeys(_first_part(path, key) for key in page))
        if len(page) < PAGE:
            return names, True
        if len(names) > enough:
            return names[:-1], False  # of the last there may be more to come
        return sorted(name for name in self.names(path) if name > after), True

    def _page(self, path: str, after: str | None) -> list[str]:
        """The first keys below a directory, or those after one; one request."""
        with os_errors(path):
            found = obstore.list(self._store, path or None, offset=after, chunk_size=PAGE)
            return [item["path"] for item in next(iter(found), ())]

    def files(self, path: str) -> Iterator[File]:
        with os_errors(path):
            for page in obstore.list(self._store, path):
                for item in page:
                    yield File(item["path"], item["last_modified"].timestamp())

    def changed(self, path: str) -> float | None:
        return max((file.modified for file in self.files(path)), default=self.modified(path))

    def move(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(f"{target!r} exists")
        with os_errors(source):
            obstore.copy(self._patient, source, target)
        self.delete(source)

    def move_files(self, files: Mapping[str, str]) -> None:
        self.delete_all(files.keys() - self._copy_all("", files.items()))

    def move_tree(self, source: str, target: str) -> None:
        self.link_tree(source, target)
        self.delete_tree(source)

    def link_tree(self, source: str, target: str) -> None:
        present = set(self._below(target))
        pairs = {path: target + path.removeprefix(source) for path in self._below(source)}
        for is_manifest in (False, True):
            self._copy_all(
                source,
                (
                    (path, copy)
                    for path, copy in pairs.items()
                    if copy not in present and ("_versions/" in path) is is_manifest
                ),
            )

    def link_files(self, files: Mapping[str, str]) -> None:
        lost = self._copy_all("", files.items())
        if lost:
            raise FileNotFoundError(errno.ENOENT, "is gone", lost[0])

    def _copy_all(self, path: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Have the store copy objects below a path, several at a time; return what is gone."""
        lost = []
        headway = Headway("copying", path)
        with ThreadPoolExecutor(COPIERS) as copiers:
            copied = [(source, copiers.submit(self._copy, source, to)) for source, to in pairs]
            for source, found in copied:
                if not found.result():
                    lost.append(source)
                headway.add(1)
        return lost

    def _copy(self, source: str, target: str) -> bool:
        try:
            with os_errors(source):
                obstore.copy(self._patient, source, target)
        except FileNotFoundError:
            return False  # it was replaced or removed meanwhile by its writer
        return True

    def delete(self, path: str) -> None:
        try:
            with os_errors(path):
                obstore.delete(self._store, path)
        except FileNotFoundError:
            return

    def delete_own(self, path: str, data: bytes) -> None:
        failure: OSError | None = None
        for pause in _pauses():
            time.sleep(pause)
            if failure is not None and self.get(path) != data:
                return  # what failed was carried out, and another may have come since
            try:
                with os_errors(path):
                    obstore.delete(self._once, path)
            except FileNotFoundError:
                return
            except PermissionError:
                raise
            except OSError as lost:
                failure = lost
            else:
                return
        assert failure is not None
        raise failure

    def delete_all(self, paths: Iterable[str]) -> None:
        doomed = list(paths)
        try:
            with os_errors(next(iter(doomed), "")):
                obstore.delete(self._patient, doomed)
        except FileNotFoundError:
            # Azure says so of one that is gone, and not what became of the others.
            with ThreadPoolExecutor(COPIERS) as deleters:
                deque(deleters.map(self.delete, doomed), maxlen=0)

    def delete_tree(
        self, path: str, *, last: Sequence[str] = (), but: Collection[str] = ()
    ) -> bool:
        named = {f"{path}/{name}" for name in (*last, *but)}
        found: set[str] = set()
        headway = Headway("deleting", path)
        deleted = False
        with os_errors(path):
            for page in obstore.list(self._store, path, chunk_size=PAGE):
                doomed = [item["path"] for item in page if item["path"] not in named]
                found.update(named.intersection(item["path"] for item in page))
                if doomed:
                    self.delete_all(doomed)
                    headway.add(len(doomed))
                    deleted = True
        for name in last:
            if name not in but and f"{path}/{name}" in found:
                self.delete(f"{path}/{name}")
        return deleted

    def sync_tree(self, path: str) -> None:
        """Nothing to do: an object store answers a write once it is durable."""

    def stat(self, path: str) -> Stat | None:
        try:
            with os_errors(path):
                found = obstore.head(self._store, path)
        except FileNotFoundError:
            return None
        return Stat(found["size"], found["last_modified"].timestamp(), found["e_tag"])

    def _below(self, path: str) -> list[str]:
        return [file.path for file in self.files(path)]


def open_remote(root: str, options: Mapping[str, str], retry: Mapping[str, Any] = RETRY) -> Any:
    """Open the obstore store that a URI names, with Lance's option names."""
    scheme = root.partition("://")[0].lower()
    if scheme not in SCHEMES:
        known = ", ".join(f"{each}://" for each in SCHEMES)
        raise InvalidInputError(f"cannot open root {root!r}: it is none of {known}")
    config, client = for_obstore(options)
    try:
        return from_url(root, config=config, client_options=client, retry_config=retry)  # type: ignore[call-overload]
    except (exceptions.BaseError, ValueError) as cause:
        raise InvalidInputError(
            f"cannot open root {root!r}: {as_os_error(cause, root).strerror}"
        ) from None


def escaped(path: str) -> str:
    """A path as part of a URI: Lance takes it apart as one."""
    return NOT_IN_URIS.sub(lambda found: quote(found[0]), path)


def _mark_of_copy(source: str) -> str:
    """The mark of a file that is made of another, by its name: paths count from some root."""
    return uuid.uuid5(uuid.NAMESPACE_URL, posixpath.basename(source)).hex


def _first_part(path: str, key: str) -> str:
    return key[len(path) + 1 if path else 0 :].partition("/")[0]


def _beyond(path: str, name: str) -> str:
    """What comes after all keys of a directory, and before all others: "0" follows "/"."""
    return f"{path}/{name}0" if path else f"{name}0"


def _pauses() -> Iterator[float]:
    """How long to wait before each of some tries, as long as patience lasts."""
    deadline = time.monotonic() + PUTTING
    yield 0.0
    pause = FIRST_PAUSE
    while time.monotonic() + pause < deadline:
        yield random.uniform(0.5, 1.0) * pause
        pause *= 2
