"""The table of routes, made from the protocol that server and clients share."""

from __future__ import annotations

from collections.abc import Iterable

from lanceyard.rest.protocol import EXTENSIONS, KEYED, OPERATIONS, STATUSES, Answer, Body, Operation

BODIES = {Body.NONE: "", Body.JSON: "JSON", Body.MAP: "JSON map", Body.STREAM: "Arrow stream"}
ANSWERS = {
    Answer.JSON: "JSON",
    Answer.NOTHING: "",
    Answer.NUMBER: "number",
    Answer.TEXT: "JSON text",
    Answer.MAP: "JSON map",
    Answer.FILE: "Arrow file",
}


def tables() -> dict[str, str]:
    """The tables of the page on REST, by the names of their places."""
    return {"routes": _table(OPERATIONS), "extensions": _table(EXTENSIONS), "statuses": _statuses()}


def _table(operations: Iterable[Operation]) -> str:
    head = ["| operation | route | body | answer | query |", "|---|---|---|---|---|"]
    return "\n".join([*head, *map(_row, operations)])


def _row(operation: Operation) -> str:
    route = f"`{operation.method} /{'/'.join(operation.segments)}`"
    query = ", ".join(f"`{name}`" for name in operation.query)
    answer = ANSWERS[operation.answer]
    status = f"{operation.status} " if operation.status != 200 else ""
    mark = " †" if operation.name in KEYED else ""
    body = BODIES[operation.body]
    return f"| {operation.name}{mark} | {route} | {body} | {status}{answer} | {query} |"


def _statuses() -> str:
    by_status: dict[int, list[int]] = {}
    for code, status in sorted(STATUSES.items()):
        by_status.setdefault(status, []).append(code)
    lines = [
        f"| {status} | {', '.join(f'[{code}](errors.md)' for code in codes)} |"
        for status, codes in sorted(by_status.items())
    ]
    return "\n".join(["| status | codes |", "|---|---|", *lines])
