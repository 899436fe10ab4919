"""The guard: object stores that write over what a condition protects are not written to."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from lanceyard.errors import UnsupportedOperationError

PROVEN: set[tuple[str, ...]] = set()
"""Buckets that this process has seen to keep conditions."""


class Guard:
    """Whether a store has been seen to refuse a write whose condition does not hold.

    Two writers know of each other by nothing else. A store that ignores ``If-None-Match`` lets both
    win, and one of them loses what it wrote.
    """

    def __init__(self, root: str, options: Mapping[str, str], *, is_off: bool) -> None:
        """Watch over the bucket of a root."""
        self._bucket = (urlsplit(root).scheme, urlsplit(root).netloc)
        endpoints = {v for k, v in options.items() if "endpoint" in k}
        self._key = (*self._bucket, *sorted(endpoints))
        self._is_off = is_off

    @property
    def is_due(self) -> bool:
        """Whether the next write has to prove it."""
        return not self._is_off and self._key not in PROVEN

    def has_passed(self) -> None:
        """Remember that it was proven."""
        PROVEN.add(self._key)

    def refusal(self) -> UnsupportedOperationError:
        """The error for a store that keeps no conditions."""
        return UnsupportedOperationError(
            f"the object store at {self._bucket[1]!r} ignores If-None-Match: it lets two writers "
            "create the same file, and a catalog in it would lose what one of them wrote. Use "
            "another store or version of it, or set unsafe_store=true if there is only one writer"
        )
