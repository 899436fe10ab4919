"""Rust texts: full-text queries as lancedb 0.40 sends them, printed by Rust for debugging."""

from __future__ import annotations

import json
import re
from typing import Any

BEGINNING = re.compile(
    r"Match\(MatchQuery \{|Phrase\(PhraseQuery \{|MultiMatch\(MultiMatchQuery \{"
    r"|Boolean\(must=\[|Boosting\(positive="
)
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|\w+|.)', re.DOTALL)
ESCAPED = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))", re.DOTALL)
CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
FORMS = {
    "Match": "match",
    "Phrase": "phrase",
    "MultiMatch": "multi_match",
    "Boolean": "boolean",
    "Boosting": "boost",
}
CLOSING = {"{": "}", "(": ")", "[": "]"}


def read_rust_text(text: str) -> Any:
    """The structured query that a text prints; `None` for a text that is just a text."""
    if not BEGINNING.match(text):
        return None
    try:
        return _Reader(text).value()
    except (IndexError, ValueError, TypeError, RecursionError):
        return None


class _Reader:
    """Reads `Name { field: value }`, `Name(value)`, `Name(field=value)`, lists, texts, numbers."""

    def __init__(self, text: str) -> None:
        self._tokens = TOKEN.findall(text)[::-1]

    def value(self) -> Any:
        part = self._tokens.pop()
        if part == "[":
            return self._items("[")[0]
        if part[0] == '"':
            return ESCAPED.sub(_unescaped, part[1:-1])
        if not part[0].isalpha():
            return json.loads(part)
        if self._tokens[-1] not in ("{", "("):
            return None if part == "None" else part
        values, fields = self._items(self._tokens.pop())
        given = fields or values[0]
        return {FORMS[part]: given} if part in FORMS else given

    def _items(self, opening: str) -> tuple[list[Any], dict[str, Any]]:
        """Values without and with a name, up to the end of their list."""
        values: list[Any] = []
        fields: dict[str, Any] = {}
        while self._tokens[-1] != CLOSING[opening]:
            value = self.value()
            if self._tokens[-1] in (":", "="):
                self._tokens.pop()
                fields[value] = self.value()
            else:
                values.append(value)
            if self._tokens[-1] == ",":
                self._tokens.pop()
        self._tokens.pop()
        return values, fields


def _unescaped(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else CONTROLS.get(letter, letter)
