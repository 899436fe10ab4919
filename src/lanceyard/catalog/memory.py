"""The catalog in memory: the specification of all others, to be read in one sitting.

It has no storage of its own for names. Tables get directories below a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from lanceyard import errors
from lanceyard.catalog.base import Catalog, Page, TableEntry, TableWriter, altered, is_protected
from lanceyard.catalog.views import bases, rebased
from lanceyard.identifier import Identifier


@dataclass
class _Namespace:
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class _Table:
    location: str
    properties: dict[str, str]


class MemoryCatalog(Catalog):
    """A dictionary from identifiers to namespaces and tables, under one lock."""

    def __init__(self) -> None:
        """Start with the root namespace alone."""
        self._objects: dict[Identifier, _Namespace | _Table] = {Identifier(): _Namespace()}
        self._lock = threading.RLock()
        self._root = ""
        self.storage_options = {}

    def state_at_hand(self, identifier: Identifier) -> object | None:
        return object()

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        with self._lock:
            return dict(self._namespace(identifier).properties)

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        return self._children(parent, _Namespace, page)

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        with self._lock:
            self._namespace(identifier.parent)
            existing = self._objects.get(identifier)
            if isinstance(existing, _Table) or (existing and not replace):
                raise errors.namespace_exists(identifier, as_table=isinstance(existing, _Table))
            if existing:
                self._remove_tree(identifier)
            self._objects[identifier] = _Namespace(dict(properties))

    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        with self._lock:
            properties = self._namespace(identifier).properties
            if not cascade and len(self._tree(identifier)) > 1:
                raise errors.namespace_not_empty(identifier)
            self._remove_tree(identifier)
            return properties

    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        with self._lock:
            namespace = self._namespace(identifier)
            namespace.properties = altered(namespace.properties, put, unset)
            return dict(namespace.properties)

    def describe_table(self, identifier: Identifier) -> TableEntry:
        with self._lock:
            return _entry(self._table(identifier))

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        return self._children(parent, _Table, page)

    def list_all_tables(self, page: Page) -> list[Identifier]:
        with self._lock:
            tables = sorted(
                (identifier for identifier, o in self._objects.items() if isinstance(o, _Table)),
                key=lambda identifier: identifier.object_id,
            )
        after = [i for i in tables if page.after is None or i.object_id > page.after]
        return after[: page.limit]

    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        with self._lock:
            self._require_absent(identifier)
            place = self._new_location(identifier) if location is None else self._place(location)
            if location is not None:
                self._refuse_overlap(identifier, place)
            table = self._objects[identifier] = _Table(place, dict(properties))
            return _entry(table)

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        with self._lock:
            existing = self._objects.get(identifier)
            if isinstance(existing, _Table) and self.is_declared(_entry(existing)):
                writer(existing.location, replace=False)
                existing.properties.update(properties)
                return _entry(existing)
            if not replace or not isinstance(existing, _Table):
                self._require_absent(identifier)
            elif is_protected(existing.properties):
                raise errors.protected(identifier)
            location = self._new_location(identifier)
            writer(location, replace=False)
            if isinstance(existing, _Table):
                shutil.rmtree(existing.location, ignore_errors=True)
            table = self._objects[identifier] = _Table(location, dict(properties))
            return _entry(table)

    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        with self._lock:
            place = self._place(location)
            existing = self._objects.get(identifier)
            if not (replace and isinstance(existing, _Table)):
                self._require_absent(identifier)
            elif is_protected(existing.properties):
                raise errors.protected(identifier)
            self._refuse_overlap(identifier, place)
            if not os.path.isdir(place):
                raise errors.InvalidInputError(f"nothing lies at location {location!r}")
            table = self._objects[identifier] = _Table(place, dict(properties))
            return _entry(table)

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        with self._lock:
            entry = _entry(self._table(identifier))
            self._refuse_bases([identifier])
            del self._objects[identifier]
            return entry

    def drop_table(self, identifier: Identifier) -> TableEntry:
        with self._lock:
            entry = _entry(self._table(identifier))
            self._remove_tree(identifier)
            return entry

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        with self._lock:
            table = self._table(identifier)
            self._require_absent(target)
            self._objects[target] = self._objects.pop(identifier)
            for view in self._views(identifier):
                found = self._objects[view]
                found.properties = rebased(found.properties, identifier.object_id, target.object_id)
            return _entry(table)

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        with self._lock:
            table = self._table(identifier)
            table.properties = altered(table.properties, put, unset)
            return dict(table.properties)

    def is_declared(self, entry: TableEntry) -> bool:
        return not os.path.isdir(os.path.join(entry.location, "_versions"))

    def _namespace(self, identifier: Identifier) -> _Namespace:
        found = self._objects.get(identifier)
        if not isinstance(found, _Namespace):
            raise errors.namespace_not_found(identifier)
        return found

    def _table(self, identifier: Identifier) -> _Table:
        self._namespace(identifier.parent)
        found = self._objects.get(identifier)
        if not isinstance(found, _Table):
            raise errors.table_not_found(identifier)
        return found

    def _require_absent(self, identifier: Identifier) -> None:
        self._namespace(identifier.parent)
        if identifier in self._objects:
            raise errors.table_exists(identifier)

    def _children(self, parent: Identifier, kind: type, page: Page) -> list[str]:
        with self._lock:
            self._namespace(parent)
            names = sorted(
                i.name
                for i, found in self._objects.items()
                if i and i.parent == parent and isinstance(found, kind)
            )
        return [n for n in names if page.after is None or n > page.after][: page.limit]

    def _tree(self, top: Identifier) -> list[Identifier]:
        return [i for i in self._objects if i[: len(top)] == top]

    def _views(self, base: Identifier) -> list[Identifier]:
        return [i for i, o in self._objects.items() if base.object_id in bases(o.properties)]

    def _refuse_bases(self, going: Collection[Identifier]) -> None:
        for identifier in going:
            left = [view for view in self._views(identifier) if view not in going]
            if left:
                raise errors.base_of_views(identifier, left)

    def _remove_tree(self, top: Identifier) -> None:
        doomed = self._tree(top)
        self._refuse_bases(doomed)
        for identifier in doomed:
            if is_protected(self._objects[identifier].properties):
                raise errors.protected(identifier)
        for identifier in doomed:
            found = self._objects.pop(identifier)
            if isinstance(found, _Table):
                shutil.rmtree(found.location, ignore_errors=True)

    def _folder(self) -> str:
        if not self._root:
            self._root = tempfile.mkdtemp(prefix="lanceyard-")
            weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        return self._root

    def _new_location(self, identifier: Identifier) -> str:
        return tempfile.mkdtemp(dir=self._folder()) + "/t"

    def _place(self, location: str) -> str:
        root = self._folder()
        place = os.path.normpath(os.path.join(root, location))
        outside = not place.startswith(root + "/") or ".." in location.split("/")
        if not location or outside or "://" in location or location.startswith("__manifest"):
            raise errors.InvalidInputError(f"location {location!r} is not inside the root")
        return place

    def _refuse_overlap(self, identifier: Identifier, place: str) -> None:
        for other, found in self._objects.items():
            if isinstance(found, _Table) and other != identifier:
                one, two = place + "/", found.location + "/"
                if one.startswith(two) or two.startswith(one):
                    raise errors.InvalidInputError(f"location {place!r} is inside {other}'s")


def _entry(table: _Table) -> TableEntry:
    return TableEntry(table.location, dict(table.properties))
