"""Upkeep: what keeps a manifest small and indexed, in a thread of its own, off the write path."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from lance import LanceDataset

from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest.intents import INTENTS, sweep
from lanceyard.catalog.directory.manifest.table import ConflictError, Management, ManifestTable
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.errors import LanceNamespaceError
from lanceyard.storage.base import Store

LOGGER = logging.getLogger(__name__)

# The three indexes of document 000, under the names that the reference gives them.
INDEXES: dict[str, tuple[str, Any]] = {
    "object_id_btree": ("object_id", "BTREE"),
    "object_type_bitmap": ("object_type", "BITMAP"),
    "base_objects_label_list": ("base_objects", "LABEL_LIST"),
}
# A live reader of the reference resolves the newest version properly only while a key of this
# prefix is set; without it, clean-up leaves it serving an old catalog for ever.
NOTE = ("lance.auto_cleanup.note", "kept by lanceyard for readers that probe for successors")

PAUSE = 0.5
SELDOM = 15.0
MANY_UNINDEXED = 512
IDLE = 5.0
# Where each look takes time and money, rounds after the first wait for many writes, or long.
MANY_WRITES = 100
RARELY = 60.0
HISTORY = 3_600.0
FAILURES = (OSError, ValueError, RuntimeError, ConflictError, LanceNamespaceError)


class Upkeep:
    """Indexes, the note for other readers, and the removal of old versions.

    All of it is optional at any moment: a conflict with a writer, or a failure, is left to the
    next round.
    """

    def __init__(
        self,
        store: Store,
        files: VersionFiles,
        before: Sequence[Callable[[], None]],
        *,
        window: float,
        history: float | None,
        clock: Callable[[], float],
    ) -> None:
        """Do nothing until poked; `before` is what others want done before each round."""
        self._history = history
        self._before = before
        self._store = store
        self._files = files
        self._window = window
        self._clock = clock
        self.at_work = threading.Lock()
        """Held during a round."""
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._due = False
        self._writes = 0
        self._rounded_at = float("-inf")
        self._indexed_at = float("-inf")
        self._cleaned_at = float("-inf")

    def poke(self) -> None:
        """Say that something was written."""
        with self._guard:
            self._due = True
            self._writes += 1
            self._wake.set()
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(
                    target=self._run, name="lanceyard-upkeep", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """End the thread, after a last round if something was written since."""
        with self._guard:
            thread = self._thread
            self._stop.set()
            self._wake.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        atexit.register(self.close)
        while self._is_due():
            self._stop.wait(PAUSE)
            self._prepare()
            if self._is_worth_it():
                self.round()
        atexit.unregister(self.close)

    def _is_due(self) -> bool:
        """Wait for something to do; if there is nothing for a while, nobody relies on us then."""
        if not self._stop.is_set():
            self._wake.wait(timeout=IDLE)
        with self._guard:
            due, self._due = self._due, False
            self._wake.clear()
            if not due:
                self._thread = None
            return due

    def _is_worth_it(self) -> bool:
        """Whether enough was written, or enough time has passed, for a round."""
        rested = time.monotonic() - self._rounded_at > RARELY
        if not (self._store.is_near or rested or self._writes >= MANY_WRITES):
            return False
        self._writes = 0
        self._rounded_at = time.monotonic()
        return True

    def _prepare(self) -> None:
        """Do what writes through the catalog itself, so not while `at_work`."""
        for work in self._before:
            try:
                work()
            except FAILURES as failure:
                LOGGER.info("work on %s was put off: %s", MANIFEST, failure)

    def round(self) -> None:
        """Do what is due."""
        with self.at_work:
            self._round()

    def _round(self) -> None:
        try:
            table = self._newest()
            if table is None:
                return
            table.check_writable()
            self._keep_note(table.dataset)
            self._keep_indexes(table.dataset)
            self._clean_up()
            sweep(self._store.local_path(INTENTS) or "")
        except FAILURES as failure:
            # Off the write path there is no caller to tell, and the next round tries again.
            LOGGER.info("upkeep of %s was put off: %s", MANIFEST, failure)

    def _newest(self) -> ManifestTable | None:
        for version in self._files.newest_first():
            if not self._files.is_torn(version):
                return ManifestTable.open(self._store, version)
        return None

    def _keep_note(self, dataset: LanceDataset) -> None:
        key, text = NOTE
        if key not in dataset.config():
            dataset.update_config({key: text})

    def _keep_indexes(self, dataset: LanceDataset) -> None:
        present = {index.name for index in dataset.describe_indices()}
        missing = [name for name in INDEXES if name not in present]
        for name in missing:
            column, kind = INDEXES[name]
            dataset.create_scalar_index(column, kind, name=name, replace=True)
        if missing:
            self._indexed_at = time.monotonic()
            return
        unindexed = dataset.stats.index_stats("object_id_btree")["num_unindexed_rows"]
        rested = time.monotonic() - self._indexed_at > SELDOM
        if unindexed >= MANY_UNINDEXED or (unindexed and rested):
            dataset.optimize.optimize_indices()
            self._indexed_at = time.monotonic()

    def _clean_up(self) -> None:
        """Remove versions older than the window, behind a fence.

        A commit from a handle as old as what is removed can land unseen, unless a `Merge` that it
        conflicts with is there: so one is committed first, and it is younger than the window.
        """
        now = self._clock()
        if now - self._cleaned_at < self._window / 2:
            return
        newest = self._newest()
        if newest is None or not self._has_versions_before(now - self._kept_for(newest)):
            return
        fenced = newest.fence()
        age = max(0.0, time.time() - (now - self._kept_for(newest)))
        fenced.dataset.cleanup_old_versions(
            older_than=timedelta(seconds=age), error_if_tagged_old_versions=False
        )
        self._cleaned_at = now

    def _kept_for(self, table: ManifestTable) -> float:
        """How long old versions are kept, in seconds: an hour where they tell of all tables."""
        default = HISTORY if table.management is Management.ON else 0.0
        return max(self._window, default if self._history is None else self._history)

    def _has_versions_before(self, moment: float) -> bool:
        versions = self._files.newest_first()
        oldest = self._store.modified(self._files.path(versions[-1])) if versions else None
        return oldest is not None and oldest < moment
