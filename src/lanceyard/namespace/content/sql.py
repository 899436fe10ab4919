"""SQL: conditions and expressions, as they are handed to Lance."""

from __future__ import annotations


def whole(text: str) -> str:
    """A piece of SQL that is read to its end.

    Lance takes the first expression that it finds and ignores the rest, so a typo in a condition
    could delete more rows than it should.
    """
    return f"(\n{text}\n)"


def condition(text: str | None) -> str | None:
    """A condition that may be left out."""
    return None if text is None else whole(text)
