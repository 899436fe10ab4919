"""Records of a back-fill: which fragments are finished, so that the next run goes on from there.

They lie in the table's own directory, in a folder for each thing that is computed. A record says
which file holds the new values of a fragment, and what the fragment was made of then. Tasks write
them; the first of several for the same fragment counts.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Self

from lanceyard.catalog.maintenance import RETENTION
from lanceyard.settings import DirectorySettings
from lanceyard.spark.reference import Place
from lanceyard.storage.base import Store
from lanceyard.storage.roots import open_store

FOLDER, RUN = "_lanceyard/backfill", "run.json"
RESUMABLE = RETENTION - timedelta(days=2)
"""For how long a record counts. Repair takes the files of older ones for orphans."""


@dataclass(frozen=True)
class Record:
    """A file with new values for a fragment, which no version holds yet."""

    fragment: int
    made_of: str
    """What the fragment was made of when the values were computed."""
    file: dict[str, Any]
    """As Lance describes a data file."""
    numbers: list[int]
    """The numbers of the new columns and of those in them, as the file has them."""

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """A record as it was written."""
        return cls(**json.loads(text))

    @property
    def path(self) -> str:
        """Where the values lie, from the table's directory."""
        return f"data/{self.file['path']}"


class Run(NamedTuple):
    """A back-fill that was about to commit, and perhaps did."""

    id: str
    """Which its commit carries."""
    version: int
    """The version of the table before."""


class Records:
    """The records of one thing that is computed for a table."""

    def __init__(self, place: Place, key: str) -> None:
        """Look at the records with a key."""
        self._store = open_place(place)
        self._folder = f"{FOLDER}/{key}"

    def run(self) -> Run | None:
        """The run that came as far as its commit, and perhaps further."""
        path = f"{self._folder}/{RUN}"
        text = None if self._is_outdated(path) else self._store.get(path)
        return None if text is None else Run(*json.loads(text))

    def begin(self, version: int) -> Run:
        """Note that a commit is about to follow a version, unless an earlier run noted one."""
        path = f"{self._folder}/{RUN}"
        if self._is_outdated(path):
            self._store.delete(path)
        self._store.put_if_absent(path, json.dumps(Run(uuid.uuid4().hex, version)).encode())
        found = self.run()
        assert found is not None
        return found

    def find(self, fragment: int, made_of: str) -> Record | None:
        """The record of a fragment, if its values were computed and are still there."""
        path = self._path(fragment, made_of)
        if self._is_outdated(path):
            return None
        record = Record.parse(self._store.get(path) or b"")
        return record if self._store.exists(record.path) else None

    def all_of(self, fragments: Iterable[tuple[int, str]]) -> list[Record]:
        """The records of those of some fragments that have one."""
        known = set(self._store.names(self._folder))
        found = [self.find(*each) for each in fragments if _name(*each) in known]
        return [record for record in found if record is not None]

    def note(self, record: Record) -> Record:
        """Note a record, and return the one that counts; the file of another is deleted."""
        path = self._path(record.fragment, record.made_of)
        text = json.dumps(asdict(record)).encode()
        if self._store.put_if_absent(path, text):
            return record
        before = self.find(record.fragment, record.made_of)
        if before is None:  # outdated, or its file is gone
            self._store.delete(path)
            self._store.put_if_absent(path, text)
            return record
        self._store.delete(record.path)
        return before

    def forget(self) -> None:
        """Delete all records, once a version holds what they speak of."""
        self._store.delete_tree(self._folder)

    def _is_outdated(self, path: str) -> bool:
        """Whether a file is too old to count, or is not there."""
        stat = self._store.stat(path)
        return stat is None or time.time() - stat.modified > RESUMABLE.total_seconds()

    def _path(self, fragment: int, made_of: str) -> str:
        return f"{self._folder}/{_name(fragment, made_of)}"


def open_place(place: Place) -> Store:
    """The files of a table."""
    return open_store(DirectorySettings(root=place.location, storage=dict(place.storage)))


def recorded(store: Store) -> set[str]:
    """The files of all records that still count, from the table's directory."""
    found = set()
    for file in list(store.files(FOLDER)):
        if file.path.endswith(RUN):
            continue
        if time.time() - file.modified <= RESUMABLE.total_seconds():
            text = store.get(file.path)
            found |= set() if text is None else {Record.parse(text).path}
    return found


def _name(fragment: int, made_of: str) -> str:
    return f"{fragment}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.json"
