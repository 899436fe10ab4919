"""A change: one writer's wish as plain data, and what came of it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from lanceyard import errors
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import Row
from lanceyard.identifier import Identifier

CHANGES: dict[str, type[Change]] = {}
"""Every kind of change, by its name."""
LISTS = ("unset", "tables", "versions", "ranges")


class Outcome(NamedTuple):
    """What a change did, as its caller needs to know it."""

    row: Row | None = None
    """The row that is there now, or that was removed."""
    gone: tuple[Row, ...] = ()
    """Tables that no longer are in the catalog, whose files their caller may delete."""
    deleted: int = 0
    """How many versions were removed."""
    parts: tuple[Outcome, ...] = ()
    """What each of several changes did."""


@dataclass(frozen=True)
class Change(ABC):
    """One writer's wish, and the rule for it."""

    object_id: str

    @abstractmethod
    def apply(self, draft: Draft) -> Outcome:
        """Check the change on a draft and carry it out there.

        Raises the error of document 003, and then leaves the draft as it was.
        """

    def depends_on(self) -> tuple[str, ...] | None:
        """The object ids that `apply` asks for, besides those above them; None for all rows."""
        return None

    @property
    def identifier(self) -> Identifier:
        """The object the change is about."""
        return Identifier.from_object_id(self.object_id)

    def __init_subclass__(cls) -> None:
        CHANGES[cls.__name__] = cls

    def to_json(self) -> str:
        """The change as text, for `from_json` in another process."""
        return json.dumps({"change": type(self).__name__, **asdict(self)})


@dataclass(frozen=True)
class Together(Change):
    """Several changes, all of them or none."""

    changes: tuple[Change, ...] = ()

    def apply(self, draft: Draft) -> Outcome:
        trial = draft.copy()
        parts: list[Outcome] = []
        conflicts: dict[str, errors.ConcurrentModificationError] = {}
        for change in self.changes:
            try:
                parts.append(change.apply(trial))
            except errors.ConcurrentModificationError as conflict:
                conflicts.setdefault(change.object_id, conflict)
        if conflicts:
            raise _as_one(conflicts)
        draft.take(trial)
        return Outcome(gone=tuple(row for part in parts for row in part.gone), parts=tuple(parts))

    def to_json(self) -> str:
        return json.dumps(
            {
                "change": type(self).__name__,
                "object_id": self.object_id,
                "changes": [change.to_json() for change in self.changes],
            }
        )


def from_json(text: str) -> Change:
    """Read a change that another process wrote with `to_json`."""
    data: dict[str, Any] = json.loads(text)
    for name in LISTS:
        if name in data:
            data[name] = tuple(tuple(i) if isinstance(i, list) else i for i in data[name])
    if "changes" in data:
        data["changes"] = tuple(map(from_json, data["changes"]))
    return CHANGES[data.pop("change")](**data)


def _as_one(
    conflicts: Mapping[str, errors.ConcurrentModificationError],
) -> errors.ConcurrentModificationError:
    """One error for those of several tables; it names all of them."""
    first = next(iter(conflicts.values()))
    if len(conflicts) == 1:
        return first
    names = ", ".join(str(Identifier.from_object_id(table)) for table in conflicts)
    return type(first)(f"tables {names} were changed by others; the first says: {first}")
