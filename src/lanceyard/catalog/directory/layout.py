"""Layout: names of directories and marker files in a namespace directory (documents 000, 001)."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator
from functools import lru_cache

from lanceyard.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
)
from lanceyard.identifier import Identifier, check_name
from lanceyard.storage.base import Store, is_relative

MANIFEST = "__manifest"
VERSIONS = "_versions"
RESERVED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"
DROPPING = ".lance-dropping"
DROP_MARKERS = (DROPPING, DEREGISTERED)
"""In the order in which a drop deletes them, after everything else."""
MARKERS = frozenset({RESERVED, *DROP_MARKERS})
TABLE_NAMES = MARKERS | {
    "data",
    "_deletions",
    "_indices",
    "_refs",
    "_transactions",
    VERSIONS,
    "tree",
    "_lanceyard",
    "_refreshing",
}
"""All that lies in a table directory. One with anything else in it is somebody else's."""
HASHED = re.compile(r"^[0-9a-f]{8}_(?P<object_id>.+)$", re.DOTALL)
"""The directories that we name."""
SUFFIX = ".lance"
LONGEST_DIRECTORY = 255


def hashed_directory(identifier: Identifier) -> str:
    """A new directory for a table of the manifest: ``<hash>_<object_id>``, the hash random.

    The object id is only there to be read by people, so it is cut where the file system's limit
    for one name asks for it.
    """
    name = f"{secrets.token_hex(4)}_{identifier.object_id}".encode()
    return name[:LONGEST_DIRECTORY].decode(errors="ignore")


def named_directory(name: str, *, bare: bool = False) -> str:
    """The directory of a root table that is found by listing."""
    return name if bare else name + SUFFIX


def table_name(directory: str, *, bare: bool = False) -> str | None:
    """The name of the root table in a directory, or None if no table can be called so."""
    if bare:
        name = "" if directory.endswith(SUFFIX) else directory
    else:
        name = directory.removesuffix(SUFFIX) if directory.endswith(SUFFIX) else ""
    try:
        check_name(name)
    except InvalidInputError:
        return None
    return name


def table_path(store: Store, location: str) -> str:
    """The path of a location that a caller chose: relative to the root, or absolute inside it.

    Raises
    ------
    InvalidInputError
        The location is empty, the root itself, the manifest, climbs, or is outside the root.
    """
    absolute = location.startswith("/") or "://" in location
    if location.lower().startswith("file:///"):
        location = location[len("file://") :]
    path = store.relative(location) if absolute else location.rstrip("/")
    climbs = ".." in location.split("/")
    if path is None or climbs or not is_safe(path) or not store.contains(path):
        raise InvalidInputError(
            f"location {location!r} is not a directory of its own inside the root: give a path "
            "relative to the root, without '..', outside '__manifest'"
        )
    return path


@lru_cache(maxsize=65_536)
def is_safe(path: str) -> bool:
    """Whether a path read from a manifest may be opened, written and deleted.

    It must lie inside the root, below neither the manifest nor the root itself; `..` and `.`
    never stand in a path that was made here.
    """
    if path.split("/", 1)[0] == MANIFEST or "://" in path or "\\" in path:
        return False
    return is_relative(path)


def checked_path(path: str | None, identifier: Identifier) -> str:
    """The path of a row, or an error if it points where no table of this catalog can be."""
    if path is None or not is_safe(path):
        raise InvalidTableStateError(
            f"table {identifier} has the location {path!r}, which is not inside the root; "
            "it is neither read nor written"
        )
    return path


def has_data(store: Store, path: str) -> bool:
    """Whether a table directory holds at least one version."""
    return any(e.name.endswith(".manifest") for e in store.entries(f"{path}/{VERSIONS}"))


def is_declared(store: Store, path: str) -> bool:
    """Whether a table directory is reserved and holds no data yet."""
    return store.is_file(f"{path}/{RESERVED}") and not has_data(store, path)


def hide(store: Store, path: str, content: bytes = b"deregistered") -> bool:
    """Mark a directory as deregistered; False if it was already."""
    return store.put_if_absent(f"{path}/{DEREGISTERED}", content)


def mark(store: Store, path: str, content: bytes = b"deregistered") -> None:
    """Mark a directory that we hold, whatever marks a crash left there."""
    show(store, path)
    hide(store, path, content)


def show(store: Store, path: str) -> None:
    """Take the mark of `hide` off and, where we hold the directory, that of a drop that crashed.

    Elsewhere that may be the claim of somebody who is at work.
    """
    if store.has_locks:
        store.delete(f"{path}/{DROPPING}")
    unhide(store, path)


def unhide(store: Store, path: str) -> None:
    """Take the mark of `hide` off."""
    store.delete(f"{path}/{DEREGISTERED}")
    store.sync(path)


@contextlib.contextmanager
def holding(store: Store, identifier: Identifier, path: str) -> Iterator[None]:
    """Hold a table directory while it is filled, hidden, shown or deleted."""
    try:
        with store.hold(path):
            yield
    except TimeoutError as cause:
        raise ConcurrentModificationError(
            f"table {identifier} is being created or dropped by another writer; try again"
        ) from cause
