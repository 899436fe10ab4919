"""Contents: the files in the directory of a Lance table, and what its versions refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import lance
from lance import LanceDataset, LanceOperation

from lanceyard.catalog.directory.layout import VERSIONS, has_data
from lanceyard.catalog.properties import lance_properties
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.storage.base import File, Store

# What Lance, the reference for its markers, and object stores write before they rename it;
# manifests that were staged for a commit, and those that a writer found torn and moved aside.
STRAY = re.compile(r"^\.tmp|^lance-marker\.staging\.|#\d+$|\.manifest-")
DELETIONS, INDICES, TRANSACTIONS, DATA = "_deletions", "_indices", "_transactions", "data"
FOLDERS = (DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS)


class Contents:
    """What lies in a table directory. Nothing is opened before it is asked for."""

    def __init__(self, store: Store, path: str) -> None:
        """Look at a directory of a store."""
        self._store = store
        self.path = path
        self.version_files = VersionFiles(store, path)

    def versions(self) -> list[int]:
        """The versions that are there, newest first."""
        return self.version_files.newest_first()

    def torn(self) -> list[int]:
        """The newest versions, as far as they were cut short."""
        torn = []
        for version in self.versions():
            if not self.version_files.is_torn(version):
                break
            torn.append(version)
        return torn

    def newest_whole(self) -> int | None:
        """The newest version that was not cut short, if there is one."""
        versions = self.versions()
        return next((v for v in versions if not self.version_files.is_torn(v)), None)

    def open_newest_whole(self) -> LanceDataset | None:
        """Open the newest version that was not cut short, if there is one.

        One that is removed meanwhile, since there is a newer one, is not missed.
        """
        version = self.newest_whole()
        while version is not None:
            try:
                return self.open(version)
            except (OSError, ValueError):
                if self.version_files.exists(version):
                    raise
            version = self.newest_whole()
        return None

    def open(self, version: int | None = None) -> LanceDataset:
        """Open a version, or the newest. Raises `OSError` or `ValueError`."""
        location, options = self._store.location(self.path), dict(self._store.options) or None
        return lance.dataset(location, version=version, storage_options=options)

    def lacks(self, dataset: LanceDataset) -> list[str]:
        """The files that a version refers to and that are not there."""
        return [path for path in sorted(self.references(dataset)) if not self._has(path)]

    def strays(self, files: Iterable[File]) -> list[File]:
        """Files that were to be renamed and never were."""
        return [file for file in files if STRAY.search(file.path.rpartition("/")[2])]

    def is_brief(self, path: str) -> bool:
        """Whether a file is of those that are written at once, and not while rows still come."""
        folder = path.removeprefix(f"{self.path}/").split("/")[0]
        return folder not in (DATA, DELETIONS, INDICES)

    def orphans(self, dataset: LanceDataset, files: Iterable[File]) -> list[File]:
        """Those of some files that no version refers to.

        Older versions are opened only until all files are explained. Where they cannot be, or
        branches and overlays refer to files in ways of their own, nothing is an orphan.
        """
        left = {file.path: file for file in files if self.can_be_orphan(file.path)}
        if not left or self._has("tree") or self._has("_refs/branches"):
            return []
        for version in self.versions():
            if not left:
                break
            if version > dataset.version:
                continue  # torn, or newer than what was looked at
            try:
                at = dataset if version == dataset.version else dataset.checkout_version(version)
            except (OSError, ValueError):
                return []
            if any(getattr(f.metadata, "overlays", None) for f in at.get_fragments()):
                return []
            known = self.references(at) | {_transaction_file(at)}
            left = {path: f for path, f in left.items() if not self._is_among(known, path)}
        return sorted(left.values())

    def leave_out(self, dataset: LanceDataset) -> None:
        """Commit a version that can be read: as many rows of the newest, or of one before, as go.

        Indexes that are lost are dropped.
        """
        for index in dataset.describe_indices():
            if not all(self._has(path) for path in _index_files(index)):
                dataset.drop_index(index.name)
        lost = [f for f in dataset.get_fragments() if not all(map(self._has, _data_files(f)))]
        if not lost:
            return
        kept = dataset.count_rows() - sum(int(f.metadata.num_rows) for f in lost)
        before = self._newest_complete_before(dataset)
        if before is not None and before.count_rows() > kept:
            before.restore()  # type: ignore[no-untyped-call]
            return
        gone = [f.fragment_id for f in lost]
        operation = LanceOperation.Delete([], gone, "false")
        LanceDataset.commit(dataset, operation, read_version=dataset.version)

    def _newest_complete_before(self, dataset: LanceDataset) -> LanceDataset | None:
        older = (version for version in self.versions() if version < dataset.version)
        opened = map(dataset.checkout_version, older)
        return next((before for before in opened if not self.lacks(before)), None)

    def references(self, dataset: LanceDataset) -> set[str]:
        """What a version refers to below its own directory; indexes are directories."""
        found = {path for f in dataset.get_fragments() for path in _data_files(f)}
        return found | {path for i in dataset.describe_indices() for path in _index_files(i)}

    def files(self, dataset: LanceDataset) -> list[str]:
        """Every file that a version refers to below its own directory."""
        found = []
        for path in sorted(self.references(dataset)):
            if path.startswith(f"{INDICES}/"):
                found += self._below(path)
            else:
                found += [path, *self._below(path.removesuffix(".lance"))]  # blobs lie beside it
        return found

    def _below(self, folder: str) -> list[str]:
        files = self._store.files(f"{self.path}/{folder}")
        return [file.path.removeprefix(f"{self.path}/") for file in files]

    def _has(self, path: str) -> bool:
        return self._store.exists(f"{self.path}/{path}")

    def can_be_orphan(self, path: str) -> bool:
        """Whether a file is of those that versions refer to."""
        folder, _, name = path.removeprefix(f"{self.path}/").rpartition("/")
        if STRAY.search(name):
            return False
        if folder == DATA:
            return name.endswith(".lance")
        return folder in (DELETIONS, TRANSACTIONS) or folder.startswith(f"{INDICES}/")

    def _is_among(self, known: set[str], path: str) -> bool:
        inside = self._within(path)
        return inside in known or inside.split("/")[0] in known

    def _within(self, path: str) -> str:
        """The path of a file below the table, by which versions refer to it."""
        inside = path.removeprefix(f"{self.path}/")
        return "/".join(inside.split("/")[:2]) if inside.startswith(f"{INDICES}/") else inside


def table_properties(store: Store, path: str) -> dict[str, str]:
    """The properties that a table brings along; none if it was only declared."""
    return lance_properties(Contents(store, path).open()) if has_data(store, path) else {}


def _data_files(fragment: Any) -> list[str]:
    metadata = fragment.metadata
    files = [f"{DATA}/{file.path}" for file in metadata.files if file.base_id is None]
    deletion = metadata.deletion_file
    if deletion is not None and deletion.base_id is None:
        files.append(deletion.path(metadata.id))
    return files


def _transaction_file(dataset: LanceDataset) -> str:
    """The file, or the folder if that is all that is known, that the commit of a version wrote.

    pylance cannot tell it of a compaction that rewrote indexes.
    """
    try:
        transaction = dataset.read_transaction(dataset.version)
    except (TypeError, OSError, ValueError):  # or it was removed meanwhile
        return TRANSACTIONS
    if transaction is None:
        return TRANSACTIONS
    return f"{TRANSACTIONS}/{transaction.read_version}-{transaction.uuid}.txn"


def _index_files(index: Any) -> list[str]:
    return [f"{INDICES}/{part.uuid}" for part in index.segments if part.base_id is None]
