"""Presence: how others see that a process takes part in something, for as long as it lives."""

from __future__ import annotations

import contextlib
import threading
import uuid

from lanceyard.storage.base import Store

BEATS = 4
"""How often within a window a process says that it lives."""


class Presence:
    """A folder in which processes show that they live.

    Where there are locks each holds one. Elsewhere each writes a file, again and again, so that a
    folder in which nothing changed within a window is one that nobody is in any more.
    """

    def __init__(self, store: Store, folder: str, window: float) -> None:
        """Be in nothing yet."""
        self._store = store
        self._folder = folder
        self._pause = window / BEATS
        self._held = contextlib.ExitStack()

    def enter(self) -> None:
        """Show that this process lives, until it leaves or dies."""
        place = f"{self._folder}/{uuid.uuid4().hex}"
        if self._store.has_locks:
            self._held.enter_context(self._store.hold(place))
            return
        left = threading.Event()
        self._store.put_if_absent(f"{place}-0", b"")
        beating = threading.Thread(
            target=self._beat, args=(place, left), name="lanceyard-presence", daemon=True
        )
        beating.start()
        self._held.callback(beating.join)
        self._held.callback(left.set)

    def leave(self) -> None:
        """Show it no longer."""
        self._held.close()

    def is_held(self, name: str) -> bool:
        """Whether whoever shows itself by a name in the folder lives, as far as locks can tell."""
        try:
            with self._store.hold(f"{self._folder}/{name}", 0.0):
                return False
        except TimeoutError:
            return True

    def _beat(self, place: str, left: threading.Event) -> None:
        number = 0
        while not left.wait(self._pause):
            with contextlib.suppress(OSError):  # a store that is away for a moment
                self._store.put_if_absent(f"{place}-{number + 1}", b"")
                self._store.delete(f"{place}-{number}")
                number += 1
        with contextlib.suppress(OSError):
            self._store.delete(f"{place}-{number}")
