"""Homes: in which fragment of the manifest each row lies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from lanceyard.catalog.ranges import NONE, Ranges
from lanceyard.catalog.snapshot import TABLE_VERSION, Edit
from lanceyard.catalog.versions import split_version_id

FileKey = tuple[str, ...]
"""A fragment, known by its files: other writers reuse fragment ids."""


class Residents(NamedTuple):
    """The rows that lie in one fragment."""

    object_ids: list[str]
    """Those of tables, namespaces and what we do not know."""
    versions: Mapping[str, Ranges]
    """The versions of tables, which are many."""

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]]) -> Self:
        """Sort rows, given as object ids and object types."""
        object_ids: list[str] = []
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for object_id, object_type in rows:
            version = split_version_id(object_id) if object_type == TABLE_VERSION else None
            if version is None:
                object_ids.append(object_id)
            else:
                numbers[version[0]].append(version[1])
        return cls(object_ids, {table: Ranges.of(found) for table, found in numbers.items()})


class Homes:
    """In which fragment each row lies."""

    def __init__(self) -> None:
        """Start with no fragment."""
        self._fragments: dict[FileKey, Residents] = {}
        self._homes: dict[str, FileKey] = {}
        self._doubled: dict[str, set[FileKey]] = {}
        self._repeated: dict[FileKey, set[str]] = {}

    @property
    def keys(self) -> set[FileKey]:
        """The fragments that are known."""
        return set(self._fragments)

    def put(self, key: FileKey, residents: Residents) -> None:
        """Note a fragment and the rows in it. A row can be doubled only by another writer."""
        object_ids = residents.object_ids
        unique = list(dict.fromkeys(object_ids))
        self._fragments[key] = residents._replace(object_ids=unique)
        if len(unique) < len(object_ids):
            counts = Counter(object_ids)
            self._repeated[key] = {object_id for object_id in unique if counts[object_id] > 1}
        for object_id in unique:
            other = self._homes.setdefault(object_id, key)
            if other != key:
                self._doubled.setdefault(object_id, set()).add(key)

    def forget(self, key: FileKey) -> Residents:
        """Forget a fragment, and return the rows that are nowhere else, and its versions."""
        lost = []
        self._repeated.pop(key, None)
        residents = self._fragments.pop(key)
        for object_id in residents.object_ids:
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
        return residents._replace(object_ids=lost)

    def touched(self, edit: Edit) -> set[FileKey]:
        """The fragments in which the rows lie that an edit removes or renames."""
        found: set[FileKey] = set()
        versions = dict(edit.gone)
        for row in edit.removed.values():
            version = row.version
            if version is not None:
                table, number = version
                versions[table] = versions.get(table, NONE).with_range(number, number + 1)
            else:
                found.add(self._homes[row.object_id])
                found |= self._doubled.get(row.object_id, set())
        for key, residents in self._fragments.items():
            there = residents.versions
            goes = any(there[table].common(versions[table]) for table in versions if table in there)
            if goes or any(table in there for table in edit.moved):
                found.add(key)
        return found

    def of_versions(self, table: str) -> set[FileKey]:
        """The fragments in which versions of a table lie."""
        return {key for key, found in self._fragments.items() if table in found.versions}

    @property
    def doubled(self) -> set[str]:
        """Object ids that more than one row has."""
        return set(self._doubled).union(*self._repeated.values())
