"""The client: a namespace on another machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from lance_namespace import LanceNamespace, QueryTableResponse
from pydantic import BaseModel

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.rest.protocol import DELIMITER, EXTENSIONS, OPERATIONS, TYPE, Answer, Body, Operation
from lanceyard.rest.settings import RestSettings

CODES = {401: 16, 403: 15, 404: 4, 406: 0, 409: 14, 413: 13, 429: 21, 503: 17}
"""What a status means where a server sends no code; anything else is 13 or 18."""
STREAM = "application/vnd.apache.arrow.stream"
SAFE = ("Describe", "List", "Get", "Count", "NamespaceExists", "TableExists")
"""How the names of operations begin that can be tried again, whatever became of the first try."""


class RestNamespace(LanceNamespace):
    """The namespace of a server that speaks the REST protocol.

    Connections are kept and shared between threads. Reads, and what was refused for now (429, 503),
    are tried again; a write whose answer was lost is not.
    """

    def __init__(self, **properties: str) -> None:
        """Take the properties of `RestSettings`, as strings."""
        self._properties = properties
        self._settings = RestSettings.from_properties(properties)
        self._pool = urllib3.PoolManager(
            maxsize=64,
            headers=dict(self._settings.headers),
            timeout=urllib3.Timeout(connect=self._settings.timeout, read=None),
            **self._settings.tls,
        )

    def namespace_id(self) -> str:
        """A text that is equal for namespaces of the same server."""
        return repr(self)

    def __repr__(self) -> str:
        return f"RestNamespace(uri={self._settings.uri!r})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _construct, (type(self), self._properties)

    def close(self) -> None:
        """Close the connections. Using the namespace again is allowed."""
        self._pool.clear()

    def carry_out(self, operation: Operation, request: Any, body: Any = None) -> Any:
        """Carry out an operation of the protocol."""
        fields = _fields({} if request is None else request)
        target = self._settings.uri + self._path(operation, fields)
        query = [(DELIMITER, self._settings.delimiter), *_query(operation, fields)]
        content, kind = _content(operation, fields, body)
        headers = {"content-type": kind} if kind else {}
        response = self._send(operation, f"{target}?{urlencode(query)}", content, headers)
        if response.status != operation.status:
            raise _failure(operation, response)
        return _answer(operation, response)

    def _send(
        self, operation: Operation, url: str, content: Any, headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        streamed = operation.body is Body.STREAM
        retries = urllib3.Retry(
            connect=self._settings.retries,
            read=self._settings.retries if operation.name.startswith(SAFE) else 0,
            status=0 if streamed else self._settings.retries,
            redirect=0 if streamed else 3,
            status_forcelist=(429, 503),
            allowed_methods=None,
            backoff_factor=0.1,
            backoff_jitter=0.1,
            raise_on_status=False,
        )
        sent = {**self._settings.headers, **headers}
        try:
            return self._pool.request(
                operation.method, url, body=content, headers=sent, retries=retries
            )
        except urllib3.exceptions.HTTPError as cause:
            raise errors.ServiceUnavailableError(
                f"{self._settings.uri} cannot be reached: {cause}"
            ) from cause

    def _path(self, operation: Operation, fields: dict[str, Any]) -> str:
        parts = []
        for segment in operation.segments:
            if segment == "{id}":
                parts.append(quote(self._joined(operation, fields), safe=""))
            elif segment.startswith("{"):
                parts.append(quote(_required(operation, fields, segment[1:-1]), safe=""))
            else:
                parts.append(segment)
        return "/" + "/".join(parts)

    def _joined(self, operation: Operation, fields: dict[str, Any]) -> str:
        """The identifier as a path has it; the delimiter alone is the root."""
        names = fields.get("id")
        if names is None and "query" in fields:
            names = fields["query"].get("id")  # the table of a plan may be named there
        if names is None and not operation.name.startswith(SAFE):
            raise errors.InvalidInputError(f"{operation.name} needs an id")
        if operation.route.startswith("transaction"):
            return self._settings.delimiter.join(names or ())
        identifier = Identifier.parse(names)
        return self._settings.delimiter.join(identifier) or self._settings.delimiter


def _required(operation: Operation, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not value:
        raise errors.InvalidInputError(f"{operation.name} needs {name}")
    return str(value)


def _fields(request: Any) -> dict[str, Any]:
    if isinstance(request, BaseModel):
        return request.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(request, Mapping):
        raise errors.InvalidInputError(f"a request is a model or a dict, not {type(request)}")
    return {name: _plain(value) for name, value in request.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _fields(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _query(operation: Operation, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in operation.query:
        value = fields.get(name)
        if isinstance(value, list):
            yield from ((name, str(each)) for each in value)
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, Mapping):
            yield name, json.dumps(dict(value))
        elif value is not None:
            yield name, str(value)


def _content(operation: Operation, fields: Mapping[str, Any], body: Any) -> tuple[Any, str | None]:
    if operation.body is Body.STREAM:
        return (body if _is_sendable(body) else _chunks(body)), STREAM
    if operation.body is Body.NONE:
        return None, None
    said = fields.get("metadata") or {} if operation.body is Body.MAP else fields
    try:
        return json.dumps(said, ensure_ascii=False).encode(), "application/json"
    except (TypeError, ValueError, RecursionError) as cause:
        raise errors.InvalidInputError(f"the request cannot be sent as JSON: {cause}") from cause


def _is_sendable(body: Any) -> bool:
    if hasattr(body, "read"):
        return True
    try:
        memoryview(body)
    except TypeError:
        return False
    return True


def _chunks(body: Iterable[bytes]) -> Iterator[bytes]:
    return (bytes(chunk) for chunk in body if chunk)


def _failure(operation: Operation, response: urllib3.BaseHTTPResponse) -> Exception:
    """The error that a server told, by its code; by its status where it sent none."""
    try:
        said = json.loads(response.data)
        code, text, name = int(said["code"]), str(said.get("error") or ""), said.get(TYPE)
    except (ValueError, TypeError, KeyError):
        code, text = _code(response.status), response.data[:500].decode("utf-8", "replace")
        name = None
    fallback = f"{operation.name} was answered with status {response.status}"
    error = errors.from_error_code(code, text or fallback)
    narrower = getattr(errors, str(name), None)
    if isinstance(narrower, type) and issubclass(narrower, type(error)):
        return narrower(str(error))
    return error


def _code(status: int) -> int:
    return CODES.get(status, 13 if 400 <= status < 500 else 18)  # noqa: PLR2004


def _answer(operation: Operation, response: urllib3.BaseHTTPResponse) -> Any:
    form = operation.answer
    if form is Answer.FILE:
        return QueryTableResponse(data=response.data)
    said = json.loads(response.data) if response.data and form is not Answer.NOTHING else {}
    if form is Answer.TEXT:
        return said
    if form is Answer.NUMBER:
        said = {"count": said}
    elif form is Answer.MAP:
        said = {"metadata": said}
    return operation.response.model_validate(said)


def _method(operation: Operation) -> Callable[..., Any]:
    def carried_out(self: RestNamespace, request: Any = None, request_data: Any = None) -> Any:
        return self.carry_out(operation, request, request_data)

    carried_out.__name__ = operation.function
    carried_out.__doc__ = f"{operation.name}, carried out by the server."
    return carried_out


for _operation in (*OPERATIONS, *EXTENSIONS):
    setattr(RestNamespace, _operation.function, _method(_operation))


def _construct(kind: type[RestNamespace], properties: dict[str, str]) -> RestNamespace:
    return kind(**properties)
