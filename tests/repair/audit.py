"""The audit: what is wrong in a root, seen by somebody who knows nothing of repair."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import lance

import lanceyard
from tests.races.arena import MODES, read
from tests.repair.victims import Content

DEREGISTERED, RESERVED = ".lance-deregistered", ".lance-reserved"
OWN = {"__manifest", "_lanceyard"}


def audit(
    root: Path, mode: str, hidden: Mapping[str, Content], unsure: Collection[str] = ()
) -> Iterator[str]:
    """Files that nobody needs, and directories that are nobody's.

    `hidden` are the directories of deregistered tables; of those that are `unsure` nothing is
    known.
    """
    yard = lanceyard.open(root, **MODES[mode])
    listed = yard.namespace.list_all_tables({}).tables
    places = {Path(yard.namespace.describe_table({"id": t.split("$")}).location) for t in listed}
    for path in places:
        yield from litter(path)
    if (root / "__manifest").exists():
        yield from litter(root / "__manifest")
        yield from map(str, (root / "__manifest" / "_lanceyard" / "intents").glob("*"))
    for path in root.iterdir():
        if path.name in OWN or path in places:
            continue
        if not (path / DEREGISTERED).exists():
            yield f"{path.name} is nobody's"
        elif path.name not in {*hidden, *unsure}:
            yield f"{path.name} was not deregistered"
    for name, (rows, _) in hidden.items():
        there = read(str(root / name))
        if there != rows or not (root / name / DEREGISTERED).exists():
            yield f"{name} was deregistered with {rows}, and holds {there}"


def litter(table: Path) -> Iterator[str]:
    """The files of a table that it does not need."""
    files = {path.relative_to(table) for path in table.rglob("*") if path.is_file()}
    needed = {Path(RESERVED), *(path for path in files if path.parts[0] == "_lanceyard")}
    if [*table.glob("_versions/*.manifest")]:
        needed |= set(references(table))
    yield from (f"{table.name}/{path} belongs to no version" for path in sorted(files - needed))


def references(table: Path) -> Iterator[Path]:
    """The files that the versions of a table refer to."""
    newest = lance.dataset(str(table))
    yield Path("_versions/latest_version_hint.json")
    for version in (entry["version"] for entry in newest.versions()):
        at = newest.checkout_version(version)
        yield Path(f"_versions/{2**64 - 1 - version:020d}.manifest")
        for fragment in at.get_fragments():
            yield from (Path("data", file.path) for file in fragment.metadata.files)
        for index in at.describe_indices():
            for part in index.segments:
                yield from below(table, Path("_indices", part.uuid))
        transaction = at.read_transaction(version)
        if transaction is not None:
            yield Path(f"_transactions/{transaction.read_version}-{transaction.uuid}.txn")


def below(table: Path, folder: Path) -> Iterator[Path]:
    """The files below a folder of a table, as the table names them."""
    for parent, _, names in os.walk(table / folder):
        yield from (Path(parent, name).relative_to(table) for name in names)
