"""Completion: names of catalogs, remembered in small files, so that nothing has to be opened."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from lanceyard.cli import profiles

MOST = 5_000
"""Names that are remembered of a catalog."""


def names_of(catalog: str, beginning: str) -> list[str]:
    """The names that are remembered of a catalog and begin so."""
    return [name for name in _load(catalog) if name.startswith(beginning)]


def profiles_of(beginning: str) -> list[str]:
    """The profiles whose names begin so."""
    return sorted(name for name in profiles.load() if name.startswith(beginning))


def remember(catalog: str, names: list[str]) -> None:
    """Remember the names of a catalog instead of those that were known.

    What cannot be written is not worth a failure.
    """
    with contextlib.suppress(OSError):
        profiles.put_in_place(_file(catalog), json.dumps(sorted(names)[:MOST]))


def merge(catalog: str, *, gone: str | None = None, come: str | None = None) -> None:
    """Remember that a name, and all below it, is gone, or that one has come."""
    known = _load(catalog)
    kept = [name for name in known if gone is None or not _is_at(name, gone)]
    remember(catalog, [*kept, *([come] if come and come not in kept else [])])


def _is_at(name: str, top: str) -> bool:
    return name == top or name.startswith(f"{top}.")


def _load(catalog: str) -> list[str]:
    try:
        found = json.loads(_file(catalog).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _file(catalog: str) -> Path:
    digest = hashlib.sha256(catalog.encode(errors="replace")).hexdigest()[:32]
    return profiles.folder("XDG_CACHE_HOME", ".cache") / "names" / f"{digest}.json"
