"""Tags of a catalog as a person holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceyard.catalog.history import Moment, State
    from lanceyard.namespace import Namespace


class Tags:
    """Names for states of the whole catalog, which keep them for ever."""

    def __init__(self, namespace: Namespace) -> None:
        """Speak for the tags of a catalog."""
        self._namespace = namespace

    def create(self, name: str, moment: Moment | None = None) -> State:
        """Name the state at a moment, by default now."""
        return self._namespace.tag(name, moment)

    def list(self) -> dict[str, State]:
        """The states that have names."""
        return {name: state for state in self._namespace.states() for name in state.tags}

    def delete(self, name: str) -> None:
        """Take a name away."""
        self._namespace.untag(name)
