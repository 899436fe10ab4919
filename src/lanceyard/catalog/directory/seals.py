"""Seals: a last version of a table that all can read and nobody can write after.

A table that moves is sealed where it was, so that what is committed there is either copied or
refused. The seal is the newest manifest once more, with a writer feature that no writer knows.
"""

from __future__ import annotations

import struct

from lanceyard.catalog.version_files import VersionFiles
from lanceyard.storage.base import Store

FOOTER = struct.Struct("<QHH4s")
"""Where the message begins, the version of the format, and its magic."""
LENGTH = struct.Struct("<I")
VERSION, WRITER_FLAGS = 3, 10
"""Fields of Lance's message `Manifest`; of a field that comes twice, the last counts."""
NO_WRITER = 1 << 62


def seal(store: Store, table: str) -> bool:
    """Let nobody commit to a table after its newest version; False if somebody just has."""
    files = VersionFiles(store, table)
    newest = files.newest()
    data = None if newest is None else store.get(files.path_of(newest[1]))
    if newest is None or data is None:
        return newest is None
    number, name = newest
    if is_seal(data):
        return True
    return store.put_if_absent(files.path_like(name, number + 1), sealed(data, number + 1))


def lift(store: Store, table: str) -> None:
    """Let everybody commit to a table again that was sealed, if it was."""
    files = VersionFiles(store, table)
    newest = files.newest()
    if newest is not None:
        path = files.path_of(newest[1])
        if is_seal(store.get(path) or b""):
            store.delete(path)


def bury(store: Store, table: str) -> None:
    """Delete the versions of a table that has moved, all but the seal."""
    files = VersionFiles(store, table)
    names = files.names()
    store.delete_all(files.path_of(names[number]) for number in names if number != max(names))


def sealed(manifest: bytes, number: int) -> bytes:
    """A manifest as another version, which nobody can write after."""
    start, *_ = FOOTER.unpack(manifest[-FOOTER.size :])
    message = manifest[start + LENGTH.size : -FOOTER.size]
    message += _field(VERSION, number) + _field(WRITER_FLAGS, NO_WRITER)
    return manifest[:start] + LENGTH.pack(len(message)) + message + manifest[-FOOTER.size :]


def is_seal(manifest: bytes) -> bool:
    """Whether a manifest is one that `seal` wrote."""
    return manifest[: -FOOTER.size].endswith(_field(WRITER_FLAGS, NO_WRITER))


def _field(number: int, value: int) -> bytes:
    """A field of a protobuf message that is a number."""
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(high) if high else bytes([low])
