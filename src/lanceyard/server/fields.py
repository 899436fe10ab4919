"""Fields: what a request says, gathered from its path, its query and its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, get_args

from pydantic_core import from_json

from lanceyard import errors
from lanceyard.identifier import DELIMITER as DOLLAR
from lanceyard.rest.headers import CONTEXT as HEADER
from lanceyard.rest.protocol import DELIMITER, Body, Operation


def gather(
    operation: Operation,
    path: Mapping[str, str],
    query: Iterable[tuple[str, str]],
    body: bytes | None,
) -> dict[str, Any]:
    """The fields of a request. What is in the path decides; the body must not contradict it.

    Raises `InvalidInputError`.
    """
    given: dict[str, list[str]] = {}
    for name, value in query:
        given.setdefault(name, []).append(value)
    fields = _from_body(operation, body)
    for name in operation.query:
        if name in given:
            fields[name] = _reader(operation, name)(name, given[name])
    delimiter = given.get(DELIMITER, [DOLLAR])[-1]
    if not delimiter:
        raise errors.InvalidInputError("the delimiter is empty")
    for name, value in path.items():
        _put(fields, name, _names(value, delimiter) if name == "id" else value)
    return fields


def _from_body(operation: Operation, body: bytes | None) -> dict[str, Any]:
    if not body or operation.body is Body.STREAM:
        return {}
    try:
        said = from_json(body)
    except ValueError as cause:
        raise errors.InvalidInputError(f"the body is no JSON: {cause}") from cause
    if said is None:  # how older releases of Lance's own client say nothing
        return {}
    if not isinstance(said, dict):
        raise errors.InvalidInputError("the body is no JSON object")
    if operation.body is Body.MAP:
        return {"metadata": said}
    fields = {name: value for name, value in said.items() if value is not None}
    if isinstance(fields.get("context"), dict):
        # A catalog behind another server would send these on, as if they were ours.
        fields["context"] = {k: v for k, v in fields["context"].items() if not k.startswith(HEADER)}
    return fields


def _put(fields: dict[str, Any], name: str, value: Any) -> None:
    said = fields.get(name)
    if said is not None and said != value:
        raise errors.InvalidInputError(f"the body says another {name} than the path")
    fields[name] = value


def _names(text: str, delimiter: str) -> list[str]:
    """The names of an identifier; the delimiter alone is the root."""
    return [] if text == delimiter else text.split(delimiter)


@cache
def _reader(operation: Operation, name: str) -> Callable[[str, list[str]], Any]:
    """How a field is read from the query, by its type in the model."""
    kinds = _kinds(operation.request.model_fields[name].annotation)
    if dict in kinds:
        return _map
    if list in kinds:
        return lambda _, values: values
    if bool in kinds:
        return _flag
    return _number if int in kinds else _text


def _kinds(annotation: Any) -> set[Any]:
    """The plain types that an annotation is made of, from the outside in."""
    origin = getattr(annotation, "__origin__", annotation)
    if origin in (list, dict):
        return {origin}
    inner = get_args(annotation)
    return set().union(*map(_kinds, inner)) if inner else {annotation}


def _text(_: str, values: list[str]) -> str:
    return values[-1]


def _flag(name: str, values: list[str]) -> bool:
    if values[-1] not in ("true", "false"):
        raise errors.InvalidInputError(f"{name} is true or false, not {values[-1]!r}")
    return values[-1] == "true"


def _number(name: str, values: list[str]) -> int:
    try:
        return int(values[-1])
    except ValueError as cause:
        raise errors.InvalidInputError(f"{name} is a number, not {values[-1]!r}") from cause


def _map(name: str, values: list[str]) -> Any:
    try:
        return from_json(values[-1])
    except ValueError as cause:
        raise errors.InvalidInputError(f"{name} is a JSON object") from cause
