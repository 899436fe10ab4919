"""Remembered answers: a request that comes again with its key is answered again, not carried out.

They lie in a file that the processes of a server share.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import sqlite3
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from lanceyard import errors
from lanceyard.rest.protocol import Operation
from lanceyard.server.answers import NO_STORE, Reply
from lanceyard.storage.lock import FileLock, is_held

KEY = b"idempotency-key"
KEY_LENGTH = 255
OWN = 0o600
REPLAYED = [(b"idempotency-replayed", b"true"), NO_STORE]
LIFETIME = 24 * 3600.0
TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, begun REAL NOT NULL, process TEXT NOT NULL,
    status INTEGER, content BLOB, media TEXT
);
CREATE INDEX IF NOT EXISTS by_age ON answers (begun);
"""
EXPIRY = 60.0
"""Seconds between two looks for what is too old."""
BUSY = 10.0
"""Seconds to wait for another process."""
LOG = logging.getLogger("lanceyard.server")


class RememberedAnswers:
    """The answers to requests that carry a key, for a day."""

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        """Keep them in a folder, or in one that is gone with this object."""
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._expired_at = float("-inf")

    def once(
        self,
        principal: str,
        key: str,
        operation: Operation,
        said: Mapping[str, Any],
        answer: Callable[[], Reply],
    ) -> Reply:
        """Answer a request, or tell again how it was answered.

        What failed is forgotten, and carried out again: it changed nothing. Raises
        `InvalidInputError` if the key was used for another request, and
        `ConcurrentModificationError` while the first one is being carried out.
        """
        name = hashlib.sha256(f"{principal}\0{key}".encode()).hexdigest()
        request = _fingerprint(operation, said)
        found = self._begin(name, request)
        if found is not None:
            return found
        try:
            reply = answer()
        except BaseException:
            self._forget(name)
            raise
        try:
            self._end(name, reply)
        except (sqlite3.Error, errors.ServiceUnavailableError):
            # What was carried out is not told as a failure.
            LOG.exception("an answer by idempotency-key could not be kept")
        return reply

    def _begin(self, name: str, request: str) -> Reply | None:
        now = self._clock()
        with self._transaction() as database:
            if now >= self._expired_at + EXPIRY:
                database.execute("DELETE FROM answers WHERE begun < ?", (now - LIFETIME,))
                self._expired_at = now
            row = database.execute(
                "SELECT request, process, status, content, media FROM answers WHERE key = ?",
                (name,),
            ).fetchone()
            if row is None or (row[2] is None and not self._is_alive(row[1])):
                database.execute(
                    "INSERT OR REPLACE INTO answers (key, request, begun, process) "
                    "VALUES (?, ?, ?, ?)",
                    (name, request, now, self._process),
                )
                return None
        earlier, _, status, content, media = row
        if earlier != request:
            raise errors.InvalidInputError("this idempotency-key was used for another request")
        if status is None:
            raise errors.ConcurrentModificationError(
                "the first request with this idempotency-key is still being carried out"
            )
        return Reply(status, content, media, REPLAYED)

    def _end(self, name: str, reply: Reply) -> None:
        with self._transaction() as database:
            database.execute(
                "UPDATE answers SET status = ?, content = ?, media = ? WHERE key = ?",
                (reply.status, bytes(reply.content), reply.media, name),
            )

    def _forget(self, name: str) -> None:
        with self._transaction() as database:
            database.execute("DELETE FROM answers WHERE key = ?", (name,))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            database = self._database
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as cause:
                raise errors.ServiceUnavailableError("the server is busy") from cause
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    @cached_property
    def _database(self) -> sqlite3.Connection:
        """One for this process. Answers can have credentials, so nobody else may read them."""
        file = self._home / "answers.db"
        # Before it is opened by SQLite, whose locks end when anybody here closes it.
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, OWN))
        database = sqlite3.connect(
            file, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(TABLE)
        return database

    @cached_property
    def _home(self) -> Path:
        if self._folder is None:
            folder = tempfile.mkdtemp(prefix="lanceyard-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            return Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    @cached_property
    def _process(self) -> str:
        """The name of a file that is locked while this process lives, whatever its number."""
        name = f"process-{uuid.uuid4().hex}"
        lock = FileLock(str(self._home / name), OWN)
        lock.try_to_hold()
        weakref.finalize(self, lock.close)
        return name

    def _is_alive(self, process: str) -> bool:
        return is_held(str(self._home / process))


def read_key(headers: Mapping[bytes, bytes]) -> str | None:
    """The key of a request. Raises `InvalidInputError`."""
    given = headers.get(KEY)
    if given is None:
        return None
    text = given.decode("latin-1")
    if not (text.isascii() and text.isprintable() and 0 < len(text) <= KEY_LENGTH):
        raise errors.InvalidInputError(
            f"an idempotency-key is 1 to {KEY_LENGTH} printable characters"
        )
    return text


def _fingerprint(operation: Operation, said: Mapping[str, Any]) -> str:
    told = {name: value for name, value in said.items() if name not in ("identity", "context")}
    text = json.dumps([operation.name, told], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
