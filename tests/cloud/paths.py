"""Paths of objects: as much of `pathlib.Path` as tests need to look at a bucket."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote

import obstore

from tests.cloud.bucket import KIND, objects

PREFIX = KIND.uri()


class Status(NamedTuple):
    """What `stat` tells of an object."""

    st_size: int
    st_mtime: float
    e_tag: str | None


@dataclass(frozen=True, order=True)
class ObjectPath:
    """A key of the bucket. Directories are what keys have in common: none is ever empty."""

    key: str

    @classmethod
    def of(cls, uri: str) -> ObjectPath:
        """The path of a URI."""
        assert uri.startswith(PREFIX), uri
        return cls(unquote(uri.removeprefix(PREFIX).rstrip("/")))

    def __str__(self) -> str:
        return PREFIX + quote(self.key, safe="/$!'()*,;=:@&+")

    def __truediv__(self, below: object) -> ObjectPath:
        return ObjectPath(f"{self.key}/{below}")

    @property
    def name(self) -> str:
        return posixpath.basename(self.key)

    @property
    def stem(self) -> str:
        return posixpath.splitext(self.name)[0]

    @property
    def suffix(self) -> str:
        return posixpath.splitext(self.name)[1]

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(posixpath.dirname(self.key))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.key.split("/"))

    def with_name(self, name: str) -> ObjectPath:
        return self.parent / name

    def relative_to(self, root: ObjectPath) -> PurePosixPath:
        return PurePosixPath(self.key).relative_to(root.key)

    def is_file(self) -> bool:
        try:
            obstore.head(objects(), self.key)
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        return any(self._below())

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def iterdir(self) -> Iterator[ObjectPath]:
        found = obstore.list_with_delimiter(objects(), f"{self.key}/")
        for prefix in found["common_prefixes"]:
            if ObjectPath(prefix).is_dir():  # SeaweedFS tells of empty ones too, for a while
                yield ObjectPath(prefix)
        for item in found["objects"]:
            yield ObjectPath(item["path"])

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        return (path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern))

    def rglob(self, pattern: str) -> Iterator[ObjectPath]:
        return (path for path in self._below() if fnmatch.fnmatchcase(path.name, pattern))

    def stat(self) -> Status:
        try:
            found = obstore.head(objects(), self.key)
        except FileNotFoundError:
            raise FileNotFoundError(str(self)) from None
        return Status(found["size"], found["last_modified"].timestamp(), found["e_tag"])

    def read_bytes(self) -> bytes:
        try:
            return bytes(obstore.get(objects(), self.key).bytes())
        except FileNotFoundError:
            raise FileNotFoundError(str(self)) from None

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes) -> int:
        obstore.put(objects(), self.key, data)
        return len(data)

    def write_text(self, text: str) -> int:
        return self.write_bytes(text.encode())

    def touch(self) -> None:
        if not self.is_file():
            self.write_bytes(b"")

    def unlink(self, missing_ok: bool = False) -> None:
        if not missing_ok:
            self.stat()
        obstore.delete(objects(), self.key)

    def mkdir(self, **_options: bool) -> None:
        """Nothing: an object store has no directories to make."""

    def rename(self, target: ObjectPath) -> ObjectPath:
        """Move an object, or all below a directory."""
        for path in [self] if self.is_file() else list(self._below()):
            moved = target.key + path.key.removeprefix(self.key)
            obstore.copy(objects(), path.key, moved)
            obstore.delete(objects(), path.key)
        return target

    def copy(self, target: ObjectPath) -> ObjectPath:
        """Copy an object, or all below a directory."""
        for path in [self] if self.is_file() else list(self._below()):
            obstore.copy(objects(), path.key, target.key + path.key.removeprefix(self.key))
        return target

    def rmtree(self) -> None:
        """Delete all below a directory."""
        obstore.delete(objects(), [path.key for path in self._below()])

    def _below(self) -> Iterator[ObjectPath]:
        for page in obstore.list(objects(), f"{self.key}/"):
            for item in page:
                yield ObjectPath(item["path"])
