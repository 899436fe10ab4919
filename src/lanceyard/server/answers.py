"""Answers: what operations return, as HTTP has it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lance_namespace.errors import LanceNamespaceError
from pydantic import BaseModel
from starlette.types import Send

from lanceyard.rest.protocol import STATUSES, TYPE, Answer, Operation

JSON = "application/json"
ARROW_FILE = "application/vnd.apache.arrow.file"
CHUNK = 2**20
NOT_MODIFIED, UNAUTHENTICATED = 304, 401
ETAG = b"etag"
NO_STORE = (b"cache-control", b"no-store")
TAGGED = frozenset(
    {"DescribeNamespace", "DescribeTable", "ListAllTables", "ListNamespaces", "ListTables"}
)
"""Operations whose answers carry a tag by which a client can ask whether they changed."""


@dataclass(slots=True)
class Reply:
    """A response, all of it. One that is kept is sent many times."""

    status: int
    content: bytes | memoryview = b""
    media: str | None = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def send(self, send: Send, *more: tuple[bytes, bytes]) -> None:
        """Send it, with more headers; what is large in parts, as fast as the client takes them."""
        headers = [*self.headers, *more]
        if self.status != NOT_MODIFIED:
            headers.append((b"content-length", b"%d" % len(self.content)))
        if self.media is not None:
            headers.append((b"content-type", self.media.encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        at, size = 0, len(self.content)
        while size - at > CHUNK:
            part = bytes(self.content[at : at + CHUNK])
            await send({"type": "http.response.body", "body": part, "more_body": True})
            at += CHUNK
        rest = self.content[at:] if at else self.content
        await send({"type": "http.response.body", "body": rest})


def respond(operation: Operation, answer: Any) -> Reply:
    """The response for what an operation returned."""
    form, status = operation.answer, operation.status
    if form is Answer.NOTHING:
        return Reply(status, media=None)
    if form is Answer.FILE:
        return Reply(status, memoryview(getattr(answer, "data", answer)), ARROW_FILE)
    if form is Answer.NUMBER:
        answer = getattr(answer, "count", answer)
    elif form is Answer.MAP:
        answer = answer.metadata or {}
    content = to_json(answer)
    if operation.name not in TAGGED:
        return Reply(status, content)
    tag = hashlib.blake2b(content, digest_size=12).hexdigest()
    return Reply(status, content, headers=[(ETAG, f'"{tag}"'.encode())])


def unless_known(reply: Reply, headers: Mapping[bytes, bytes]) -> Reply:
    """A response, or one without the content if the client has that."""
    known = headers.get(b"if-none-match")
    if known is None:
        return reply
    tags = [value for name, value in reply.headers if name == ETAG]
    if any(tag in tags for tag in map(bytes.strip, known.split(b","))):
        return Reply(NOT_MODIFIED, b"", None, reply.headers)
    return reply


def refuse(error: LanceNamespaceError, request_id: str, *, status: int | None = None) -> Reply:
    """The response for an error: its code decides the status, unless HTTP has its own."""
    name = type(error).__name__
    code = int(error.code)
    said = {"error": str(error), "code": code, "instance": request_id, TYPE: name}
    reply = Reply(status or STATUSES[code], to_json(said))
    if reply.status == UNAUTHENTICATED:
        reply.headers.append((b"www-authenticate", b"Bearer"))
    if reply.status in (429, 503):
        seconds = getattr(error, "retry_after", 1)
        reply.headers.append((b"retry-after", b"%d" % seconds))
    return reply


def to_json(answer: Any) -> bytes:
    """A model, or plain data, as JSON."""
    if isinstance(answer, BaseModel):
        return answer.model_dump_json(by_alias=True, exclude_none=True).encode()
    # A client can send half of a surrogate pair, which is no character.
    return json.dumps(answer, ensure_ascii=False).encode(errors="replace")
