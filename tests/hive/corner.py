"""A corner of a metastore: a whole catalog for one test, beside those of others.

Its root has tables, which Hive's has not: they are in a database of the corner's name. Its
namespaces are databases whose names begin with that.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lanceyard.catalog.base import (
    Catalog,
    Landed,
    Page,
    TableEntry,
    TableWriter,
    VersionPage,
    Versions,
)
from lanceyard.catalog.hive import HiveSettings, open_catalog
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.failures import AlreadyExistsError
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveDatabase
from lanceyard.catalog.hive.places import MAIN_CATALOG
from lanceyard.catalog.versions import Step, TableVersion
from lanceyard.identifier import Identifier
from lanceyard.namespace import Namespace

from .metastore import shared_metastore

_OPENED: defaultdict[Path, list[Namespace]] = defaultdict(list)
"""The clients of each corner, whose connections the metastore keeps threads for."""


def open_corner(root: Path, **properties: str) -> Namespace:
    """The catalog of a root directory, in its corner of the metastore of this process."""
    uri = shared_metastore().uri
    settings = HiveSettings.from_properties({"uri": uri, "root": str(root), **properties})
    opened = CornerNamespace(Corner(settings, _name(root)), root, properties)
    _OPENED[root].append(opened)
    return opened


class CornerNamespace(Namespace):
    """A namespace of a corner, which finds the metastore again where a pickle of it is opened."""

    def __init__(self, catalog: Catalog, root: Path, properties: dict[str, str]) -> None:
        super().__init__(catalog)
        self._root, self._given = root, properties

    def __repr__(self) -> str:
        return f"CornerNamespace({self._root}, {self._given})"

    def __reduce__(self) -> Any:
        return partial(open_corner, **self._given), (self._root,)


def clear_corner(root: Path) -> None:
    """Forget all that is in the corner of a root directory; its files are the caller's affair."""
    for each in _OPENED.pop(root, ()):
        each.close()
    metastore = Metastore(HiveSettings.from_properties({"uri": shared_metastore().uri}).metastore)
    catalog = MAIN_CATALOG if metastore.has_catalogs() else None
    for name in metastore.database_names(catalog):
        if name.startswith(_name(root)):
            metastore.drop_database(DatabaseName(name, catalog), cascade=True)
    metastore.close()


def _name(root: Path) -> str:
    return f"c{hashlib.sha256(str(root).encode()).hexdigest()[:10]}"


class Corner(Catalog):
    """Another catalog, below names of its own."""

    def __init__(self, settings: HiveSettings, name: str) -> None:
        metastore = Metastore(settings.metastore)
        catalog = MAIN_CATALOG if metastore.has_catalogs() else None
        self._above = (catalog,) if catalog else ()
        with contextlib.suppress(AlreadyExistsError):  # by another client of the same corner
            metastore.create_database(HiveDatabase(DatabaseName(name, catalog)))
        self._inner = open_catalog(settings, metastore=metastore)
        self._name = name
        self.unsupported = self._inner.unsupported
        self.storage_options = self._inner.storage_options
        self.maintenance = self._inner.maintenance

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        return self._inner.describe_namespace(self._namespace(identifier))

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        if parent:
            return self._inner.list_namespaces(self._namespace(parent), page)
        first = f"{self._name}_"
        inside = Page(first + (page.after or ""), page.limit)
        found = self._inner.list_namespaces(Identifier(self._above), inside)
        return [name.removeprefix(first) for name in found if name.startswith(first)]

    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        self._inner.create_namespace(self._namespace(identifier), properties, replace=replace)

    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        return self._inner.drop_namespace(self._namespace(identifier), cascade=cascade)

    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        return self._inner.alter_namespace(self._namespace(identifier), put, unset)

    def describe_table(self, identifier: Identifier) -> TableEntry:
        return self._inner.describe_table(self._table(identifier))

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        return self._inner.list_tables(self._table(parent.child("t")).parent, page)

    def list_all_tables(self, page: Page) -> list[Identifier]:
        found = [self._seen(each) for each in self._inner.list_all_tables(Page())]
        ours = sorted((each for each in found if each), key=lambda each: each.object_id)
        return [i for i in ours if page.after is None or i.object_id > page.after][: page.limit]

    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        return self._inner.declare_table(self._table(identifier), location, properties)

    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        table = self._table(identifier)
        return self._inner.create_table(table, properties, writer, replace=replace)

    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        table = self._table(identifier)
        return self._inner.register_table(table, location, properties, replace=replace)

    def deregister_table(self, identifier: Identifier) -> TableEntry:
        return self._inner.deregister_table(self._table(identifier))

    def drop_table(self, identifier: Identifier) -> TableEntry:
        return self._inner.drop_table(self._table(identifier))

    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        return self._inner.rename_table(self._table(identifier), self._table(target))

    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str] | None:
        return self._inner.alter_table(self._table(identifier), put, unset)

    def is_declared(self, entry: TableEntry) -> bool:
        return self._inner.is_declared(entry)

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        return self._inner.list_versions(self._table(identifier), page)

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        return self._inner.find_version(self._table(identifier), number)

    def commit(self, steps: Sequence[Step]) -> list[Landed]:
        return self._inner.commit(
            [replace(step, identifier=self._table(step.identifier)) for step in steps]
        )

    def close(self) -> None:
        self._inner.close()

    def _namespace(self, identifier: Identifier) -> Identifier:
        if not identifier:
            return identifier
        return Identifier((*self._above, f"{self._name}_{identifier[0]}", *identifier[1:]))

    def _table(self, identifier: Identifier) -> Identifier:
        if len(identifier) == 1:
            return Identifier((*self._above, self._name, *identifier))
        return self._namespace(identifier)

    def _seen(self, identifier: Identifier) -> Identifier | None:
        """What a test knows as the table of the metastore; None if it is not of this corner."""
        first, *rest = identifier[len(self._above) :]
        if first == self._name:
            return Identifier(rest)
        inside = first.removeprefix(f"{self._name}_")
        return Identifier((inside, *rest)) if inside != first else None
