"""What both clients are: a namespace on another machine, by the protocol's table."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from lanceyard.rest.protocol import EXTENSIONS, OPERATIONS, Operation
from lanceyard.rest.settings import RestSettings

_C = TypeVar("_C", bound="type[RemoteNamespace]")


class RemoteNamespace(ABC):
    """The namespace of a server that speaks the REST protocol."""

    def __init__(self, **properties: str) -> None:
        """Take the properties of `RestSettings`, as strings."""
        self._properties = properties
        self._settings = RestSettings.from_properties(properties)

    def namespace_id(self) -> str:
        """A text that is equal for namespaces of the same server."""
        return repr(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(uri={self._settings.uri!r})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _construct, (type(self), self._properties)

    @abstractmethod
    def carry_out(self, operation: Operation, request: Any, body: Any = None) -> Any:
        """Carry out an operation of the protocol, or give what does when it is awaited."""


def with_operations(kind: _C) -> _C:
    """A class with a method for each operation of the protocol."""
    for operation in (*OPERATIONS, *EXTENSIONS):
        setattr(kind, operation.function, _method(kind, operation))
    return kind


def _method(kind: type[RemoteNamespace], operation: Operation) -> Callable[..., Any]:
    def direct(self: RemoteNamespace, request: Any = None, request_data: Any = None) -> Any:
        return self.carry_out(operation, request, request_data)

    async def awaited(self: RemoteNamespace, request: Any = None, request_data: Any = None) -> Any:
        return await self.carry_out(operation, request, request_data)

    carried_out = awaited if inspect.iscoroutinefunction(kind.carry_out) else direct
    carried_out.__name__ = operation.function
    carried_out.__doc__ = f"{operation.name}, carried out by the server."
    return carried_out


def _construct(kind: type[RemoteNamespace], properties: dict[str, str]) -> RemoteNamespace:
    return kind(**properties)
