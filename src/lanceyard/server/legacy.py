"""Legacy: routes and shapes of earlier releases of the protocol, down to document 002.

Document 002 has one route for each operation, ``POST /<OperationId>``. What it names there is asked
and answered as it was then; every other operation takes today's request on such a route, with the
identifier in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from lance_namespace.errors import LanceNamespaceError
from pydantic import BaseModel

from lanceyard import errors
from lanceyard.identifier import DELIMITER
from lanceyard.rest.protocol import BY_NAME, VERSION, Answer, Body, Operation
from lanceyard.server.answers import Reply, to_json
from lanceyard.server.dialects import Dialect

ALIASES = (
    ("POST", "table/{id}/create-empty", "DeclareTable"),
    ("GET", "table/{id}/tags/list", "ListTableTags"),
    ("POST", "table/{id}/refresh", "RefreshMaterializedView"),
)
"""Routes that other releases had for an operation, which was the same otherwise."""
RENAMED = {
    "GetNamespace": "DescribeNamespace",
    "GetTable": "DescribeTable",
    "GetTransaction": "DescribeTransaction",
}
"""Operations that document 002 has another name for."""
FIELDS = {"pageToken": "page_token", "pageSize": "limit", "options": "properties"}
"""Fields of requests that document 002 has another name for."""
EXISTENCE = frozenset({"NamespaceExists", "TableExists"})
MISSING = frozenset({errors.ErrorCode.NAMESPACE_NOT_FOUND, errors.ErrorCode.TABLE_NOT_FOUND})


class LegacyRoute(NamedTuple):
    """What `Routes.add` takes."""

    operation: Operation
    method: str
    segments: tuple[str, ...]
    dialect: type[Dialect] | None


def legacy_routes() -> Iterator[LegacyRoute]:
    """The routes of earlier releases."""
    for method, route, name in ALIASES:
        yield LegacyRoute(BY_NAME[name], method, (VERSION, *route.split("/")), None)
    for name, operation in BY_NAME.items():
        yield LegacyRoute(_with_id_in_request(operation), "POST", (name,), Legacy)
    for old, name in RENAMED.items():
        yield LegacyRoute(_with_id_in_request(BY_NAME[name]), "POST", (old,), Legacy)


def _with_id_in_request(operation: Operation) -> Operation:
    """An operation whose identifier is not in the path: it is in the body, or else in the query."""
    if operation.body is Body.STREAM:
        return replace(operation, query=(*operation.query, "id"))
    body = Body.JSON if operation.body is Body.MAP else operation.body
    answer = Answer.JSON if operation.answer is Answer.NOTHING else operation.answer
    return replace(operation, body=body, answer=answer)


class Legacy(Dialect):
    """What is spoken at ``POST /<OperationId>``, in one request and its answer."""

    def __init__(self) -> None:
        """Nothing has been said."""
        self._said: Mapping[str, Any] = {}

    def request(self, operation: Operation, said: dict[str, Any]) -> dict[str, Any]:
        """Today's request for what was said. Raises `InvalidInputError`."""
        self._said = said
        if operation.body is Body.STREAM:
            return {**said, "id": _split(said.get("id", []))}
        if operation.name not in SHAPES or self._is_modern():
            return said
        rest = {FIELDS.get(name, name): value for name, value in said.items()}
        return {**rest, "id": SHAPES[operation.name].identify(said)}

    def answer(self, operation: Operation, answer: Any) -> Any:
        """An existing object exists; everything else by its shape, or as today."""
        if operation.name in EXISTENCE:
            return {"exists": True}
        if operation.name not in SHAPES or self._is_modern():
            return answer
        told = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
        shaped = SHAPES[operation.name].retell(self._said, told)
        return {name: value for name, value in shaped.items() if value is not None}

    def refuse(
        self,
        operation: Operation,
        error: LanceNamespaceError,
        request_id: str,
        *,
        status: int | None = None,
    ) -> Reply:
        """A missing object does not exist; everything else by RFC 7807, or as today."""
        if operation.name in EXISTENCE and error.code in MISSING:
            return Reply(200, to_json({"exists": False}))
        reply = super().refuse(operation, error, request_id, status=status)
        if operation.name not in SHAPES or self._is_modern():
            return reply
        words = error.code.name.lower()
        problem = {
            "type": f"/errors/{words.replace('_', '-')}",
            "title": words.replace("_", " ").capitalize(),
            "status": reply.status,
            "detail": str(error),
            "instance": request_id,
            "code": int(error.code),
        }
        reply.content = to_json(problem)
        return reply

    def _is_modern(self) -> bool:
        return isinstance(self._said.get("id"), list)


class Shape(NamedTuple):
    """How document 002 asks for an object, and what it is told of it."""

    identify: Callable[[Mapping[str, Any]], list[str]]
    """Today's identifier, from a request."""
    retell: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
    """The response, from a request and today's response."""


def _object(place: str) -> Shape:
    """Something with a name, in a namespace that a field of this name tells."""

    def identify(said: Mapping[str, Any]) -> list[str]:
        if "name" not in said:
            raise errors.InvalidInputError("field 'name' is missing")
        return [*_names(said, place), said["name"]]

    def retell(said: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
        transaction = told.get("transaction_id")
        return {
            "name": said["name"],
            place: said.get(place, []),
            "location": told.get("location"),
            "properties": told.get("properties"),
            "transactionId": DELIMITER.join(transaction)
            if isinstance(transaction, list)
            else transaction,
        }

    return Shape(identify, retell)


def _names(said: Mapping[str, Any], field: str) -> list[str]:
    names = said.get(field, [])
    if not isinstance(names, list):
        raise errors.InvalidInputError(f"field {field!r} is a list of names, not {names!r}")
    return names


def _split(identifiers: Iterable[str]) -> list[str]:
    return [name for each in identifiers for name in each.split(DELIMITER)]


NAMESPACE, TABLE = _object("parent"), _object("namespace")
CHILDREN = Shape(
    lambda said: _names(said, "parent"),
    lambda _, told: {"namespaces": told["namespaces"], "nextPageToken": told["page_token"]},
)
TRANSACTION = Shape(
    lambda said: [said["id"]] if "id" in said else [],
    lambda said, told: {**told, "id": said["id"], "status": told["status"].upper()},
)
SHAPES = {
    "ListNamespaces": CHILDREN,
    **dict.fromkeys(
        ("CreateNamespace", "DescribeNamespace", "DropNamespace", "NamespaceExists"), NAMESPACE
    ),
    **dict.fromkeys(
        ("DescribeTable", "RegisterTable", "DropTable", "DeregisterTable", "TableExists"), TABLE
    ),
    "DescribeTransaction": TRANSACTION,
    "AlterTransaction": TRANSACTION,
}
"""The operations that document 002 has routes for."""
