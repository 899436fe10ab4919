"""Principals: those who ask."""

from __future__ import annotations

from dataclasses import dataclass

GROUP = "group:"
"""How a grant writes that it is to a group."""
EVERYONE = "*"
"""To whom a grant is that every principal has."""
LONGEST_NAME = 256


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who has shown who they are."""

    name: str
    groups: frozenset[str] = frozenset()


ANYONE = Principal("anyone")
"""Who asks where nobody has to say who they are."""


def read_name(name: str) -> str:
    """The name of a principal or a group, if it can be told from everything else.

    Raises `ValueError` for a name that is empty, too long, or not printable, and for those that
    mean more than one principal.
    """
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise ValueError(f"a name has 1 to {LONGEST_NAME} characters that can be printed")
    if name in (EVERYONE, ANYONE.name) or name.startswith(GROUP):
        raise ValueError(f"the name {name!r} is reserved")
    return name
