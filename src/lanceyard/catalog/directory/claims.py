"""Claims: who may fill or delete the directory of a root table, where no lock keeps writers apart.

A claim is a file in the directory that only one writer can create, and that it deletes in the end.
It neither hides the table nor makes one. A drop puts the same file, also where there are locks, so
that a crash half-way can be told: what the file says is what it was put for.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator

from lanceyard import errors
from lanceyard.catalog.directory import layout
from lanceyard.identifier import Identifier
from lanceyard.storage.base import PATIENCE, Store

STEP = 0.05
"""How long to wait before asking again for what another has claimed."""
TO_DROP = b"dropping"
TO_WRITE = b"writing"
"""What a claim begins with: what it was put for."""


class Claims:
    """The claims on the directories of a root."""

    def __init__(self, store: Store, window: float, clock: Callable[[], float]) -> None:
        """Take a directory for abandoned that nobody wrote to within the window."""
        self._store = store
        self._window = window
        self._clock = clock

    def take(
        self, identifier: Identifier, path: str, purpose: bytes, patience: float | None = None
    ) -> bytes:
        """Claim a directory, once whoever has it is done or gone, and return our claim.

        One that takes over a drop says so too: until all is deleted the table is half dropped.
        Where we hold the directory nobody else is at work, and nothing is waited for. Raises
        `ConcurrentModificationError` if another keeps it for too long.
        """
        mark = b" " + uuid.uuid4().hex.encode()
        if patience is None:
            patience = 0.0 if self._store.has_locks else PATIENCE
        deadline = time.monotonic() + patience
        while not self._store.put_if_absent(_file(path), purpose + mark):
            if time.monotonic() <= deadline:
                time.sleep(STEP)
            elif self.is_abandoned(path):
                if not (self._store.get(_file(path)) or TO_WRITE).startswith(TO_WRITE):
                    purpose = TO_DROP
                self._store.delete(_file(path))  # of several that do so, one puts its own
            else:
                raise errors.in_the_making(identifier)
        return purpose + mark

    def release(self, path: str, claim: bytes) -> None:
        """Take our claim off, and not one that another put after it."""
        with contextlib.suppress(OSError):  # it will be old some day
            self._store.delete_own(_file(path), claim)

    @contextlib.contextmanager
    def taken(
        self, identifier: Identifier, path: str, patience: float | None = None
    ) -> Iterator[bool]:
        """Have a directory to ourselves while we write there, by a claim unless we hold it.

        Gives whether there is a claim that says nothing of the table, as that of a drop does.
        """
        if self._store.has_locks:
            yield False
            return
        claim = self.take(identifier, path, TO_WRITE, patience)
        try:
            yield claim.startswith(TO_WRITE)
        finally:
            self.release(path, claim)

    def is_abandoned(self, path: str, *, claimed: bool = False) -> bool:
        """Whether whoever was at work in a directory is gone: we hold it, or it has been quiet.

        If it is `claimed` by ourselves, our claim does not count.
        """
        if self._store.has_locks:
            return True
        ours = _file(path) if claimed else None
        written = (file.modified for file in self._store.files(path) if file.path != ours)
        return self._clock() - max(written, default=float("-inf")) > self._window


def _file(path: str) -> str:
    return f"{path}/{layout.DROPPING}"
