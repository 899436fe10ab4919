"""A namespace as a person holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lanceyard.identifier import Identifier
from lanceyard.yard import html, listing
from lanceyard.yard.names import write_name

if TYPE_CHECKING:
    from lanceyard.namespace import Namespace


class Space:
    """A namespace of a yard. It is looked up anew for every call."""

    def __init__(self, namespace: Namespace, identifier: Identifier) -> None:
        """Speak for a namespace that may or may not exist."""
        self._namespace = namespace
        self._identifier = identifier

    @property
    def name(self) -> str:
        """The name, with that of the namespaces above it; that of the root is empty."""
        return write_name(self._identifier)

    @property
    def properties(self) -> dict[str, str]:
        """The properties that the catalog keeps."""
        request = {"id": list(self._identifier)}
        found = self._namespace.describe_namespace(request)  # type: ignore[arg-type]
        return dict(found.properties or {})

    def namespaces(self) -> list[str]:
        """The names of the namespaces directly below it."""
        return [*listing.namespaces_in(self._namespace, self._identifier)]

    def tables(self) -> list[str]:
        """The names of the tables directly below it."""
        return [*listing.tables_in(self._namespace, self._identifier)]

    def tree(self) -> str:
        """Everything below it, drawn as a tree."""
        return listing.draw(self._namespace, self._identifier)

    def set_properties(self, properties: Mapping[str, str]) -> Space:
        """Put properties; others stay."""
        request = {"id": list(self._identifier), "set": dict(properties)}
        self._namespace.alter_namespace(request)  # type: ignore[arg-type]
        return self

    def unset_properties(self, *names: str) -> Space:
        """Take properties away."""
        request = {"id": list(self._identifier), "unset": list(names)}
        self._namespace.alter_namespace(request)  # type: ignore[arg-type]
        return self

    def __repr__(self) -> str:
        return f"<Space {self.name or 'the root'}>"

    def _repr_html_(self) -> str:
        below = listing.walk(self._namespace, self._identifier)
        return html.tree(self.name or "the root", below, len(self._identifier), self.properties)
