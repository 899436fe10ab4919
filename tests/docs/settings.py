"""Tables of settings, made from the classes that read them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from lanceyard.rest import settings as rest
from lanceyard.server.security import settings as security
from lanceyard.server.settings import ServerSettings
from lanceyard.server.vending.settings import VendingSettings
from lanceyard.settings import PARSERS, DirectorySettings

MEBIBYTE = 2**20
REQUIRED = "*required*"

Row = tuple[str, str, str]
"""A name, its default, its meaning."""


def tables() -> dict[str, str]:
    """The tables of the page on properties, by the names of their places."""
    oauth2 = {each.name: f"{rest.OAUTH2}{each.name}" for each in fields(rest.ClientCredentials)}
    client = [name for name in rest.PARSERS if name not in oauth2.values()]
    return {
        "directory": _table(
            [*_rows(DirectorySettings, [*PARSERS]), _family(DirectorySettings, "storage")]
        ),
        "rest": _table(
            [
                *_rows(rest.RestSettings, client),
                *((oauth2[name], "", said) for name, _, said in _rows(rest.ClientCredentials)),
                _family(rest.RestSettings, "headers"),
                _family(rest.RestSettings, "tls", [*rest.TLS, "tls.assert_hostname"]),
            ]
        ),
        "server": _table(_rows(ServerSettings)),
        "security": _table(_rows(security.SecuritySettings)),
        "keys": _table(_rows(security.ApiKey)),
        "clients": _table(_rows(security.OAuthClient)),
        "issuers": _table(_rows(security.Issuer)),
        "grants": _table(_rows(security.Grant)),
        "vending": _table(_rows(VendingSettings)),
    }


def meanings(kind: type) -> dict[str, str]:
    """What the text below each field of a class says, those of its bases first."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__[:-1]):
        if each.__module__.startswith("lanceyard."):
            source = ast.parse(textwrap.dedent(inspect.getsource(each)))
            found |= dict(_documented(source.body[0].body))  # type: ignore[attr-defined]
    return found


def _documented(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(meaning))):
                yield name, " ".join(meaning.split())


def _rows(kind: type, names: Iterable[str] | None = None) -> Iterator[Row]:
    said, defaults = meanings(kind), dict(_defaults(kind))
    for name in defaults if names is None else names:
        yield name, _show(defaults[name]), said[name]


def _family(kind: type, name: str, members: Iterable[str] = ()) -> Row:
    """A row for names that begin alike."""
    return "`, `".join(members) or f"{name}.*", "", meanings(kind)[name]


def _defaults(kind: type) -> Iterator[tuple[str, Any]]:
    if issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield (
                name,
                MISSING if field.is_required() else field.get_default(call_default_factory=True),
            )
    else:
        for each in fields(kind):
            yield each.name, each.default


def _show(default: Any) -> str:
    if default is MISSING:
        return REQUIRED
    if default in (None, (), ""):
        return ""
    if isinstance(default, int) and default >= MEBIBYTE:
        return f"{default // MEBIBYTE:,} MiB"
    shown = default.value if isinstance(default, Enum) else default
    return f"`{shown:g}`" if isinstance(shown, float) else f"`{str(shown).lower()}`"


def _table(rows: Iterable[Row]) -> str:
    lines = [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rows]
    return "\n".join(["| name | default | meaning |", "|---|---|---|", *lines])
