"""Places: the directories of tables, reserved before their rows come and deleted after they go."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial

from lanceyard import errors
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.states import DEREGISTERING
from lanceyard.catalog.snapshot import Row
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

LOGGER = logging.getLogger(__name__)


class Places:
    """The directories that rows of a manifest refer to."""

    def __init__(self, store: Store, manifest: Manifest) -> None:
        """Look after the directories of a root."""
        self._store = store
        self._manifest = manifest

    def choose(self, identifier: Identifier, location: str | None) -> tuple[str, bool]:
        """The directory of a new table, and whether its caller chose it."""
        if location is None:
            return layout.hashed_directory(identifier), False
        return layout.table_path(self._store, location), True

    @contextlib.contextmanager
    def reserved(self, identifier: Identifier, path: str, *, chosen: bool) -> Iterator[None]:
        """Reserve a directory that the caller holds, for a row that is about to be added."""
        if chosen and self.is_occupied(path):
            raise errors.InvalidInputError(f"location {path!r} overlaps that of another table")
        reserved = self._store.put_if_absent(f"{path}/{layout.RESERVED}", b"reserved")
        if not reserved and not chosen:
            raise errors.table_exists(identifier, "another writer was faster")
        try:
            yield
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            if reserved:
                self._store.delete(f"{path}/{layout.RESERVED}")
            raise

    @contextlib.contextmanager
    def reserving(self, identifier: Identifier, path: str) -> Iterator[Callable[[], None]]:
        """Begin to reserve a directory that is ours alone; what this gives waits until it is.

        For stores where each write takes time: the row is on its way meanwhile.
        """
        reserved: Future[None] = Future()
        reserve = partial(self._reserve, identifier, path, reserved)
        threading.Thread(target=reserve, name="lanceyard-reserve", daemon=True).start()
        try:
            yield reserved.result
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            with contextlib.suppress(errors.LanceNamespaceError):
                reserved.result()
                self.delete(path)
            raise

    def _reserve(self, identifier: Identifier, path: str, reserved: Future[None]) -> None:
        try:
            if not self._store.put_if_absent(f"{path}/{layout.RESERVED}", b"reserved"):
                raise errors.table_exists(identifier, "another writer was faster")
        except OSError as cause:
            failure = errors.storage_failure(f"reserving {path!r}", cause)
            failure.__cause__ = cause
            reserved.set_exception(failure)
        except BaseException as other:  # whatever it is, somebody waits
            reserved.set_exception(other)
        else:
            reserved.set_result(None)

    @contextlib.contextmanager
    def hiding(self, path: str | None) -> Iterator[None]:
        """Mark a directory whose row is about to go, or it would look like a leftover."""
        lies_there = path is not None and layout.is_safe(path) and self._store.inhabited(path)
        if path is None or not lies_there or lies_there == {layout.DROPPING}:
            yield
            return
        layout.mark(self._store, path, DEREGISTERING)
        try:
            yield
        except (errors.TableNotFoundError, errors.UnknownOutcomeError):
            raise  # another writer was faster, and the marker is its own too; or it may be needed
        except errors.LanceNamespaceError:
            layout.show(self._store, path)
            raise

    def unmark(self, rows: Iterable[Row]) -> None:
        """Before rows go for good: a mark that a crash left would make files look deregistered.

        Where looking for it takes time it is left to `repair`: it takes two crashes to matter.
        """
        if not self._store.is_near:
            return
        for path in (row.location for row in rows):
            safe = path is not None and layout.is_safe(path)
            if safe and self._store.is_file(f"{path}/{layout.DEREGISTERED}"):
                layout.show(self._store, path or "")

    def delete_all(self, rows: Iterable[Row]) -> None:
        """Delete the directories of tables whose rows are gone, as far as possible.

        The drop has succeeded even where this fails (document 003). A directory that another row
        refers to stays.
        """
        doomed = [row.location for row in rows if row.location and layout.is_safe(row.location)]
        for path in doomed:
            self.delete(path, unless_occupied=True)

    def is_occupied(self, path: str) -> bool:
        """Whether a row refers to a path, to what lies below it or to what it lies in."""
        return self._manifest.read(lambda state: state.is_occupied(path))

    def delete(self, path: str, *, unless_occupied: bool = False) -> None:
        try:
            # The rows that went, went in a commit of a moment ago.
            with self._manifest.lately():
                occupied = unless_occupied and self.is_occupied(path)
            if not occupied:
                self._store.delete_tree(path)
        except (OSError, errors.InternalError) as failure:
            LOGGER.warning("%r could not be deleted and is left to repair: %s", path, failure)
