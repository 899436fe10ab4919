"""Answers: what operations return, as responses."""

from __future__ import annotations

import json
from typing import Any

from lance_namespace.errors import LanceNamespaceError
from pydantic import BaseModel
from starlette.responses import Response

from lanceyard.rest.protocol import STATUSES, TYPE, Answer, Operation

JSON = "application/json"
ARROW_FILE = "application/vnd.apache.arrow.file"


def respond(operation: Operation, answer: Any) -> Response:
    """The response for what an operation returned."""
    form, status = operation.answer, operation.status
    if form is Answer.NOTHING:
        return Response(status_code=status)
    if form is Answer.FILE:
        return Response(getattr(answer, "data", answer), status, media_type=ARROW_FILE)
    if form is Answer.NUMBER:
        answer = getattr(answer, "count", answer)
    elif form is Answer.MAP:
        answer = answer.metadata or {}
    return Response(_to_json(answer), status, media_type=JSON)


def refuse(error: LanceNamespaceError, request_id: str, *, status: int | None = None) -> Response:
    """The response for an error: its code decides the status, unless HTTP has its own."""
    name = type(error).__name__
    said = {"error": str(error), "code": int(error.code), "instance": request_id, TYPE: name}
    content = json.dumps(said, ensure_ascii=False).encode()
    return Response(content, status or STATUSES[int(error.code)], media_type=JSON)


def _to_json(answer: Any) -> bytes:
    if isinstance(answer, BaseModel):
        return answer.model_dump_json(by_alias=True, exclude_none=True).encode()
    return json.dumps(answer, ensure_ascii=False).encode()
