"""Completion: names of catalogs, remembered in small files, so that nothing has to be opened."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

from lanceyard.cli import profiles

MOST = 5_000
"""Names that are remembered of a catalog."""


def names_of(catalog: str, beginning: str) -> list[str]:
    """The names that are remembered of a catalog and begin so."""
    return [name for name in _load(_file(catalog)) if name.startswith(beginning)]


def profiles_of(beginning: str) -> list[str]:
    """The profiles whose names begin so."""
    return sorted(name for name in profiles.load() if name.startswith(beginning))


def remember(catalog: str, names: list[str]) -> None:
    """Remember the names of a catalog instead of those that were known.

    What cannot be written is not worth a failure.
    """
    file = _file(catalog)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as part:
            json.dump(sorted(names)[:MOST], part)
        os.replace(part.name, file)


def merge(catalog: str, *, gone: str | None = None, come: str | None = None) -> None:
    """Remember that a name, and all below it, is gone, or that one has come."""
    known = _load(_file(catalog))
    kept = [name for name in known if gone is None or not _is_at(name, gone)]
    remember(catalog, [*kept, *([come] if come and come not in kept else [])])


def _is_at(name: str, top: str) -> bool:
    return name == top or name.startswith(f"{top}.")


def _load(file: Path) -> list[str]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _file(catalog: str) -> Path:
    digest = hashlib.sha256(catalog.encode(errors="replace")).hexdigest()[:32]
    return profiles.folder("XDG_CACHE_HOME", ".cache") / "names" / f"{digest}.json"
