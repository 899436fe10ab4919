"""Roots: from the `root` property to the store behind it."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

from lanceyard.errors import InvalidInputError
from lanceyard.settings import DirectorySettings
from lanceyard.storage.base import Store
from lanceyard.storage.local import LocalStore

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def open_store(settings: DirectorySettings) -> Store:
    """The store of a root: URI, absolute or relative path (document 001). No I/O happens.

    A relative path counts from the current folder of the process at this moment.
    """
    root = settings.root
    if not SCHEME.match(root):
        return LocalStore(absolute_root(root), settings.durability)
    if root.lower().startswith("file://"):
        return LocalStore(_local_path(root), settings.durability)
    # obstore costs 30 ms to import, which only roots on an object store should pay.
    from lanceyard.storage.remote import RemoteStore

    return RemoteStore(root, settings.storage, unsafe=settings.unsafe_store)


def object_path(location: str) -> str:
    """A location inside its bucket, or file system, as Lance hands paths of manifests around."""
    path = unquote(urlsplit(location).path) if SCHEME.match(location) else location
    return path.lstrip("/")


def absolute_root(root: str) -> str:
    """A root that means the same in every process."""
    return root if SCHEME.match(root) else os.path.abspath(root)


def _local_path(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise InvalidInputError(f"root {uri!r} is not a local path: write file:///absolute/path")
    return os.path.normpath(unquote(parts.path))
