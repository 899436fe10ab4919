"""Identifiers: the place of an object in a catalog, as a tuple of names (document 004)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Self

from lanceyard.errors import InvalidInputError

DELIMITER = "$"
LONGEST_NAME = 200
RESERVED_NAMES = frozenset({".", "..", "__manifest"})
FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x1f\x7f$/\\]")


class Identifier(tuple[str, ...]):  # noqa: SLOT001 - its string form is kept once made
    """A tuple of valid names; ``()`` is the root namespace.

    Every identifier inside Lanceyard was made by one of the class methods, so nothing further in
    needs to split, join or validate strings.
    """

    @classmethod
    def parse(cls, names: Iterable[str] | None) -> Self:
        """Validate a list style identifier; None is the root, as document 004 allows.

        Raises
        ------
        InvalidInputError
            A name breaks the rules of `check_name`.
        """
        if isinstance(names, str):
            raise InvalidInputError(f"identifier {names!r} must be a list of names, not a string")
        try:
            return cls._parse(tuple(names or ()))
        except TypeError as cause:  # an unhashable or non-string name
            raise InvalidInputError(f"identifier {names!r} is not a list of strings") from cause

    @classmethod
    def from_object_id(cls, object_id: str) -> Self:
        """Split the string form read from a manifest, whose names are trusted no further."""
        return cls.parse(object_id.split(DELIMITER))

    @property
    def name(self) -> str:
        """The last name; the root has none."""
        return self[-1]

    @cached_property
    def parent(self) -> Identifier:
        """The namespace that contains this object."""
        return Identifier(self[:-1])

    @property
    def is_root(self) -> bool:
        """Whether this is the root namespace."""
        return not self

    @cached_property
    def object_id(self) -> str:
        """The string form of the manifest: names joined by ``$``."""
        return DELIMITER.join(self)

    @classmethod
    @lru_cache(maxsize=65_536)
    def _parse(cls, names: tuple[str, ...]) -> Self:
        for name in names:
            check_name(name)
        return cls(names)

    def child(self, name: str) -> Identifier:
        """The identifier of an object of this name directly below this namespace."""
        return Identifier.parse((*self, name))

    def __str__(self) -> str:
        return f"'{self.object_id}'" if self else "the root namespace"


def check_name(name: object) -> None:
    r"""Refuse a name that cannot stand in an identifier and in a directory name alike.

    Raises
    ------
    InvalidInputError
        The name is empty, longer than 200 bytes, reserved, not UTF-8, or has ``$``, ``/``, ``\``
        or a control character in it.
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"name {name!r} is not a string")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as cause:
        raise InvalidInputError(f"name {name!r} cannot be written as UTF-8") from cause
    if not 1 <= size <= LONGEST_NAME:
        raise InvalidInputError(f"a name has 1 to {LONGEST_NAME} bytes, {name[:40]!r} has {size}")
    if name in RESERVED_NAMES:
        raise InvalidInputError(f"the name {name!r} is reserved")
    found = FORBIDDEN_CHARACTERS.search(name)
    if found is not None:
        raise InvalidInputError(f"name {name!r} contains {found[0]!r}, which no name may")
