"""Content: how operations get at the Lance table behind an identifier, to read and to change it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lanceyard import errors
from lanceyard.catalog.base import Catalog, TableEntry
from lanceyard.identifier import Identifier
from lanceyard.namespace import datasets
from lanceyard.namespace.content.failures import told
from lanceyard.namespace.content.handles import Handles
from lanceyard.namespace.operations import Operations
from lanceyard.namespace.requests import read_table_id
from lanceyard.namespace.version_files import is_kept

if TYPE_CHECKING:
    from lance import LanceDataset


class ContentOperations(Operations):
    """A namespace that looks into its tables.

    Whatever Lance raises inside `_reading` and `_writing` gets a code of the specification.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Speak for a catalog."""
        super().__init__(catalog)
        self._handles = Handles()

    @contextmanager
    def _reading(
        self, names: list[str] | None, *, version: int | None = None, branch: str | None = None
    ) -> Iterator[LanceDataset]:
        """A table as it is, or as it was at a version.

        Raises `TableNotFoundError`, `TableVersionNotFoundError`, `TableBranchNotFoundError`, and
        `InvalidTableStateError` for one that holds nothing yet.
        """
        identifier = read_table_id(names)
        entry = self._catalog.describe_table(identifier)
        with told(identifier):
            yield self._open(identifier, entry, version, branch)

    @contextmanager
    def _writing(
        self, names: list[str] | None, *, branch: str | None = None
    ) -> Iterator[LanceDataset]:
        """A table of one's own, at its latest version: what is committed to it is the next one.

        Commits go through the catalog where that manages versions; those of branches never do.
        """
        import lance

        identifier = read_table_id(names)
        self._catalog.check_writable()
        entry = self._catalog.describe_table(identifier)
        with told(identifier):
            if entry.managed and entry.version and is_kept(entry, branch):
                yield lance.dataset(
                    namespace_client=self,
                    table_id=list(identifier),
                    storage_options=dict(self._catalog.storage_options) or None,
                )
            else:
                yield self._open(identifier, entry, None, branch)

    def _open(
        self, identifier: Identifier, entry: TableEntry, version: int | None, branch: str | None
    ) -> LanceDataset:
        dataset = self._latest(identifier, entry)
        if version is None and branch is None:
            return dataset
        if version is not None and is_kept(entry, branch):
            self._catalog.find_version(identifier, version)
        return datasets.open_at(dataset, identifier, version=version, tag=None, branch=branch)

    def _latest(self, identifier: Identifier, entry: TableEntry) -> LanceDataset:
        try:
            if entry.version != 0:
                return self._handles.open(self._catalog, identifier, entry)
        except errors.InvalidTableStateError:
            if not self._catalog.is_declared(entry):
                raise
        raise errors.InvalidTableStateError(
            f"table {identifier} was declared and has no data yet: create it first"
        )
