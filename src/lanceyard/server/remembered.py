"""Remembered answers: a request that comes again with its key is answered again, not carried out.

They lie in a file that the processes of a server share.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lanceyard import errors
from lanceyard.rest.protocol import Operation
from lanceyard.server.answers import Reply

KEY = b"idempotency-key"
KEY_LENGTH = 255
OWN = 0o600
LIFETIME = 24 * 3600.0
TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, begun REAL NOT NULL, process INTEGER NOT NULL,
    status INTEGER, content BLOB, media TEXT
)
"""


class RememberedAnswers:
    """The answers to requests that carry a key, for a day."""

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        """Keep them in a folder, or in one that is gone with this object."""
        self._folder = folder
        self._clock = clock
        self._own = threading.local()
        self._making = threading.Lock()
        self._made: Path | None = None

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
        self._end(name, reply)
        return reply

    def _begin(self, name: str, request: str) -> Reply | None:
        now = self._clock()
        with self._transaction() as database:
            database.execute("DELETE FROM answers WHERE begun < ?", (now - LIFETIME,))
            row = database.execute(
                "SELECT request, process, status, content, media FROM answers WHERE key = ?",
                (name,),
            ).fetchone()
            if row is None or (row[2] is None and not _is_alive(row[1])):
                database.execute(
                    "INSERT OR REPLACE INTO answers (key, request, begun, process) "
                    "VALUES (?, ?, ?, ?)",
                    (name, request, now, os.getpid()),
                )
                return None
        earlier, _, status, content, media = row
        if earlier != request:
            raise errors.InvalidInputError("this idempotency-key was used for another request")
        if status is None:
            raise errors.ConcurrentModificationError(
                "the first request with this idempotency-key is still being carried out"
            )
        return Reply(status, content, media, [(b"idempotency-replayed", b"true")])

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
        database = self._connection()
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    @property
    def _file(self) -> Path:
        """Where the answers are, which can have credentials in them: nobody else may read it."""
        with self._making:
            if self._made is None:
                folder = self._folder or self._own_folder()
                folder.mkdir(parents=True, exist_ok=True)
                file = folder / "answers.db"
                # Before anybody here has it open: closing it would end the locks of SQLite.
                os.close(os.open(file, os.O_CREAT | os.O_RDWR, OWN))
                self._made = file
            return self._made

    def _own_folder(self) -> Path:
        folder = tempfile.mkdtemp(prefix="lanceyard-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _connection(self) -> sqlite3.Connection:
        """One for each thread."""
        found: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if found is None:
            found = sqlite3.connect(self._file, timeout=10, isolation_level=None)
            found.execute("PRAGMA synchronous = NORMAL")
            found.execute(TABLE)
            self._own.connection = found
        return found


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


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
