"""Lookups: answers that come from memory, at once, and are kept while the catalog is as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lance_namespace import LanceNamespace

from lanceyard.rest.protocol import Operation
from lanceyard.server.answers import Reply
from lanceyard.server.dialects import Dialect
from lanceyard.server.security.principals import Principal

LOOKUPS = frozenset(
    {
        "DescribeNamespace",
        "DescribeTable",
        "ListAllTables",
        "ListNamespaces",
        "ListTables",
        "NamespaceExists",
        "TableExists",
    }
)
"""Operations that only look names up."""
OPENING = ("load_detailed_metadata", "check_declared", "version", "tag", "branch")
"""Fields for which a table has to be opened."""
SHORT = 1_000
"""Names that a list may have to be made at once."""
KEPT = 4_096
"""Answers that are kept."""
LONGEST = 2_000
"""Bytes of a question whose answer is kept."""
LARGEST = 64 * 2**10
"""Bytes of an answer that is kept."""


class Question(NamedTuple):
    """A request as it came: the same question has the same answer while nothing changes."""

    principal: Principal | None
    dialect: type[Dialect]
    path: bytes
    query: bytes
    content: bytes

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        return len(self.path) + len(self.query) + len(self.content)


class Answered(NamedTuple):
    """An answer, and what it was an answer to."""

    said: Mapping[str, Any]
    state: object
    reply: Reply


class Lookups:
    """What a namespace finds in memory.

    A namespace that can tell has a method `state_at_hand`, which gives a mark of the state that it
    would answer from. As long as the mark is the same, the answer is.
    """

    def __init__(self, namespace: LanceNamespace, *, lists: bool) -> None:
        """Look names up in a namespace; lists too, unless they are cut for each principal."""
        self._state: Callable[[Any], object | None] | None
        self._state = getattr(namespace, "state_at_hand", None)
        self._lists = lists
        self._kept: dict[Question, Answered] = {}
        self._last: object | None = None

    def state(self, operation: Operation, said: Mapping[str, Any]) -> object | None:
        """A mark of the state that an operation is answered from at once; None if it is not."""
        if self._state is None or operation.name not in LOOKUPS or _opens(said):
            return None
        if operation.name.startswith("List") and not (self._lists and _is_short(said)):
            return None
        if said.get("include_declared") is False:
            return None
        return self._state(said.get("id") or ())

    def find(self, question: Question) -> Answered | None:
        """The answer to a request that was answered before, if it still is the answer."""
        found = self._kept.get(question)
        if found is None or self._state is None:
            return None
        return found if self._state(found.said.get("id") or ()) is found.state else None

    def keep(self, question: Question, answered: Answered) -> None:
        """Keep an answer."""
        if question.size > LONGEST or len(answered.reply.content) > LARGEST:
            return
        if type(answered.state) is object:
            return  # a bare mark is given once, and never again
        if answered.state is not self._last or len(self._kept) >= KEPT:
            self._kept.clear()  # no answer to an earlier state holds
            self._last = answered.state
        self._kept[question] = answered


def _is_short(said: Mapping[str, Any]) -> bool:
    limit = said.get("limit")
    return isinstance(limit, int) and limit <= SHORT


def _opens(said: Mapping[str, Any]) -> bool:
    return any(said.get(name) is not None and said[name] is not False for name in OPENING)
