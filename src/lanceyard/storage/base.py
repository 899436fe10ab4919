"""The store: what a catalog needs of a file system or object store, and no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import NamedTuple

LONGEST_PART = 255
"""Bytes that file systems take in one name."""
PATIENCE = 10.0
"""How long `Store.hold` waits, in seconds."""


class Entry(NamedTuple):
    """One name found by listing a directory."""

    name: str
    is_directory: bool


class File(NamedTuple):
    """One file found by walking a directory."""

    path: str
    """From the root of the store."""
    modified: float
    """When it was last written, in seconds since the epoch."""


class Stat(NamedTuple):
    """What a store says of one file."""

    size: int
    modified: float
    """When it was last written, in seconds since the epoch."""
    e_tag: str | None
    """As Lance's object store tells it."""


def is_relative(path: str) -> bool:
    """Whether a path stays below where it begins, and has only names that every store takes."""
    return all(_is_name(part) for part in path.split("/"))


def _is_name(part: str) -> bool:
    return part not in ("", ".", "..") and "\0" not in part and len(_encoded(part)) <= LONGEST_PART


def _encoded(part: str) -> bytes:
    return part.encode(errors="replace")


class Store(ABC):
    """Small files below a root.

    Paths are relative to the root, with ``/`` between names; ``""`` is the root itself. A
    directory exists while something lies in it. Failures are raised as `OSError`, a missing
    permission as `PermissionError`, whatever the store behind.
    """

    has_locks = False
    """Whether `hold` keeps other processes out."""
    is_near = False
    """Whether looking for a file takes no time to speak of."""
    keeps_conditions = True
    """Whether of two that create one file at the same time, one is refused."""
    options: Mapping[str, str]
    """Storage options that pylance needs to open what lies here."""
    quick_options: Mapping[str, str]
    """The same for the catalog's own tables, which are small: a silent store is soon given up."""

    @abstractmethod
    def location(self, path: str) -> str:
        """The address under which pylance and other programs open a path."""

    @abstractmethod
    def relative(self, location: str) -> str | None:
        """The path of an address, or None for one that is not below the root."""

    def contains(self, path: str) -> bool:
        """Whether what lies at a path is really below the root; a link may lead out of it."""
        return True

    @abstractmethod
    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; False, and nothing changes, if one is there."""

    def prove_conditions(self, path: str) -> None:  # noqa: B027 - file systems keep them
        """Make sure that the store does not write over a file that is there, if that is unknown.

        Raises `UnsupportedOperationError` if it does; the file stays as it is.
        """

    @abstractmethod
    def copy_if_absent(self, source: str, target: str) -> bool:
        """Let a file, which nobody writes to any more, appear under another name too.

        False, and nothing changes, if a file has that name. Raises `FileNotFoundError` if there is
        no source. Callers make it durable.
        """

    def is_copy(self, path: str, source: str) -> bool:
        """Whether a file is known to be what `copy_if_absent` made of another, that may be gone."""
        return False

    @abstractmethod
    def get(self, path: str) -> bytes | None:
        """The content of a file, or None if there is none."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""

    def is_file(self, path: str) -> bool:
        """`exists` for a path that can only be a file."""
        return self.exists(path)

    def probe(self, path: str) -> Callable[[], bool]:
        """`is_file` for one path, to be asked again and again."""
        return partial(self.is_file, path)

    @abstractmethod
    def entries(self, path: str) -> Iterator[Entry]:
        """The names directly below a directory, in no order; none if it does not exist."""

    def names(self, path: str) -> list[str]:
        """The names of `entries`, where what they are does not matter."""
        return [entry.name for entry in self.entries(path)]

    @abstractmethod
    def has_file(self, path: str) -> bool:
        """Whether at least one file lies below a directory, however deep."""

    def inhabited(self, path: str) -> set[str]:
        """The names directly below a directory at or below which files lie."""
        found = self.entries(path)
        return {e.name for e in found if not e.is_directory or self.has_file(f"{path}/{e.name}")}

    def some_names(self, path: str, after: str, enough: int) -> tuple[list[str], bool]:
        """Names of `entries` that come after a text, as keys of an object store are ordered.

        All of them, or at least the first so many; and whether it is all.
        """
        return [name for name in self.names(path) if name > after], True

    @abstractmethod
    def files(self, path: str) -> Iterator[File]:
        """Every file below a directory, however deep, in no order."""

    @abstractmethod
    def changed(self, path: str) -> float | None:
        """When anything at or below a path last came, went or was written; None if it is gone.

        Of a file that was deleted or moved away only a file system can tell.
        """

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Move a file to a path where nothing is."""

    def move_files(self, files: Mapping[str, str]) -> None:
        """Move files, those that are there, to paths where nothing is."""
        for source, target in files.items():
            if self.exists(source):
                self.move(source, target)

    @abstractmethod
    def move_tree(self, source: str, target: str) -> None:
        """Move a directory to a path where nothing is; nothing happens if it does not exist.

        Where this takes several steps, one that was cut short can be carried on by another.
        """

    @abstractmethod
    def link_tree(self, source: str, target: str) -> None:
        """Let every file below a directory appear below another one too; what is there is kept.

        Files are taken for immutable, as those of a Lance table are. Manifests come last, so that
        the target never shows a version whose files are missing.
        """

    def link_files(self, files: Mapping[str, str]) -> None:
        """Let files, which nobody writes to any more, appear under other names too.

        The names are those of nobody else: what is there by then is the same.
        """
        for source, target in files.items():
            self.copy_if_absent(source, target)

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file; nothing happens if there is none."""

    def delete_own(self, path: str, data: bytes) -> None:
        """Delete a file that we created with content of its own, and none that came after it."""
        self.delete(path)

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete some files, those that are there."""
        for path in paths:
            self.delete(path)

    @abstractmethod
    def delete_tree(
        self, path: str, *, last: Sequence[str] = (), but: Collection[str] = ()
    ) -> bool:
        """Delete a directory and all below it, the files named `last` in the end, one by one.

        Files named `but` stay. Returns whether there was anything else than those with names.
        """

    @abstractmethod
    def sync_tree(self, path: str) -> None:
        """Make a directory and all below it durable, as far as the store's durability asks."""

    def hold(self, path: str, patience: float = PATIENCE) -> AbstractContextManager[None]:
        """Keep other processes and threads from changing a directory, where the store can.

        The directory need not exist. Raises `TimeoutError` if another holds it for longer than
        we have patience, in seconds.
        """
        return nullcontext()

    def sync(self, path: str) -> None:  # noqa: B027 - object stores are durable as they are
        """Make one file or directory durable, without what lies below it."""

    def local_path(self, path: str) -> str | None:
        """The path in the local file system, or None where locks on files mean nothing."""
        return None

    @abstractmethod
    def stat(self, path: str) -> Stat | None:
        """Size, time and ETag of a file; None if there is none."""

    def modified(self, path: str) -> float | None:
        """When a file was last written, in seconds since the epoch; None if there is none."""
        found = self.stat(path)
        return None if found is None else found.modified
