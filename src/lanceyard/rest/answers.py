"""Answers: what servers reply, as responses and errors."""

from __future__ import annotations

import json
from typing import Any

from lance_namespace import QueryTableResponse
from pydantic import ValidationError

from lanceyard import errors
from lanceyard.rest.messages import Reply
from lanceyard.rest.protocol import EXTENSIONS, TYPE, Answer, Operation

CODES = {401: 16, 403: 15, 405: 0, 406: 0, 409: 14, 413: 13, 429: 21, 501: 0, 503: 17}
"""What a status means where a server sends no code; anything else is 13 or 18."""
MISSING = {"namespace": 1, "table": 4, "materialized_view": 4, "transaction": 10}
"""What is not there, by the first part of a route."""
ARROW_FILE = b"ARROW1"
SHOWN = 500
"""Bytes that are shown of a reply which is no error of the protocol."""


def read_answer(operation: Operation, reply: Reply) -> Any:
    """The response of an operation, or the error that the server told.

    Any success counts: some servers answer 204 where the protocol has 200. Raises
    `InternalError` for what is no answer to the operation.
    """
    if not 200 <= reply.status < 300:  # noqa: PLR2004
        raise read_failure(operation, reply)
    form = operation.answer
    if form is Answer.FILE:
        if not reply.body.startswith(ARROW_FILE):
            raise _no_answer(operation, "is no Arrow file")
        return QueryTableResponse(data=reply.body)
    said = _json(operation, reply) if reply.body and form is not Answer.NOTHING else {}
    if form is Answer.TEXT:
        return said
    if form is Answer.NUMBER:
        said = {"count": said}
    elif form is Answer.MAP:
        said = {"metadata": said}
    try:
        return operation.response.model_validate(said)
    except ValidationError as cause:
        first = cause.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _no_answer(operation, f"is not valid: {where}: {first['msg']}") from cause


def read_failure(operation: Operation, reply: Reply) -> Exception:
    """The error that a server told, by its code; by its status where it sent none."""
    try:
        said = json.loads(reply.body)
        code, text, name = int(said["code"]), str(said.get("error") or ""), said.get(TYPE)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        code, text = _code(operation, reply.status), reply.body[:SHOWN].decode("utf-8", "replace")
        name = None
    fallback = f"{operation.name} was answered with status {reply.status}"
    error = errors.from_error_code(code, text or fallback)
    narrower = getattr(errors, str(name), None)
    if isinstance(narrower, type) and issubclass(narrower, type(error)):
        return narrower(str(error))
    return error


def _json(operation: Operation, reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError) as cause:
        raise _no_answer(operation, "is no JSON") from cause


def _no_answer(operation: Operation, why: str) -> errors.InternalError:
    return errors.InternalError(f"what the server answered to {operation.name} {why}")


def _code(operation: Operation, status: int) -> int:
    if status == 404:  # noqa: PLR2004
        is_route = operation in EXTENSIONS or "{id}" not in operation.route
        return 0 if is_route else MISSING[operation.route.partition("/")[0]]
    return CODES.get(status, 13 if 400 <= status < 500 else 18)  # noqa: PLR2004
