"""Roles: what a principal may do with an object and all that is in it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Role(IntEnum):
    """A role; each includes those before it."""

    READER = 1
    """See the object, and read what is in it."""
    WRITER = 2
    """Change what is in it, and create in it."""
    OWNER = 3
    """Drop it, rename it, and change its properties."""

    def __str__(self) -> str:
        return self.name.lower()


def read_role(said: Any) -> Role:
    """A role by its name. Raises `ValueError`."""
    for role in Role:
        if said in (role, str(role)):
            return role
    raise ValueError(f"a role is one of {', '.join(map(str, Role))}")
