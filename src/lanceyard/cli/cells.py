"""Cells: values of tables as short texts for people, which no terminal obeys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from lanceyard.values import as_json

LONGEST = 60
"""Characters of a cell."""
FEW = 4
"""Numbers of a vector that are shown."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What would move the cursor, or change what a terminal shows."""


def cell(value: Any) -> str:
    """A value in one short line, without anything that a terminal would obey."""
    text = line(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def line(value: Any) -> str:
    """A value in one line of any length."""
    for kind, write in WRITERS:
        if isinstance(value, kind):
            return write(value)
    return visible(str(value))


def visible(text: str) -> str:
    """A text with its control characters written out."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _listed(value: Any) -> str:
    if _is_vector(value):
        shown = ", ".join(f"{number:.4g}" for number in value[:FEW])
        return f"[{shown}]" if len(value) <= FEW else f"[{shown}, … {len(value)}]"
    return visible(", ".join(map(str, value)) if _is_flat(value) else as_json(value))


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(n, float) for n in value)


def _is_flat(value: Any) -> bool:
    return not isinstance(value, Mapping) and all(isinstance(each, str | int) for each in value)


WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (type(None), lambda _: ""),
    (bytes, lambda value: f"<{len(value):,} bytes>"),
    (datetime, lambda value: value.isoformat(" ", "seconds")),
    (bool, lambda value: str(value).lower()),
    (float, lambda value: f"{value:.6g}"),
    (Mapping | list | tuple, _listed),
)
"""How values of each kind are written; the first that fits."""
