"""The catalog in time: what the specification has no operation for, over any catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanceyard import errors
from lanceyard.catalog.history import Difference, Dropped, History, Moment, State, compare
from lanceyard.identifier import Identifier
from lanceyard.namespace.operations import Operations, tells_failures

if TYPE_CHECKING:
    from lanceyard.namespace.implementations import Namespace


class HistoryOperations(Operations):
    """States, tags, differences, and what was dropped."""

    @tells_failures
    def states(self) -> list[State]:
        """The states of the catalog that are kept, oldest first."""
        return self._history().states()

    @tells_failures
    def as_of(self, moment: Moment) -> Namespace:
        """The catalog as it was at a moment, to be read."""
        return self._at(self._history().find(moment))

    @tells_failures
    def difference(self, before: Moment, after: Moment | None = None) -> Difference:
        """What was done between two moments; None is now."""
        history = self._history()
        first, last = history.find(before), history.find(after)
        return compare(history.picture(first), history.picture(last))

    @tells_failures
    def tag(self, name: str, moment: Moment | None = None) -> State:
        """Give the state at a moment, by default now, a name that keeps it for ever."""
        history = self._history()
        history.tag(name, history.find(moment))
        return history.find(name)

    @tells_failures
    def untag(self, name: str) -> None:
        """Take a name away."""
        self._history().untag(name)

    @tells_failures
    def dropped(self) -> Sequence[Dropped]:
        """What can be brought back, the latest first."""
        return self._history().dropped()

    @tells_failures
    def undrop(self, identifier: Identifier, target: Identifier | None = None) -> Dropped:
        """Bring back what was last dropped under a name, under that name or another.

        Raises `TableNotFoundError` if nothing of that name can be brought back.
        """
        history = self._history()
        found = next((each for each in history.dropped() if each.name == identifier), None)
        if found is None:
            raise errors.TableNotFoundError(
                f"nothing that was dropped as {identifier} can be brought back: it was not "
                "dropped, it was too long ago, or drop_retention is not set"
            )
        history.undrop(found, identifier if target is None else target)
        return found

    def _at(self, state: State) -> Namespace:
        from lanceyard.namespace.implementations import Namespace

        return Namespace(self._history().catalog(state.version))

    def _history(self) -> History:
        if self._catalog.history is None:
            raise errors.UnsupportedOperationError(
                "this catalog keeps no history: it takes one with a manifest, and not a view of "
                "an earlier moment"
            )
        return self._catalog.history
