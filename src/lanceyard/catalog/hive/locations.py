"""Locations: how the metastore writes addresses, and how Lance opens them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from lanceyard.settings import DirectorySettings, Durability
from lanceyard.storage import Store, open_store

LOCAL = re.compile(r"file:/+")
IN_SOMETHING = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/]+|)(?:/[^/]+)+")
HADOOP = re.compile(r"s3[an]://", re.IGNORECASE)
"""What Hadoop calls S3."""


def opened_as(location: str) -> str:
    """The address under which Lance opens a location of the metastore.

    Local ones are plain paths: Hive writes ``file:/a``, and escapes nothing.
    """
    location = location.rstrip("/")
    if LOCAL.match(location):
        return "/" + LOCAL.sub("", location)
    return HADOOP.sub("s3://", location)


def lies_in_something(location: str) -> bool:
    """Whether a location is a directory of its own, and not all of a disk or bucket."""
    return IN_SOMETHING.fullmatch(location) is not None


class Place:
    """The directory of a table: a path in the store of the directory around it."""

    def __init__(self, location: str, options: Mapping[str, str], durability: Durability) -> None:
        """Look at a location as Lance opens it. Nothing is read or written."""
        around, _, self.path = location.rpartition("/")
        self.location = location
        self.store = _open(around or "/", tuple(sorted(options.items())), durability)


@lru_cache(maxsize=256)
def _open(around: str, options: tuple[tuple[str, str], ...], durability: Durability) -> Store:
    return open_store(DirectorySettings(root=around, storage=dict(options), durability=durability))
