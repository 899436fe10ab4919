"""The trash: where repair puts what it removes, until a retention has passed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from lanceyard.catalog.directory import layout
from lanceyard.catalog.maintenance import Finding
from lanceyard.storage.base import Store

TRASH = "_lanceyard/trash"
STAMP = "%Y%m%dT%H%M%SZ"


class Trash:
    """A folder inside the root, with one folder for each thing that was removed.

    Each holds ``finding.json``, which says what it was, and below ``content`` the files under the
    paths they had: to have something back, move it there.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        """Use the trash of a root."""
        self._store = store
        self._clock = clock

    def take_tree(self, finding: Finding, *, but: Collection[str] = ()) -> None:
        """Move the directory that a finding is about to the trash; files named `but` stay too."""
        target = f"{self.note(finding)}/content/{finding.path}"
        if not but:
            self._store.move_tree(finding.path, target)
            return
        self._store.link_tree(finding.path, target)
        self._store.delete_tree(finding.path, last=[layout.DEREGISTERED], but=but)

    def take_files(self, finding: Finding, paths: Iterable[str]) -> None:
        """Move some files, those of a finding, to the trash."""
        bin_ = self.note(finding)
        self._store.move_files({path: f"{bin_}/content/{path}" for path in paths})

    def note(self, finding: Finding, **more: Any) -> str:
        """Write down what is about to be removed, and return the folder for it."""
        now = datetime.fromtimestamp(self._clock(), UTC)
        bin_ = f"{TRASH}/{now:{STAMP}}_{uuid.uuid4().hex[:8]}"
        text = {
            "kind": finding.kind.name,
            "path": finding.path,
            "object_id": finding.object_id,
            "explanation": finding.explanation or finding.kind.title,
            **more,
        }
        data = json.dumps(text, ensure_ascii=False, indent=1).encode()
        self._store.put_if_absent(f"{bin_}/finding.json", data)
        return bin_

    def empty(self, retention: timedelta) -> int:
        """Delete for good what was removed longer ago than the retention."""
        limit = datetime.fromtimestamp(self._clock(), UTC) - retention
        emptied = 0
        for entry in list(self._store.entries(TRASH)):
            stamp = entry.name.partition("_")[0]
            try:
                removed = datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
            except ValueError:
                continue  # not ours
            if removed <= limit:
                self._store.delete_tree(f"{TRASH}/{entry.name}", last=["finding.json"])
                emptied += 1
        return emptied
