"""Logs: one line of JSON for each request, and one for each that changes something.

They tell who asked for what and what became of it: never bodies, values of headers or queries.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from lanceyard.errors import ErrorCode
from lanceyard.identifier import DELIMITER
from lanceyard.rest.protocol import Operation
from lanceyard.server.exchange import Exchange

STANDARD_ERROR = "-"
LONGEST = 2_000
"""Characters of a name or a path that are told."""
REFUSALS = frozenset({int(ErrorCode.PERMISSION_DENIED), int(ErrorCode.UNAUTHENTICATED)})


class AccessLog:
    """Tells every request to the logger ``lanceyard.access``."""

    def __init__(self, place: str | None = None) -> None:
        """Write to a file, or to ``-``; else it is for the process to give the logger a handler."""
        self._logger = _open("lanceyard.access", place)

    def write(self, exchange: Exchange) -> None:
        """Tell of a request that is answered."""
        if not self._logger.isEnabledFor(logging.INFO):
            return
        operation = exchange.operation
        self._logger.info(
            {
                "request_id": exchange.request_id,
                "client": exchange.client,
                "principal": exchange.principal,
                "operation": operation.name if operation else None,
                "object": name_object(exchange.said.get("id")),
                "method": exchange.method,
                "path": exchange.path[:LONGEST],
                "status": exchange.status,
                "code": exchange.code,
                "seconds": round(exchange.seconds, 6),
                "received": exchange.received,
                "sent": exchange.sent,
            }
        )


class AuditLog:
    """Tells to the logger ``lanceyard.audit`` what was changed, and who was refused."""

    def __init__(self, place: str | None = None, *, reads: bool = False) -> None:
        """Write to a file, or to ``-``, what changes something, and on request what only reads."""
        self._logger = _open("lanceyard.audit", place)
        self._reads = reads

    def write(self, exchange: Exchange) -> None:
        """Tell of a request that is answered."""
        operation, is_refused = exchange.operation, exchange.code in REFUSALS
        is_told = operation is not None and (self._reads or not operation.only_reads)
        if not (is_told or is_refused) or not self._logger.isEnabledFor(logging.INFO):
            return
        is_done = exchange.code is None and exchange.status
        self._logger.info(
            {
                "request_id": exchange.request_id,
                "who": exchange.principal,
                "what": operation.name if operation else None,
                "objects": find_objects(operation, exchange.said) if operation else [],
                "outcome": "refused" if is_refused else "done" if is_done else "failed",
                "code": exchange.code,
            }
        )


def name_object(identifier: Any) -> str | None:
    """An identifier as one text; the root is ``$``. None for what can be no identifier."""
    if not isinstance(identifier, list):
        return None
    names = (name[:LONGEST] if isinstance(name, str) else "?" for name in identifier)
    return DELIMITER.join(names)[:LONGEST] or DELIMITER


def find_objects(operation: Operation, said: Mapping[str, Any]) -> list[str]:
    """All objects that a request names, each once. What clients sent was not checked before."""
    found = [said.get("id"), *(each.get("id") for each in _parts(said))]
    if operation.name == "RenameTable":
        found.append(_target(said))
    elif operation.name == "CreateMaterializedView":
        found.extend(_bases(said))
    return [name for name in dict.fromkeys(map(name_object, found)) if name is not None]


def _parts(said: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The requests that a request is made of, and what they wrap."""
    for name in ("entries", "operations", "query"):
        value = said.get(name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Mapping):
                yield part
                yield from (each for each in part.values() if isinstance(each, Mapping))


def _target(said: Mapping[str, Any]) -> list[Any]:
    """What a table is to be called; without a namespace it stays where it is."""
    home = said.get("new_namespace_id")
    if home is None:
        home = said.get("id")
        home = home[:-1] if isinstance(home, list) else home
    return [*(home if isinstance(home, list) else ["?"]), said.get("new_table_name")]


def _bases(said: Mapping[str, Any]) -> list[Any]:
    """The tables that a view is made of."""
    try:
        bases = json.loads(said["source_query"])["tables"].values()
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return []
    return [[base] if isinstance(base, str) else base for base in bases]


class JsonLine(logging.Formatter):
    """A record whose message is a mapping, as JSON in ASCII: no name can begin another line."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage()}
        return json.dumps({"time": time, **told})


class Appending(logging.Handler):
    """Appends each line with one write, so that processes can share a file.

    One that was moved away or removed is begun anew, as tools that rotate logs expect. So is one
    that was closed: whoever sets logging up for a process, as uvicorn does, closes all there are.
    """

    def __init__(self, place: str) -> None:
        """Open a file, or ``-`` for the standard error stream. Raises `OSError`."""
        super().__init__()
        self._place = place
        self._descriptor: int | None = self._begin()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._descriptor is None or self._is_gone(self._descriptor):
                self._reopen()
            assert self._descriptor is not None
            os.write(self._descriptor, f"{self.format(record)}\n".encode())
        except OSError:  # a full disk does not stop the server
            self.handleError(record)

    def close(self) -> None:
        # Its number may soon be that of another file, which is not ours to close.
        earlier, self._descriptor = self._descriptor, None
        if earlier is not None:
            os.close(earlier)
        super().close()

    def _reopen(self) -> None:
        earlier, self._descriptor = self._descriptor, self._begin()
        if earlier is not None:
            os.close(earlier)

    def _begin(self) -> int:
        if self._place == STANDARD_ERROR:
            return os.dup(2)
        return os.open(self._place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)

    def _is_gone(self, descriptor: int) -> bool:
        if self._place == STANDARD_ERROR:
            return False
        try:
            there = os.stat(self._place)
        except FileNotFoundError:
            return True
        return not os.path.samestat(there, os.fstat(descriptor))


def _open(name: str, place: str | None) -> logging.Logger:
    """The logger of a name; if a place is given, it writes there, and nowhere else."""
    logger = logging.getLogger(name)
    if place is not None:
        handler = Appending(place)
        handler.setFormatter(JsonLine())
        for earlier in list(logger.handlers):
            logger.removeHandler(earlier)
            earlier.close()
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logger
