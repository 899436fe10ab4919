"""The ledger of a table: which source files were ingested into it.

It lies in the table's own directory, so it goes where the table goes. Before rows of some files are
written an *intent* is noted, with the id that their commit will carry; afterwards that it is done.
An intent that is not done asks the history of the table.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self

from lanceyard import errors
from lanceyard.settings import DirectorySettings
from lanceyard.spark.commits import find_write
from lanceyard.spark.reference import Place, open_table
from lanceyard.storage.base import Store
from lanceyard.storage.roots import open_store

FOLDER = "_lanceyard/ingest"
PATIENCE = 3600.0
"""How long an intent on a store without locks is taken for one that is being carried out."""


class SourceFile(NamedTuple):
    """A file as it was when it was ingested."""

    path: str
    size: int
    modified: float


@dataclass(frozen=True)
class Intent:
    """Files that are to be ingested by one commit."""

    write_id: str
    version: int
    """The version of the table before."""
    noted: float
    files: list[SourceFile]

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """An intent as it was noted."""
        found = json.loads(text)
        return cls(**{**found, "files": [SourceFile(*file) for file in found["files"]]})


class Ledger:
    """What is known of the source files of a table, while nobody else ingests into it."""

    def __init__(self, store: Store, place: Place) -> None:
        """Read what was done before, and settle what a crash left open."""
        self._store = store
        self._place = place
        self._files: dict[str, SourceFile] = {}
        names = sorted(entry.name for entry in store.entries(FOLDER))
        numbers = [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]
        for number in numbers:
            self._settle(number, is_done=f"{number:08}.done" in names)
        self._next = max(numbers, default=-1) + 1

    @classmethod
    @contextmanager
    def hold(cls, place: Place) -> Iterator[Self]:
        """Open the ledger of a table, and keep others from it where the store has locks."""
        store = open_store(DirectorySettings(root=place.location, storage=dict(place.storage)))
        try:
            with store.hold(FOLDER):
                yield cls(store, place)
        except TimeoutError as cause:
            raise errors.ConcurrentModificationError(
                f"another program ingests into {place.location}; try again when it has ended"
            ) from cause

    def known(self, file: SourceFile) -> SourceFile | None:
        """A file as it was ingested, or None."""
        return self._files.get(file.path)

    def note(self, files: Iterable[SourceFile]) -> Intent:
        """Note that some files are about to be ingested."""
        version = 0 if self._is_empty() else int(open_table(self._place).version)
        intent = Intent(uuid.uuid4().hex, version, time.time(), list(files))
        text = json.dumps(asdict(intent)).encode()
        if not self._store.put_if_absent(f"{FOLDER}/{self._next:08}.json", text):
            raise errors.ConcurrentModificationError(
                f"another program ingests into {self._place.location}"
            )
        return intent

    def done(self, intent: Intent) -> None:
        """Note that the files of an intent were ingested."""
        self._store.put_if_absent(f"{FOLDER}/{self._next:08}.done", b"")
        self._files |= {file.path: file for file in intent.files}
        self._next += 1

    def failed(self, intent: Intent) -> None:
        """Take an intent back whose job has ended with a failure, unless its commit landed."""
        if self._has_landed(intent):
            self.done(intent)
        else:
            self._store.delete(f"{FOLDER}/{self._next:08}.json")

    def _settle(self, number: int, *, is_done: bool) -> None:
        path = f"{FOLDER}/{number:08}"
        text = self._store.get(f"{path}.json")
        if text is None:
            return  # another program has just settled it
        intent = Intent.parse(text)
        if not is_done:
            if not self._has_landed(intent):
                self._require_abandoned(intent)
                self._store.delete(f"{path}.json")
                return
            self._store.put_if_absent(f"{path}.done", b"")
        self._files |= {file.path: file for file in intent.files}

    def _has_landed(self, intent: Intent) -> bool:
        if self._is_empty():
            return False
        return find_write(self._place, intent.write_id, intent.version) is not None

    def _require_abandoned(self, intent: Intent) -> None:
        if not self._store.has_locks and time.time() - intent.noted < PATIENCE:
            raise errors.ConcurrentModificationError(
                f"another program ingests into {self._place.location}, or died "
                f"{time.time() - intent.noted:.0f} s ago; try again later"
            )

    def _is_empty(self) -> bool:
        return not any(name.name.endswith(".manifest") for name in self._store.entries("_versions"))
