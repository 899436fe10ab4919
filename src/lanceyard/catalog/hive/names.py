"""Names and properties: what Hive can hold. All else is refused before a call is made."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from lanceyard.errors import InvalidInputError
from lanceyard.identifier import Identifier

NAME = re.compile(r"[a-z0-9_]+")
LONGEST_NAME = 128
LONGEST_VALUE = 3_999
TABLE_KEY = 256
"""Characters that the key of a table's property may have."""
DATABASE_KEY = 180


def check_names(identifier: Identifier) -> None:
    """Refuse names that Hive cannot hold, or would change: it lowers the case of letters.

    Raises
    ------
    InvalidInputError
        A name has other characters than ``a-z``, ``0-9`` and ``_``, or more than 128.
    """
    for name in identifier:
        if not NAME.fullmatch(name):
            raise InvalidInputError(
                f"Hive cannot hold the name {name!r}: names have lower-case letters, digits and _"
            )
        if len(name) > LONGEST_NAME:
            raise InvalidInputError(
                f"Hive cannot hold the name {name[:40]!r}…: it is longer than {LONGEST_NAME}"
            )


def check_properties(
    properties: Mapping[str, str], *, reserved: Collection[str], longest_key: int
) -> None:
    """Refuse properties that Hive cannot hold, or that mean something to it.

    Raises
    ------
    InvalidInputError
        A key is empty, too long or reserved, or a value has 4 000 characters or more.
    """
    for key, value in properties.items():
        if is_reserved(key, reserved):
            raise InvalidInputError(f"the property {key!r} is kept by the catalog itself")
        if not 1 <= _size(key) <= longest_key:
            raise InvalidInputError(
                f"Hive cannot hold the property {key[:40]!r}: a key has 1 to {longest_key} "
                "characters"
            )
        check_value(key, value)


def check_value(key: str, value: str) -> None:
    """Refuse the value of a property that Hive cannot hold. Raises `InvalidInputError`."""
    if _size(value) > LONGEST_VALUE:
        raise InvalidInputError(
            f"Hive cannot hold the property {key!r}: a value has at most {LONGEST_VALUE} characters"
        )


def is_reserved(key: str, reserved: Collection[str]) -> bool:
    """Whether a property is not the user's."""
    return key.startswith("lanceyard_") or key in reserved


def _size(text: str) -> int:
    """Characters as Java and its databases count them."""
    if "\0" in text:
        raise InvalidInputError("Hive cannot hold a property with a NUL character in it")
    try:
        return len(text.encode("utf-16-le")) // 2
    except UnicodeEncodeError as cause:
        raise InvalidInputError(f"property {text!r} cannot be written as UTF-8") from cause
