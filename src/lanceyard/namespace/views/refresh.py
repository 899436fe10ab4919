"""Refreshes: how a view gets from one state of its bases to the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lanceyard import errors
from lanceyard.settings import DirectorySettings
from lanceyard.storage import Store, open_store

if TYPE_CHECKING:
    from lance import LanceDataset

    from lanceyard.namespace.content.handles import TableFiles
    from lanceyard.namespace.views.query import ViewQuery

FOLDER = "_refreshing"
SOURCES = "lanceyard.view.sources"
"""The property of a commit that says of which versions of its bases a view is the answer."""
ROWS_PER_FILE = 1024 * 1024
HARMLESS = ("Rewrite", "CreateIndex", "UpdateConfig", "ReserveFragments")
"""Commits that leave the rows of a view as they are."""


class Refresh:
    """One refresh of a view, while nobody else refreshes it."""

    def __init__(self, store: Store) -> None:
        """Work on the view in a store."""
        self._store = store

    @classmethod
    @contextmanager
    def hold(cls, location: str, options: Mapping[str, str]) -> Iterator[Self]:
        """Keep others from refreshing the view at a location, where the store has locks."""
        store = open_store(DirectorySettings(root=location, storage=dict(options)))
        try:
            with store.hold(FOLDER):
                yield cls(store)
        except TimeoutError as cause:
            raise errors.ConcurrentModificationError(
                f"another program refreshes {location}; try again when it has ended"
            ) from cause

    def carry_out(
        self,
        dataset: LanceDataset,
        query: ViewQuery,
        bases: Mapping[str, Base],
        rows_per_file: int | None,
    ) -> None:
        """Commit the answer as it is now, unless nothing has come since the last refresh."""
        import lance

        before, now = _last(dataset), _sources(query, bases)
        added = None if before is None else self._added(query, bases, before)
        if before == now or added == []:
            return
        schema = dataset.schema
        if added is None:
            answer = query.run(schema)
        else:
            (base,) = bases.values()
            answer = query.run_on(base.dataset.scanner(fragments=added).to_batches(), schema)
        lance.write_dataset(
            answer,
            dataset,
            mode="overwrite" if added is None else "append",
            max_rows_per_file=rows_per_file or ROWS_PER_FILE,
            transaction_properties={SOURCES: json.dumps(now)},
        )

    def _added(
        self, query: ViewQuery, bases: Mapping[str, Base], before: Mapping[str, Any]
    ) -> list[Any] | None:
        """The fragments that were added to the only base; None if the answer must be made anew.

        Two refreshes at once could both append the same rows, so this takes a store with locks.
        """
        if not (self._store.has_locks and query.is_row_wise):
            return None
        (base,), (source,) = bases.values(), before["tables"]
        if before["query"] != _digest(query, bases) or base.stamp(source[1]) != source:
            return None
        old = base.dataset.checkout_version(source[1])
        known = {fragment.fragment_id: fragment.metadata for fragment in old.get_fragments()}
        fragments = {each.fragment_id: each for each in base.dataset.get_fragments()}
        if old.schema != base.dataset.schema or not known.keys() <= fragments.keys():
            return None
        if any(fragments[i].metadata.to_json() != known[i].to_json() for i in known):
            return None
        return [fragment for i, fragment in fragments.items() if i not in known]


class Base(NamedTuple):
    """A table that a view is made of."""

    dataset: LanceDataset
    files: TableFiles

    def stamp(self, number: int) -> list[Any] | None:
        """What tells a version from any other, also from one that gets its number again."""
        try:
            found = self.files.find(number)
        except errors.TableVersionNotFoundError:
            return None
        return [self.dataset.uri, number, found.e_tag, found.size]


def _sources(query: ViewQuery, bases: Mapping[str, Base]) -> dict[str, Any]:
    stamps = [base.stamp(base.dataset.version) for base in bases.values()]
    return {"query": _digest(query, bases), "tables": stamps}


def _digest(query: ViewQuery, bases: Mapping[str, Base]) -> str:
    return hashlib.sha256(json.dumps([query.sql, *bases]).encode()).hexdigest()


def _last(dataset: LanceDataset) -> dict[str, Any] | None:
    """What a view is the answer of; None if that is not known, or others wrote to it since."""
    for version in range(dataset.version, 0, -1):
        try:
            commit = dataset.read_transaction(version)
        except (ValueError, OSError):
            return None  # its history was cleaned
        if commit is None:
            return None
        said = (commit.transaction_properties or {}).get(SOURCES)
        if said is not None:
            found: dict[str, Any] = json.loads(said)
            return found
        if type(commit.operation).__name__ not in HARMLESS:
            return None
    return None
