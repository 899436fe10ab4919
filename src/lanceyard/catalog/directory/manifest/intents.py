"""Intents: changes that one process asks another, which is committing anyway, to carry out.

An intent is a file that goes through these names, each step one atomic rename:

    <id>.intent     filed, its owner holds a lock on it while it waits
    <id>.claimed    a leader has taken it up
    <id>.pending    beside it: what the leader is about to commit, as its result
    <id>.done       that result, committed; or why it was refused
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from lanceyard.catalog.changes import Outcome, from_json
from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest.group import Ticket
from lanceyard.catalog.snapshot import Row
from lanceyard.errors import (
    ErrorCode,
    LanceNamespaceError,
    TableVersionAlreadyExistsError,
    UnknownOutcomeError,
    from_error_code,
)
from lanceyard.storage.lock import FileLock, is_held

INTENTS = f"{MANIFEST}/_lanceyard/intents"
ABANDONED = 60.0
OWN_ERRORS: dict[str, type[LanceNamespaceError]] = {
    kind.__name__: kind for kind in (UnknownOutcomeError, TableVersionAlreadyExistsError)
}
"""Errors that their code alone does not tell from others."""


class Intent:
    """An intent, seen by the process that waits for it."""

    def __init__(self, folder: str, tickets: Sequence[Ticket]) -> None:
        """File the changes of some tickets."""
        self._base = os.path.join(folder, uuid.uuid4().hex)
        self._tickets = tickets
        draft = f"{self._base}.draft"
        self._lock = FileLock(draft)
        self._lock.try_to_hold()
        _write(draft, [{"id": t.id, "change": t.change.to_json()} for t in tickets], replace=False)
        os.rename(draft, f"{self._base}.intent")

    def withdraw(self) -> bool:
        """Take the intent back; False if a leader has claimed it."""
        try:
            os.unlink(f"{self._base}.intent")
        except FileNotFoundError:
            return False
        self._lock.close()
        return True

    def settle(self) -> bool:
        """Settle the tickets if a leader is done with them."""
        results = _read(f"{self._base}.done")
        if results is None:
            return False
        self._take(results)
        return True

    def settle_pending(self) -> None:
        """Settle the tickets by what a leader that is gone was seen to have committed."""
        results = _read(f"{self._base}.pending")
        if results is None:
            raise OSError("a leader committed an intent and left no result")
        self._take(results)

    def abandon(self) -> None:
        """Wait no longer. A leader drops the intent, as its lock is no longer held."""
        self._lock.close()
        self._remove()

    def _take(self, results: list[dict[str, Any]]) -> None:
        for ticket, result in zip(self._tickets, results, strict=True):
            ticket.outcome, ticket.error = _decode(result)
        self._lock.close()
        self._remove()

    def _remove(self) -> None:
        for ending in ("claimed", "pending", "done"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._base}.{ending}")


class Claim:
    """An intent, seen by the leader that carries it out."""

    def __init__(self, base: str, tickets: list[Ticket]) -> None:
        """Carry out the tickets of a claimed intent."""
        self._base = base
        self.tickets = tickets
        for ticket in tickets:
            ticket.is_wanted = self._is_wanted

    def announce(self) -> None:
        """Write down the results before they are committed."""
        _write(f"{self._base}.pending", [_encode(ticket) for ticket in self.tickets])

    def finish(self, failure: BaseException | None) -> None:
        """Tell the owner what came of it."""
        if not self._is_wanted():
            self._remove()
            return
        for ticket in self.tickets:
            if failure is not None:
                ticket.fail(failure)
        self.announce()
        os.rename(f"{self._base}.pending", f"{self._base}.done")

    def _is_wanted(self) -> bool:
        return is_held(f"{self._base}.claimed")

    def _remove(self) -> None:
        for ending in ("claimed", "pending"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._base}.{ending}")


def claim_all(folder: str) -> list[Claim]:
    """Claim every intent in a folder whose owner still waits, and remove the others."""
    claims = []
    for name in _names(folder):
        base, _, ending = os.path.join(folder, name).rpartition(".")
        if ending != "intent":
            continue
        try:
            os.rename(f"{base}.intent", f"{base}.claimed")
        except FileNotFoundError:
            continue  # withdrawn
        wishes = _read(f"{base}.claimed") or []
        claim = Claim(base, [Ticket(from_json(w["change"]), w["id"]) for w in wishes])
        if claim.tickets and claim.tickets[0].is_wanted():
            claims.append(claim)
        else:
            claim.finish(None)
    return claims


def abandoned(folder: str, age: float = ABANDONED) -> list[str]:
    """Paths that processes which were killed left behind, at least so many seconds ago."""
    found = []
    for name in _names(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(path).st_mtime > age and not is_held(path):
                found.append(path)
    return found


def sweep(folder: str, age: float = ABANDONED) -> None:
    """Remove what is `abandoned`."""
    for path in abandoned(folder, age):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _names(folder: str) -> Iterable[str]:
    try:
        return os.listdir(folder) if folder else []
    except FileNotFoundError:
        return []


def _encode(ticket: Ticket) -> dict[str, Any]:
    if ticket.outcome is not None:
        return _encode_outcome(ticket.outcome)
    code = getattr(ticket.error, "code", ErrorCode.INTERNAL)
    kind = type(ticket.error).__name__
    return {"code": int(code), "error": str(ticket.error), "kind": kind}


def _decode(result: dict[str, Any]) -> tuple[Outcome | None, LanceNamespaceError | None]:
    if "code" not in result:
        return _decode_outcome(result), None
    if result["kind"] in OWN_ERRORS:
        return None, OWN_ERRORS[result["kind"]](result["error"])
    return None, from_error_code(result["code"], result["error"])


def _encode_outcome(outcome: Outcome) -> dict[str, Any]:
    return {**outcome._asdict(), "parts": [_encode_outcome(part) for part in outcome.parts]}


def _decode_outcome(said: dict[str, Any]) -> Outcome:
    row = None if said["row"] is None else Row(*said["row"])
    gone = tuple(Row(*each) for each in said["gone"])
    return Outcome(row, gone, said["deleted"], tuple(map(_decode_outcome, said["parts"])))


def _read(path: str) -> list[dict[str, Any]] | None:
    try:
        with open(path, encoding="utf-8") as file:
            data: list[dict[str, Any]] = json.load(file)
    except (FileNotFoundError, ValueError):
        return None
    return data


def _write(path: str, data: list[dict[str, Any]], *, replace: bool = True) -> None:
    """Write a file at once, or, where a lock is held on it, into it."""
    draft = f"{path}.{uuid.uuid4().hex}" if replace else path
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(data, file)
    if replace:
        os.replace(draft, path)
