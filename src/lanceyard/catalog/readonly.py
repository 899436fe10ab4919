"""A catalog that can only be read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NoReturn

from lanceyard import errors
from lanceyard.catalog.base import Catalog, Page, TableEntry, VersionPage, Versions
from lanceyard.catalog.versions import TableVersion
from lanceyard.identifier import Identifier


class ReadOnlyCatalog(Catalog):
    """Another catalog, of which nothing can be changed."""

    @property
    @abstractmethod
    def _inner(self) -> Catalog:
        """The catalog to read from."""

    @property
    @abstractmethod
    def _why(self) -> str:
        """What completes "this is …" for who tries to write."""

    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        return self._inner.describe_namespace(identifier)

    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        return self._inner.list_namespaces(parent, page)

    def describe_table(self, identifier: Identifier) -> TableEntry:
        return self._inner.describe_table(identifier)

    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        return self._inner.list_tables(parent, page)

    def list_all_tables(self, page: Page) -> list[Identifier]:
        return self._inner.list_all_tables(page)

    def is_declared(self, entry: TableEntry) -> bool:
        return self._inner.is_declared(entry)

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        return self._inner.list_versions(identifier, page)

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        return self._inner.find_version(identifier, number)

    def close(self) -> None:
        self._inner.close()

    def _refuse(self, *_args: Any, **_named: Any) -> NoReturn:
        raise errors.UnsupportedOperationError(
            f"this is {self._why}, which can only be read: open the catalog itself to change it"
        )

    check_writable = _refuse
    create_namespace = _refuse
    drop_namespace = _refuse
    alter_namespace = _refuse
    declare_table = _refuse
    create_table = _refuse
    register_table = _refuse
    deregister_table = _refuse
    drop_table = _refuse
    rename_table = _refuse
    alter_table = _refuse
    commit = _refuse
