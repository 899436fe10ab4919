"""The OpenAPI document: the protocol as the server speaks it, for programs to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from lanceyard.errors import ErrorCode
from lanceyard.identifier import DELIMITER as DOLLAR
from lanceyard.rest.protocol import (
    DELIMITER,
    EXTENSIONS,
    KEYED,
    OPERATIONS,
    STATUSES,
    TYPE,
    VERSION,
    Answer,
    Body,
    Operation,
)
from lanceyard.server.answers import ARROW_FILE, JSON, TAGGED
from lanceyard.server.remembered import KEY, KEY_LENGTH

OPENAPI = "3.1.1"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
BODY_STATUSES = {
    408: "the body comes slower than the server waits for",
    413: "the body is larger than the server takes",
}
"""The statuses that HTTP has for an error, and not its code."""
REQUIRED = frozenset({("MergeInsertIntoTable", "on")})
"""Parameters that a request needs, though its model does not say so."""
SECURITY: Mapping[str, Any] = {
    "OAuth2": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "/oauth/token", "scopes": {}}},
    },
    "BearerAuth": {"type": "http", "scheme": "bearer"},
    "ApiKeyAuth": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}

TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
BYTES = {"type": "string", "format": "binary"}
ERROR = {
    "type": "object",
    "description": "What every answer says that is no success.",
    "required": ["error", "code", "instance"],
    "properties": {
        "error": {"type": "string", "description": "What is wrong, in words."},
        "code": {
            "type": "integer",
            "enum": sorted(STATUSES),
            "description": ", ".join(f"{code} {ErrorCode(code).name}" for code in sorted(STATUSES)),
        },
        "instance": {"type": "string", "description": "The id of the request."},
        "detail": {"type": "string"},
        TYPE: {"type": "string", "description": "The class of the error."},
    },
}


def describe(
    title: str = "Lanceyard", version: str = VERSION, *, server: str = "/", secured: bool = True
) -> dict[str, Any]:
    """The document: every route of the protocol, and what travels on it.

    Parameters
    ----------
    server
        The path that all routes begin with.
    secured
        Whether clients have to say who they are.
    """
    schemas = {"ErrorResponse": ERROR, **_schemas()}
    paths: dict[str, dict[str, Any]] = {}
    for operation in (*OPERATIONS, *EXTENSIONS):
        path = paths.setdefault("/" + "/".join(operation.segments), {})
        path[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": OPENAPI,
        "info": {"title": title, "version": version},
        "servers": [{"url": server}],
        "security": [{name: []} for name in SECURITY] if secured else [],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {f"Error{status}": _error(status) for status in _error_statuses()},
            "headers": {"RequestId": {"required": True, "schema": {"type": "string"}}},
            "securitySchemes": dict(SECURITY),
        },
    }


def _operation(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    is_tagged = operation.name in TAGGED
    told = {
        "operationId": operation.name,
        "summary": re.sub(r"(?<!^)([A-Z])", r" \1", operation.name).capitalize(),
        "tags": [operation.segments[1]],
        "parameters": list(_parameters(operation, schemas)),
        "responses": {
            str(operation.status): _answer(operation),
            **({"304": {"description": "the client has the answer"}} if is_tagged else {}),
            **{str(each): _ref("responses", f"Error{each}") for each in _error_statuses()},
        },
    }
    body = _body(operation, schemas)
    return {**told, "requestBody": body} if body else told


def _parameters(operation: Operation, schemas: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for segment in operation.segments:
        if segment.startswith("{"):
            schema = {"type": "string", "minLength": 1}
            yield {"name": segment[1:-1], "in": "path", "required": True, "schema": schema}
    delimiter = {"type": "string", "minLength": 1, "default": DOLLAR}
    yield {"name": DELIMITER, "in": "query", "schema": delimiter}
    for name in operation.query:
        schema = dict(schemas[operation.request.__name__]["properties"][name])
        about = schema.pop("description", "")
        yield {
            "name": name,
            "in": "query",
            "required": (operation.name, name) in REQUIRED,
            "description": about,
            "schema": _as_text(schema),
        }
    if operation.name in TAGGED:
        yield {"name": "if-none-match", "in": "header", "schema": {"type": "string"}}
    if operation.name in KEYED:
        key = {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH}
        yield {"name": KEY.decode(), "in": "header", "schema": key}


def _as_text(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a parameter: nothing is said by leaving it out, and a map as a JSON text."""
    given = [each for each in schema.get("anyOf", [schema]) if each != {"type": "null"}]
    default = {"default": schema["default"]} if schema.get("default") is not None else {}
    plain = given[0] if len(given) == 1 else {"anyOf": given}
    if plain.get("type") == "object":
        return {"type": "string", "contentMediaType": JSON, "contentSchema": plain}
    return {**plain, **default}


def _body(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any] | None:
    if operation.body is Body.NONE:
        return None
    if operation.body is Body.STREAM:
        return {"required": True, "content": {ARROW_STREAM: {"schema": BYTES}}}
    if operation.body is Body.MAP:
        return {"required": False, "content": {JSON: {"schema": TEXTS}}}
    name = operation.request.__name__
    is_required = bool(schemas[name].get("required"))
    return {"required": is_required, "content": {JSON: {"schema": _ref("schemas", name)}}}


def _answer(operation: Operation) -> dict[str, Any]:
    told: dict[str, Any] = {"description": operation.answer.value, "headers": _headers()}
    if operation.answer is Answer.NOTHING:
        return told
    if operation.answer is Answer.FILE:
        return {**told, "content": {ARROW_FILE: {"schema": BYTES}}}
    schema = {
        Answer.NUMBER: {"type": "integer", "minimum": 0},
        Answer.TEXT: {"type": "string"},
        Answer.MAP: TEXTS,
    }.get(operation.answer) or _ref("schemas", operation.response.__name__)
    return {**told, "content": {JSON: {"schema": schema}}}


def _error(status: int) -> dict[str, Any]:
    names = [ErrorCode(code).name for code, each in STATUSES.items() if each == status]
    return {
        "description": ", ".join(names) or BODY_STATUSES[status],
        "headers": _headers(),
        "content": {JSON: {"schema": _ref("schemas", "ErrorResponse")}},
    }


def _error_statuses() -> list[int]:
    return sorted({*STATUSES.values(), *BODY_STATUSES})


def _headers() -> dict[str, Any]:
    return {"x-request-id": _ref("headers", "RequestId")}


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


@cache
def _schemas() -> dict[str, Any]:
    """The models of all requests and responses, and what they are made of, each once."""
    models: dict[type[BaseModel], JsonSchemaMode] = {}
    for operation in (*OPERATIONS, *EXTENSIONS):
        if operation.query or operation.body is Body.JSON:
            models[operation.request] = "validation"
        if operation.answer is Answer.JSON:
            models[operation.response] = "validation"
    _, schema = models_json_schema(
        list(models.items()), by_alias=True, ref_template="#/components/schemas/{model}"
    )
    return dict(schema["$defs"])
