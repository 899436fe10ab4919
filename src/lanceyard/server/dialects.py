"""Dialects: what some clients say and expect beyond the protocol, on the same routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lance_namespace.errors import LanceNamespaceError

from lanceyard.namespace.schema import NAMES
from lanceyard.rest.protocol import Operation
from lanceyard.server.answers import Reply, refuse

AGENT = "lancedb-"
DATABASE = b"x-lancedb-database"
RENAMED = {"metric_type": "distance_type", "new_namespace": "new_namespace_id"}
"""Fields of requests that LanceDB has other names for."""
TYPES = {
    **{ours: arrow for arrow, ours in NAMES.items()},
    "date32": "date32:day",
    "date64": "date64:ms",
}
"""Lance's own names of types."""


class Dialect:
    """The protocol as it is written down."""

    def request(self, operation: Operation, said: dict[str, Any]) -> dict[str, Any]:
        """A request as the protocol has it."""
        return said

    def answer(self, operation: Operation, answer: Any) -> Any:
        """An answer as the client expects it."""
        return answer

    def refuse(
        self,
        operation: Operation,
        error: LanceNamespaceError,
        request_id: str,
        *,
        status: int | None = None,
    ) -> Reply:
        """An error as the client expects it; `status` where HTTP has its own for it."""
        return refuse(error, request_id, status=status)


class LanceDB(Dialect):
    """What ``lancedb.connect("db://…")`` speaks to LanceDB Cloud."""

    def request(self, operation: Operation, said: dict[str, Any]) -> dict[str, Any]:
        """Tables are always described in detail."""
        said = {RENAMED.get(name, name): value for name, value in said.items()}
        if operation.name == "DescribeTable":
            said["load_detailed_metadata"] = True
        return said

    def answer(self, operation: Operation, answer: Any) -> Any:
        """Schemas name types as Lance does, tags are a bare map, counts have other names."""
        retell: Callable[[dict[str, Any]], Any] | None = {
            "DescribeTable": _with_lance_types,
            "ListTableTags": lambda told: told["tags"],
            "UpdateTable": lambda told: {**told, "rows_updated": told["updated_rows"]},
        }.get(operation.name)
        if retell is None:
            return answer
        return retell(answer.model_dump(mode="json", by_alias=True, exclude_none=True))


def find_dialect(headers: Mapping[bytes, bytes]) -> Dialect:
    """The dialect of a client, by the headers it sends."""
    agent = headers.get(b"user-agent", b"").decode("latin-1").lower()
    is_lancedb = agent.startswith(AGENT) or DATABASE in headers
    return LanceDB() if is_lancedb else Dialect()


def _with_lance_types(told: dict[str, Any]) -> dict[str, Any]:
    if "schema" in told:
        told["schema"]["fields"] = [_field(each) for each in told["schema"]["fields"]]
    return told


def _field(field: dict[str, Any]) -> dict[str, Any]:
    return {**field, "type": _type(field["type"])}


def _type(kind: dict[str, Any]) -> dict[str, Any]:
    inner = {"fields": [_field(each) for each in kind["fields"]]} if kind.get("fields") else {}
    return {**kind, "type": TYPES.get(kind["type"], kind["type"]), **inner}
