"""HTML: what notebooks show of a catalog. All text from outside is escaped."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceyard.yard.listing import Found

MOST = 100
"""Objects, columns or properties that are shown; of others it is said that they are there."""
LONGEST = 80
"""Characters of a text that are shown."""
STYLE = "font-family:monospace;line-height:1.4"
MORE = "… and more"
NOTHING = "nothing in it yet"


def tree(title: str, below: Iterable[Found], depth: int, properties: Mapping[str, str]) -> str:
    """A catalog or a namespace: what is below it, each namespace can be folded.

    `below` is in the order of `walk`; `depth` is how many names the top has. Nothing beyond what is
    shown is read.
    """
    found = [*islice(below, MOST + 1)]
    lines = [f'<div style="{STYLE}"><b>{_text(title)}</b>']
    lines += [pairs(properties), _level(deque(found[:MOST]), depth)]
    lines += [MORE] if len(found) > MOST else []
    lines += [] if found else [f"<div>{NOTHING}</div>"]
    return "".join([*lines, "</div>"])


def card(title: str, facts: Mapping[str, object], columns: Iterable[tuple[str, str]]) -> str:
    """A table: facts about it, then its columns with their types."""
    rows = [*islice(columns, MOST + 1)]
    body = "".join(f"<tr><td>{_text(n)}</td><td>{_text(kind)}</td></tr>" for n, kind in rows[:MOST])
    head = "<tr><th>column</th><th>type</th></tr>"
    schema = f"<table>{head}{body}</table>" if rows else ""
    more = MORE if len(rows) > MOST else ""
    return f'<div style="{STYLE}"><b>{_text(title)}</b>{pairs(facts)}{schema}{more}</div>'


def pairs(facts: Mapping[str, object]) -> str:
    """Names and values as a small table; nothing if there are none."""
    shown = [*islice(facts.items(), MOST)]
    body = "".join(f"<tr><td>{_text(n)}</td><td>{_text(v)}</td></tr>" for n, v in shown)
    return f"<table>{body}</table>" if body else ""


def _level(found: deque[Found], depth: int) -> str:
    """Take off, and show, all that comes next and lies deeper than a level."""
    items = []
    while found and len(found[0].identifier) > depth:
        each = found.popleft()
        name = _text(each.identifier.name)
        if each.is_table:
            items.append(f"<li>{name}</li>")
        else:
            below = _level(found, depth + 1)
            items.append(f"<li><details open><summary>{name}/</summary>{below}</details></li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _text(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
