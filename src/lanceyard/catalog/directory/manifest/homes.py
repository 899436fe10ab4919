"""Homes: in which fragment of the manifest each row lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

FileKey = tuple[str, ...]
"""A fragment, known by its files: other writers reuse fragment ids."""


class Homes:
    """In which fragment each row lies."""

    def __init__(self) -> None:
        """Start with no fragment."""
        self._fragments: dict[FileKey, Sequence[str]] = {}
        self._homes: dict[str, FileKey] = {}
        self._doubled: dict[str, set[FileKey]] = {}
        self._repeated: dict[FileKey, set[str]] = {}

    @property
    def keys(self) -> set[FileKey]:
        """The fragments that are known."""
        return set(self._fragments)

    def put(self, key: FileKey, object_ids: Sequence[str]) -> None:
        """Note a fragment and the rows in it. A row can be doubled only by another writer."""
        unique = self._fragments[key] = list(dict.fromkeys(object_ids))
        if len(unique) < len(object_ids):
            counts = Counter(object_ids)
            self._repeated[key] = {object_id for object_id in unique if counts[object_id] > 1}
        for object_id in unique:
            other = self._homes.setdefault(object_id, key)
            if other != key:
                self._doubled.setdefault(object_id, set()).add(key)

    def forget(self, key: FileKey) -> list[str]:
        """Forget a fragment, and return the rows that are nowhere else."""
        lost = []
        self._repeated.pop(key, None)
        for object_id in self._fragments.pop(key):
            others = self._doubled.pop(object_id, set()) - {key}
            if self._homes[object_id] != key:
                others.add(self._homes[object_id])
            if not others:
                del self._homes[object_id]
                lost.append(object_id)
                continue
            self._homes[object_id] = others.pop()
            if others:
                self._doubled[object_id] = others
        return lost

    def of(self, object_ids: Iterable[str]) -> set[FileKey]:
        """The fragments in which some rows lie."""
        found: set[FileKey] = set()
        for object_id in object_ids:
            found.add(self._homes[object_id])
            found |= self._doubled.get(object_id, set())
        return found

    @property
    def doubled(self) -> set[str]:
        """Object ids that more than one row has."""
        return set(self._doubled).union(*self._repeated.values())
