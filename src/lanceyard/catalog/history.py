"""History: the states a catalog has been in, and what happened between two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lanceyard.identifier import Identifier

if TYPE_CHECKING:
    from lanceyard.catalog.base import Catalog

Moment = int | float | str | datetime
"""A version of the manifest (int), a time (seconds since the epoch, or a datetime), or a tag."""


@dataclass(frozen=True)
class State:
    """One state of a whole catalog."""

    version: int
    """Of the manifest."""
    at: datetime
    """When it came to be, by the clock of whoever wrote it."""
    tags: tuple[str, ...] = ()
    """Names that keep it for ever."""


class Renamed(NamedTuple):
    """A table that has another name now."""

    before: Identifier
    after: Identifier


class Committed(NamedTuple):
    """A table that has other versions now."""

    table: Identifier
    before: int
    after: int


@dataclass(frozen=True)
class Difference:
    """What was done to a catalog between two states; each part is sorted by name."""

    created: tuple[Identifier, ...] = ()
    """Namespaces and tables."""
    dropped: tuple[Identifier, ...] = ()
    """Namespaces and tables."""
    renamed: tuple[Renamed, ...] = ()
    committed: tuple[Committed, ...] = ()
    """Tables that were there before and after, and got new versions."""
    altered: tuple[Identifier, ...] = ()
    """Namespaces and tables whose properties changed."""

    def __bool__(self) -> bool:
        return any((self.created, self.dropped, self.renamed, self.committed, self.altered))

    def __str__(self) -> str:
        lines = [
            *(f"created    {name.object_id}" for name in self.created),
            *(f"dropped    {name.object_id}" for name in self.dropped),
            *(f"renamed    {was.object_id} -> {now.object_id}" for was, now in self.renamed),
            *(f"committed  {t.object_id}: version {a} -> {b}" for t, a, b in self.committed),
            *(f"altered    {name.object_id}" for name in self.altered),
        ]
        return "\n".join(lines) or "nothing"


@dataclass(frozen=True)
class Picture:
    """All that a state shows."""

    namespaces: Mapping[Identifier, Mapping[str, str]] = field(default_factory=dict)
    tables: Mapping[Identifier, Shown] = field(default_factory=dict)


class Shown(NamedTuple):
    """What a state shows of a table."""

    location: str
    properties: Mapping[str, str]
    version: int


@dataclass(frozen=True)
class Dropped:
    """Something that was dropped, and can be brought back."""

    id: str
    name: Identifier
    at: datetime
    tables: tuple[Identifier, ...]
    """The tables that come back with it: itself, or those that were below it."""


class History(ABC):
    """The states of a catalog, and what was dropped from it."""

    @abstractmethod
    def states(self) -> list[State]:
        """The states that are kept, oldest first."""

    @abstractmethod
    def find(self, moment: Moment | None) -> State:
        """The state at a moment; None is now. Raises `TableVersionNotFoundError`."""

    @abstractmethod
    def catalog(self, moment: Moment) -> Catalog:
        """The catalog as it was at a moment; it can only be read. Nothing is read before that."""

    @abstractmethod
    def picture(self, state: State) -> Picture:
        """All that a state shows."""

    @abstractmethod
    def tag(self, name: str, state: State) -> None:
        """Give a state a name, which keeps it for ever. Raises `TableTagAlreadyExistsError`."""

    @abstractmethod
    def untag(self, name: str) -> None:
        """Take a name away. Raises `TableTagNotFoundError`."""

    @abstractmethod
    def dropped(self) -> Sequence[Dropped]:
        """What can be brought back, the latest first."""

    @abstractmethod
    def undrop(self, dropped: Dropped, target: Identifier) -> None:
        """Bring something back under a name, with all that was below it.

        Raises `TableAlreadyExistsError` or `NamespaceAlreadyExistsError` if the name is taken.
        """


def compare(before: Picture, after: Picture) -> Difference:
    """What has to be done to a catalog to get from one picture to another.

    A table is known by its location: at the same one under another name it was renamed, at another
    one under the same name it was dropped and created.
    """
    old = {shown.location: name for name, shown in before.tables.items()}
    new = {shown.location: name for name, shown in after.tables.items()}
    kept = sorted((old[place], new[place]) for place in old.keys() & new.keys())
    created = [new[place] for place in new.keys() - old.keys()]
    dropped = [old[place] for place in old.keys() - new.keys()]
    created += after.namespaces.keys() - before.namespaces.keys()
    dropped += before.namespaces.keys() - after.namespaces.keys()
    committed = []
    altered = [
        name
        for name in before.namespaces.keys() & after.namespaces.keys()
        if before.namespaces[name] != after.namespaces[name]
    ]
    for was, is_now in kept:
        one, other = before.tables[was], after.tables[is_now]
        if one.version != other.version:
            committed.append(Committed(is_now, one.version, other.version))
        if one.properties != other.properties:
            altered.append(is_now)
    return Difference(
        tuple(sorted(created)),
        tuple(sorted(dropped)),
        tuple(Renamed(was, is_now) for was, is_now in kept if was != is_now),
        tuple(committed),
        tuple(sorted(altered)),
    )
