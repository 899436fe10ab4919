"""Names as people write them: ``a.b.t``, ``a$b$t``, or a list for a name with a dot in it."""

from __future__ import annotations

from collections.abc import Sequence

from lanceyard.identifier import DELIMITER, Identifier

Name = str | Sequence[str]


def read_name(name: Name) -> Identifier:
    """The identifier that a person means; ``""`` is the root."""
    if not isinstance(name, str):
        return Identifier.parse(name)
    if not name:
        return Identifier()
    return Identifier.parse(name.split(DELIMITER if DELIMITER in name else "."))


def write_name(identifier: Sequence[str]) -> str:
    """A name that `read_name` reads back, as far as text can say it."""
    return (DELIMITER if any("." in name for name in identifier) else ".").join(identifier)
