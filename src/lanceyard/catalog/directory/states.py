"""States: what the directory of a root table is, by the files in it (documents 000 and 001)."""

from __future__ import annotations

from enum import Enum

from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.claims import TO_WRITE
from lanceyard.storage.base import Store

TOMBSTONE = b"moved"
CREATING = b"creating"
DROPPED = b"dropped"
"""Dropped, and to be brought back or deleted: see `dropped`."""
DEREGISTERING = b"deregistering"
"""Written by who has rows: deregistered, unless there is a row, which decides."""


class State(Enum):
    """What a table directory is."""

    ABSENT = "absent"
    DECLARED = "declared"
    PRESENT = "present"
    DEREGISTERED = "deregistered"
    MOVED = "moved"
    """The table was renamed; a tombstone stays, lest an open handle bring the old name back."""
    DROPPED = "dropped"
    """The table was dropped, and can be brought back."""
    DROPPING = "dropping"
    """Somebody is deleting it, or was when it crashed."""
    CREATING = "creating"
    """Somebody is writing it, or was when it crashed."""


VISIBLE = (State.DECLARED, State.PRESENT)
"""States in which there is a table."""
GONE = (State.ABSENT, State.MOVED, State.DROPPED, State.CREATING)
"""States in which there is no table to be dropped or registered."""


def state_of(store: Store, path: str, *, bare: bool, claimed: bool = False) -> State:
    """The state of a directory, by document 000, or by 001 in the bare layout.

    If it is `claimed`, that is by ourselves, and says nothing of it: see `claims`.
    """
    if not store.is_near:
        return _state_by_names(store, path, bare=bare, claimed=claimed)
    if not store.exists(path):
        return State.ABSENT
    if store.exists(f"{path}/{layout.DEREGISTERED}"):
        return _hidden_state(store, path)
    if store.exists(f"{path}/{layout.VERSIONS}"):
        return State.DECLARED if layout.is_declared(store, path) else State.PRESENT
    if bare or not store.has_file(path):
        return State.ABSENT
    return State.DECLARED if store.exists(f"{path}/{layout.RESERVED}") else State.PRESENT


def _state_by_names(store: Store, path: str, *, bare: bool, claimed: bool) -> State:
    """The same with as few questions as possible, where each takes time."""
    names = store.inhabited(path)
    if claimed:
        names.discard(layout.DROPPING)
    if not names:
        return State.ABSENT
    if names == {layout.DROPPING}:
        return State.DROPPING
    if layout.DEREGISTERED in names:
        return _hidden_state(store, path) if layout.DROPPING in names else _marked(store, path)
    if bare and layout.VERSIONS not in names:
        return State.ABSENT
    reserved = layout.RESERVED in names
    empty = reserved and not (layout.VERSIONS in names and layout.has_data(store, path))
    return State.DECLARED if empty else State.PRESENT


def _hidden_state(store: Store, path: str) -> State:
    """What a directory is that is hidden, and that somebody may have claimed to drop it."""
    claim = store.get(f"{path}/{layout.DROPPING}")
    if claim is not None and not claim.startswith(TO_WRITE):
        return State.DROPPING
    return _marked(store, path)


def _marked(store: Store, path: str) -> State:
    """What the marker that hides a directory says of it."""
    content = store.get(f"{path}/{layout.DEREGISTERED}")
    known = {TOMBSTONE: State.MOVED, DROPPED: State.DROPPED, CREATING: State.CREATING}
    return known.get(content or b"", State.DEREGISTERED)
