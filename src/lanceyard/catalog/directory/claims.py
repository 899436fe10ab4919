"""Claims: who may fill or delete the directory of a root table, where no lock keeps writers apart.

A claim is a file in the directory that only one writer can create, and that it deletes in the end.
It neither hides the table nor makes one. A drop puts the same file, also where there are locks, so
that a crash half-way can be told.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from lanceyard import errors
from lanceyard.catalog.directory import layout
from lanceyard.identifier import Identifier
from lanceyard.storage.base import PATIENCE, Store

STEP = 0.05
"""How long to wait before asking again for what another has claimed."""


class Claims:
    """The claims on the directories of a root."""

    def __init__(self, store: Store, window: float, clock: Callable[[], float]) -> None:
        """Take a directory for abandoned that nobody wrote to within the window."""
        self._store = store
        self._window = window
        self._clock = clock

    def take(self, identifier: Identifier, path: str) -> bool:
        """Claim a directory, once whoever has it is done; False if a crash left us its claim.

        Where we hold the directory nobody else is at work, and nothing is waited for. Raises
        `ConcurrentModificationError` if another keeps it for too long.
        """
        deadline = time.monotonic() + (0.0 if self._store.has_locks else PATIENCE)
        while not self.mark(path):
            if time.monotonic() > deadline:
                if self.is_abandoned(path):
                    return False
                raise errors.in_the_making(identifier)
            time.sleep(STEP)
        return True

    @contextlib.contextmanager
    def taken(self, identifier: Identifier, path: str) -> Iterator[bool]:
        """Have a directory to ourselves, by a claim unless we hold it.

        Gives whether there is a claim of ours, and not one that a crash left.
        """
        if self._store.has_locks:
            yield False
            return
        claimed = self.take(identifier, path)
        try:
            yield claimed
        finally:
            with contextlib.suppress(OSError):  # it will be old some day
                self._store.delete(_file(path))

    def mark(self, path: str) -> bool:
        """Put the claim on a directory, without waiting; False if there is one."""
        return self._store.put_if_absent(_file(path), b"dropping")

    def is_abandoned(self, path: str) -> bool:
        """Whether whoever marked a directory is gone: we hold it, or nothing was written lately."""
        if self._store.has_locks:
            return True
        written = self._store.changed(path)
        return written is not None and self._clock() - written > self._window


def _file(path: str) -> str:
    return f"{path}/{layout.DROPPING}"
