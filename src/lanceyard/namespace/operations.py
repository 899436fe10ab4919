"""What all operations share: the catalog they work on, and how its failures are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from lance_namespace import LanceNamespace

from lanceyard import errors
from lanceyard.catalog.base import Catalog
from lanceyard.identifier import Identifier
from lanceyard.namespace.requests import ListOperationsResponse
from lanceyard.namespace.threads import apart_from_lance, is_called_by_lance

_P = ParamSpec("_P")
_R = TypeVar("_R")
_OPERATIONS: set[str] = set()


def operation(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a method an operation: it is listed, and what storage fails with gets a code."""
    name = "".join(map(str.title, method.__name__.split("_")))
    _OPERATIONS.add(name)

    return tells_failures(method)


def tells_failures(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Give what storage fails with a code of document 003."""
    name = "".join(map(str.title, method.__name__.split("_")))

    @wraps(method)
    def carried_out(*args: _P.args, **named: _P.kwargs) -> _R:
        try:
            if is_called_by_lance():
                return apart_from_lance(partial(method, *args, **named))
            return method(*args, **named)
        except OSError as cause:
            raise errors.storage_failure(f"carrying out {name}", cause) from cause

    return carried_out


class Operations(LanceNamespace):
    """A namespace that speaks for a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        """Speak for a catalog."""
        self._catalog = catalog

    def namespace_id(self) -> str:
        """A text that is equal for namespaces of the same catalog."""
        return repr(self)

    def close(self) -> None:
        """Finish background work. Using the namespace again is allowed."""
        self._catalog.close()

    def state_at_hand(self, names: Sequence[str]) -> object | None:
        """A mark of the state in which an object, and what is directly below it, is looked up.

        While the very same mark is given, so are the same answers. None if looking it up might take
        more than memory right now: then whoever must not wait, such as the loop of a server, should
        ask in a thread.
        """
        try:
            identifier = Identifier.parse(names)
        except errors.InvalidInputError:
            return object()  # it is refused at once
        return self._catalog.state_at_hand(identifier)

    @operation
    def list_operations(self, request: Mapping[str, Any] | None = None) -> ListOperationsResponse:
        """List the operations that are carried out: an extension of the specification."""
        return ListOperationsResponse(operations=sorted(_OPERATIONS - self._catalog.unsupported))
