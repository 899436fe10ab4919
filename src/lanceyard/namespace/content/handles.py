"""Handles: tables that are open already, kept for the operations to come."""

from __future__ import annotations

import copy
import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from lanceyard import errors
from lanceyard.catalog.base import Catalog, TableEntry
from lanceyard.catalog.versions import TableVersion
from lanceyard.identifier import Identifier
from lanceyard.namespace import datasets
from lanceyard.namespace.version_files import BranchFiles

if TYPE_CHECKING:
    from lance import LanceDataset

TABLES = 256
MEMORY = 2 * 2**30
"""How many bytes the caches of all handles may take before the oldest are let go."""


class Handles:
    """The latest versions of tables that were used last, by location.

    A handle is given out only while the newest manifest of its table is the very file it was
    opened from, by number and ETag: it is never behind, and a table that was dropped and made
    again is another table. Everyone gets a copy: a handle of pylance serves one thread at a time,
    and what is changed through it is the copy alone.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._forget()

    def open(self, catalog: Catalog, identifier: Identifier, entry: TableEntry) -> LanceDataset:
        """The latest version of a table. Raises `InvalidTableStateError`."""
        if self._process != os.getpid():
            self._forget()  # what Lance holds open does not survive a fork
        files = TableFiles(catalog, identifier, entry)
        latest = files.latest()
        with self._lock:
            kept = self._kept.get(entry.location)
            if kept is not None and kept.version == latest:
                self._kept.move_to_end(entry.location)
                return copy.copy(kept.dataset)
        if kept is not None and latest is not None and files.has(kept.version):
            dataset = datasets.open_version(kept.dataset, identifier, latest.number)
        else:
            dataset = datasets.open_table(catalog, identifier, entry)
        if latest is None or dataset.version != latest.number:
            return dataset  # somebody was faster; the next operation finds it settled
        with self._lock:
            self._kept[entry.location] = _Kept(dataset, latest)
            self._kept.move_to_end(entry.location)
            self._let_go()
        return copy.copy(dataset)

    def _forget(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def _let_go(self) -> None:
        while len(self._kept) > TABLES or (len(self._kept) > 1 and self._size() > MEMORY):
            self._kept.popitem(last=False)

    def _size(self) -> int:
        return sum(kept.dataset.session().size_bytes() for kept in self._kept.values())


class _Kept(NamedTuple):
    dataset: LanceDataset
    version: TableVersion


class TableFiles:
    """The versions of a table: what the catalog says, or else what its files say."""

    def __init__(self, catalog: Catalog, identifier: Identifier, entry: TableEntry) -> None:
        """Look at a table that was looked up."""
        self._catalog = catalog
        self._identifier = identifier
        self._entry = entry
        self._branch = BranchFiles(identifier, entry, catalog.storage_options, None)

    def latest(self) -> TableVersion | None:
        """The newest one."""
        if self._entry.version is None:
            return self._branch.latest()
        return self.find(self._entry.version) if self._entry.version else None

    def has(self, version: TableVersion) -> bool:
        """Whether a version is still the same: then what is newer goes on from it."""
        if self._entry.version is None:
            return self._branch.has(version)
        try:
            return self.find(version.number) == version
        except errors.TableVersionNotFoundError:
            return False

    def find(self, number: int) -> TableVersion:
        """One of them. Raises `TableVersionNotFoundError`."""
        if self._entry.version is None:
            return self._branch.find(number)
        return self._catalog.find_version(self._identifier, number)
