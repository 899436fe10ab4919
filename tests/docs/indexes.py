"""The table of kinds of indexes, made from those that can be built."""

from __future__ import annotations

from lanceyard.namespace.content.index_kinds import KINDS


def tables() -> dict[str, str]:
    """The table of the page on search, by the name of its place."""
    lines = [
        f"| `{kind.name}` | {', '.join(f'`{name}`' for name in sorted(kind.parameters))} |"
        for kind in KINDS
    ]
    return {"kinds": "\n".join(["| kind | parameters |", "|---|---|", *lines])}
