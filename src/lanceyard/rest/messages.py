"""Messages: requests and replies as they go over HTTP, whatever sends them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from pydantic import BaseModel

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.rest.headers import API_KEY, for_strangers, take_headers
from lanceyard.rest.protocol import DELIMITER, Body, Operation
from lanceyard.rest.settings import RestSettings

STREAM = "application/vnd.apache.arrow.stream"
MOVED = frozenset({301, 302, 307, 308})
"""What sends a client elsewhere with the same request."""
STEPS = (".", "..")
"""What no part of a path can be: it would be another path."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it goes out."""

    method: str
    url: str
    headers: Mapping[str, str]
    """The names are in lower case."""
    content: Any = None
    """None, bytes, or what is read or iterated over once."""

    @property
    def repeats(self) -> bool:
        """Whether it can be sent again once it was sent."""
        return self.content is None or _is_bytes(self.content)

    @property
    def question(self) -> Hashable:
        """What is asked, and for whom; equal for the same question."""
        return self.method, self.url, self.content, tuple(sorted(self.headers.items()))

    def with_headers(self, **more: str) -> Outgoing:
        """The same with other headers; an underscore stands for a hyphen."""
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return replace(self, headers={**self.headers, **named})


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """The names are in lower case."""
    body: bytes


def write_request(
    settings: RestSettings, operation: Operation, request: Any, body: Any = None
) -> Outgoing:
    """An operation as a request over HTTP. Raises `InvalidInputError`."""
    fields = _fields({} if request is None else request)
    headers = {**settings.headers, **take_headers(fields)}
    if settings.api_key is not None:
        headers.setdefault(API_KEY, settings.api_key)
    query = [(DELIMITER, settings.delimiter), *_query(operation, fields)]
    path = _path(settings.delimiter, operation, fields)
    content, kind = _content(operation, fields, body)
    if kind is not None:
        headers["content-type"] = kind
    return Outgoing(operation.method, f"{settings.uri}{path}?{urlencode(query)}", headers, content)


def redirect(outgoing: Outgoing, reply: Reply, *, may_leave: bool = True) -> Outgoing | None:
    """The request again, where a reply sends it; None if it sends nowhere.

    To another host goes nothing that says who asks, and nothing at all unless it `may_leave`.
    Raises `ServiceUnavailableError` where the request cannot go.
    """
    if reply.status not in MOVED:
        return None
    location = reply.headers.get("location", "")
    host = _host(outgoing.url, location)
    if host is None:
        raise errors.ServiceUnavailableError("the server sends its clients nowhere")
    if not outgoing.repeats:
        raise errors.ServiceUnavailableError(
            f"the server sends its clients to {host[1]}, and a stream cannot be sent twice: "
            "use that address as uri"
        )
    is_same = host == _host(outgoing.url, "")
    if not (is_same or may_leave):
        raise errors.ServiceUnavailableError(
            f"the server sends its clients to {host[1]}, which our certificate is not for: "
            "use that address as uri"
        )
    headers = outgoing.headers if is_same else for_strangers(outgoing.headers)
    return replace(outgoing, url=urljoin(outgoing.url, location), headers=headers)


def _host(url: str, location: str) -> tuple[str, str, int] | None:
    """Scheme, name and port of what a URL leads to; None if there is nobody to ask."""
    try:
        parts = urlsplit(urljoin(url, location))
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or parts.username is not None:
        return None
    return parts.scheme, parts.hostname, port


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


def _path(delimiter: str, operation: Operation, fields: Mapping[str, Any]) -> str:
    parts = []
    for segment in operation.segments:
        if segment == "{id}":
            parts.append(_encoded(operation, _joined(delimiter, operation, fields)))
        elif segment.startswith("{"):
            parts.append(_encoded(operation, _required(operation, fields, segment[1:-1])))
        else:
            parts.append(segment)
    return "/" + "/".join(parts)


def _encoded(operation: Operation, text: str) -> str:
    if text in STEPS:
        raise errors.InvalidInputError(f"{operation.name}: {text!r} is no name")
    return quote(text, safe="")


def _joined(delimiter: str, operation: Operation, fields: Mapping[str, Any]) -> str:
    """The identifier as a path has it; the delimiter alone is the root."""
    names = fields.get("id")
    if names is None and isinstance(fields.get("query"), Mapping):
        names = fields["query"].get("id")  # the table of a plan may be named there
    if names is None and not (operation.only_reads and operation.route.startswith("namespace/")):
        raise errors.InvalidInputError(f"{operation.name} needs an id")
    if operation.route.startswith("transaction"):
        return delimiter.join(names or ())
    identifier = Identifier.parse(names)
    joined = delimiter.join(identifier)
    if identifier and joined.split(delimiter) != [*identifier]:
        raise errors.InvalidInputError(
            f"{identifier} cannot be told apart from others with the delimiter {delimiter!r}"
        )
    return joined or delimiter


def _required(operation: Operation, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not value:
        raise errors.InvalidInputError(f"{operation.name} needs {name}")
    return str(value)


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
        return _stream(operation, body), STREAM
    if operation.body is Body.NONE:
        return None, None
    said = fields.get("metadata") or {} if operation.body is Body.MAP else fields
    try:
        return json.dumps(said, ensure_ascii=False).encode(), "application/json"
    except (TypeError, ValueError, RecursionError) as cause:
        raise errors.InvalidInputError(f"the request cannot be sent as JSON: {cause}") from cause


def _is_bytes(body: Any) -> bool:
    try:
        memoryview(body)
    except TypeError:
        return False
    return True


def _stream(operation: Operation, body: Any) -> Any:
    """Rows as they can be sent: bytes, a file, or chunks, which may have to be awaited."""
    if _is_bytes(body) or hasattr(body, "read") or hasattr(body, "__aiter__"):
        return body
    if isinstance(body, str) or not isinstance(body, Iterable):
        raise errors.InvalidInputError(f"{operation.name} needs rows, as an Arrow IPC stream")
    return (bytes(chunk) for chunk in body if chunk)
