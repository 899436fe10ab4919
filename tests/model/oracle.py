"""The oracle: the catalog in memory, restricted to what each mode of a directory can do.

Requests name locations as the directory catalog knows them; the oracle keeps its tables elsewhere,
so it remembers which of its places is the twin of which.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import lance
from lance_namespace import DropTableResponse, RegisterTableResponse
from lance_namespace.errors import ErrorCode, LanceNamespaceError

import lanceyard

Request = dict[str, Any]
Answer = ErrorCode | Any
"""The code of an error, or a response."""

NAMESPACE_OPERATIONS = {
    "alter_namespace",
    "create_namespace",
    "describe_namespace",
    "drop_namespace",
    "list_namespaces",
    "list_tables",
    "namespace_exists",
}
NEEDS_ROWS = {"alter_namespace", "rename_table"}
NOWHERE = "nowhere"


@dataclass(frozen=True)
class Mode:
    """A mode of the directory catalog, and by which rules it differs from memory."""

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    flat: bool = False
    """Only the root namespace exists, and tables keep their own properties."""
    suffix: str | None = None
    """How the directory of a root table ends; None where only rows tell of tables."""


MODES = {
    mode.name: mode
    for mode in (
        Mode("v1", {"manifest_enabled": "false"}, flat=True, suffix=".lance"),
        Mode("v2", {"dir_listing_enabled": "false"}),
        Mode("compat", suffix=".lance"),
        Mode(
            "bare",
            {"manifest_enabled": "false", "bare_directories": "true"},
            flat=True,
            suffix="",
        ),
    )
}


def ask(call: Callable[..., Any], *args: Any) -> Answer:
    """What a call answers: its response, or the code of its error."""
    try:
        return call(*args)
    except LanceNamespaceError as error:
        return error.code


class Oracle:
    """Says what a directory catalog in a mode must answer."""

    def __init__(self, mode: Mode, root: str) -> None:
        self.mode = mode
        self.root = root
        self.namespace: Any = lanceyard.MemoryNamespace()
        self.twins: dict[str, str] = {}
        """For each place of the oracle, where the directory catalog keeps the same."""
        self._remembered: dict[str, dict[str, str]] = {}

    def answer(self, operation: str, request: Request, *body: bytes) -> Answer:
        """What is expected of a well-formed request."""
        if self.mode.flat:
            code = self._flat_refusal(operation, request)
            if code is not None:
                return code
        kept = self._kept_directory(request.get("id"))
        elsewhere = operation == "declare_table" and "location" in request
        if kept is not None and operation in ("create_table", "declare_table") and not elsewhere:
            return ErrorCode.TABLE_ALREADY_EXISTS
        if kept is not None and operation == "drop_table":
            shutil.rmtree(kept)
            return DropTableResponse(id=request["id"], location=kept, properties={})
        if operation == "register_table":
            return self._register(request)
        answer = ask(getattr(self.namespace, operation), request, *body)
        if operation == "declare_table" and not isinstance(answer, ErrorCode):
            os.makedirs(answer.location, exist_ok=True)  # a declaration reserves a directory
        if operation == "deregister_table" and not isinstance(answer, ErrorCode):
            self._remembered[answer.location] = answer.properties
        return answer

    def own_directory(self, identifier: list[str] | None) -> str | None:
        """The directory that a root table has by its name."""
        if self.mode.suffix is None or identifier is None or len(identifier) != 1:
            return None
        return f"{self.root}/{identifier[0]}{self.mode.suffix}"

    def preserved(self) -> Iterator[str]:
        """Places of deregistered tables, whose data is kept."""
        used = self.used()
        return (place for place in self.twins if place not in used and os.path.isdir(place))

    def used(self) -> set[str]:
        """Places of tables that are there."""
        names = self.namespace.list_all_tables({}).tables
        described = (self.namespace.describe_table({"id": name.split("$")}) for name in names)
        return {table.location for table in described}

    def _flat_refusal(self, operation: str, request: Request) -> ErrorCode | None:
        """What V1 and bare refuse, whatever is there."""
        identifier = request.get("id", [])
        namespace = operation in NAMESPACE_OPERATIONS
        if len(identifier) > (0 if namespace else 1) or operation in NEEDS_ROWS:
            return ErrorCode.UNSUPPORTED
        if operation == "declare_table":
            if self.mode.name == "bare" or request.get("properties"):
                return ErrorCode.UNSUPPORTED
            return ErrorCode.INVALID_INPUT if request.get("location") else None
        if operation == "register_table":
            elsewhere = self._absolute(request["location"]) != self.own_directory(identifier)
            return ErrorCode.INVALID_INPUT if elsewhere else None
        if operation == "alter_table" and self._is_declared(identifier):
            return ErrorCode.INVALID_TABLE_STATE  # there is no Lance table to keep properties
        return None

    def _kept_directory(self, identifier: list[str] | None) -> str | None:
        """The place of a deregistered table which keeps a missing table's own directory taken."""
        own = self.own_directory(identifier)
        if own is None or self._is_taken(identifier):
            return None
        return next((place for place in self.preserved() if self.twins[place] == own), None)

    def _register(self, request: Request) -> Answer:
        place = self._place(self._absolute(request["location"]))
        if self.mode.flat:
            # Its Lance metadata decides, and a table that is there already stays as it is.
            if request.get("mode") == "Overwrite" and self._is_taken(request["id"]):
                return RegisterTableResponse(location=place)
            request = {**request, "properties": self._remembered.get(place, {})}
        return ask(self.namespace.register_table, {**request, "location": place})

    def _place(self, location: str) -> str:
        places = [place for place, twin in self.twins.items() if twin == location]
        existing = [place for place in places if os.path.isdir(place)]
        return (existing or places or [NOWHERE])[-1]

    def _absolute(self, location: str) -> str:
        return os.path.join(self.root, location)

    def _is_taken(self, identifier: list[str] | None) -> bool:
        request = {"id": identifier}
        answers = (
            ask(self.namespace.table_exists, request),
            ask(self.namespace.namespace_exists, request),
        )
        return not all(isinstance(answer, ErrorCode) for answer in answers)

    def _is_declared(self, identifier: list[str]) -> bool:
        request = {"id": identifier, "check_declared": True}
        answer = ask(self.namespace.describe_table, request)
        return not isinstance(answer, ErrorCode) and bool(answer.is_only_declared)


@dataclass(frozen=True)
class Seen:
    """What can be seen of a table."""

    location: str = field(compare=False)
    properties: dict[str, str]
    rows: list[Any] | None
    """Its content, None for one that was only declared."""


def visible_state(
    namespace: Any, read: Callable[[str], list[Any]]
) -> dict[tuple[str, ...], Seen | dict[str, str]]:
    """Everything in a catalog: the properties of namespaces, and tables with their content."""
    state: dict[tuple[str, ...], Seen | dict[str, str]] = {}
    parents: list[list[str]] = [[]]
    for parent in parents:
        state[tuple(parent)] = namespace.describe_namespace({"id": parent}).properties
        parents += [[*parent, n] for n in namespace.list_namespaces({"id": parent}).namespaces]
        for name in namespace.list_tables({"id": parent}).tables:
            request = {"id": [*parent, name], "check_declared": True}
            found = namespace.describe_table(request)
            rows = None if found.is_only_declared else read(found.location)
            state[*parent, name] = Seen(found.location, found.properties, rows)
    return state


def read_rows(location: str) -> list[Any]:
    """The content of a table, as any reader of Lance sees it."""
    rows: list[Any] = lance.dataset(location).to_table()["n"].to_pylist()
    return rows
