"""The history of a directory catalog: the versions of its manifest."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime

from lanceyard import errors
from lanceyard.catalog.base import Catalog, Page
from lanceyard.catalog.directory.dropped import DroppedTables
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.past import PastCatalog
from lanceyard.catalog.history import Dropped, History, Moment, Picture, Shown, State
from lanceyard.catalog.snapshot import NAMESPACE
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
OWN_TAG = "lanceyard-"
"""With which the tags begin that keep states for our own use."""


class DirectoryHistory(History):
    """States are versions of the manifest, kept for a while, or for ever under a tag."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        dropped: DroppedTables,
    ) -> None:
        """Look at the versions of a manifest; nothing is read yet."""
        self._store = store
        self._manifest = manifest
        self._dropped = dropped

    def states(self) -> list[State]:
        tags = self._tags()
        found = ((v, self._manifest.committed_at(v)) for v in self._manifest.states())
        return [_state(version, at, tags) for version, at in found if at is not None]

    def find(self, moment: Moment | None) -> State:
        version = self._manifest.version() if moment is None else self._version(moment)
        at = self._manifest.committed_at(version)
        if at is None:
            raise self._not_kept(moment)
        return _state(version, at, self._tags())

    def catalog(self, moment: Moment) -> Catalog:
        def look() -> tuple[State, Manifest]:
            state = self.find(moment)
            return state, self._past(state)

        return PastCatalog(self._store, look)

    def _past(self, state: State) -> Manifest:
        try:
            return self._manifest.past(state.version)
        except (OSError, ValueError):
            raise self._not_kept(state.version) from None

    def picture(self, state: State) -> Picture:
        past = self._past(state)
        catalog = PastCatalog(self._store, lambda: (state, past))
        tables = {}
        for identifier in catalog.list_all_tables(Page()):
            entry = catalog.describe_table(identifier)
            tables[identifier] = Shown(entry.location, entry.properties or {}, entry.version or 0)
        rows = past.read(
            lambda found: [row for row in found.rows() if row.object_type == NAMESPACE]
        )
        namespaces = {Identifier.from_object_id(row.object_id): row.properties for row in rows}
        return Picture(namespaces, tables)

    def tag(self, name: str, state: State) -> None:
        if not TAG.fullmatch(name) or name.isdecimal() or name.startswith(OWN_TAG):
            raise errors.InvalidInputError(
                f"{name!r} cannot name a state: give letters, digits, '.', '_' and '-', and not "
                f"digits alone, nor with {OWN_TAG!r} at the beginning"
            )
        if name in self._manifest.tags():
            raise errors.TableTagAlreadyExistsError(f"the catalog has a tag {name!r} already")
        self._manifest.tag(name, state.version)

    def untag(self, name: str) -> None:
        if name not in self._manifest.tags():
            raise errors.TableTagNotFoundError(f"the catalog has no tag {name!r}")
        self._manifest.tag(name, None)

    def dropped(self) -> Sequence[Dropped]:
        return self._dropped.told()

    def undrop(self, dropped: Dropped, target: Identifier) -> None:
        self._dropped.restore(dropped, target)

    def _version(self, moment: Moment) -> int:
        """The version of the manifest that was the newest at a moment."""
        if isinstance(moment, bool):
            raise errors.InvalidInputError(f"{moment!r} is not a moment")
        if isinstance(moment, int):
            return moment
        if isinstance(moment, str):
            return self._named(moment)
        if isinstance(moment, datetime):
            moment = moment.timestamp()
        versions = self._manifest.states()
        # Written one after the other, so their times are sorted.
        at = bisect_right(versions, moment, key=lambda v: self._manifest.committed_at(v) or 0.0)
        if not at:
            raise self._not_kept(moment)
        return versions[at - 1]

    def _named(self, name: str) -> int:
        """A version by its tag, its number as text, or a time as ISO 8601 writes it."""
        tags = self._manifest.tags()
        if name in tags:
            return tags[name]
        if name.isdecimal():
            return int(name)
        try:
            return self._version(datetime.fromisoformat(name))
        except ValueError:
            known = ", ".join(sorted(tags)) or "none"
            raise errors.TableTagNotFoundError(
                f"{name!r} is neither a tag of the catalog (there are: {known}), nor a version, "
                "nor a time"
            ) from None

    def _tags(self) -> dict[int, tuple[str, ...]]:
        found: dict[int, tuple[str, ...]] = {}
        for name, version in sorted(self._manifest.tags().items()):
            if name.startswith(OWN_TAG):
                continue
            found[version] = (*found.get(version, ()), name)
        return found

    def _not_kept(self, moment: Moment | None) -> errors.TableVersionNotFoundError:
        states = self.states()
        if not states:
            return errors.TableVersionNotFoundError("the catalog is new, and has no states yet")
        return errors.TableVersionNotFoundError(
            f"the catalog as of {moment} is not kept: it has versions {states[0].version} "
            f"({states[0].at:%Y-%m-%d %H:%M:%S} UTC) to {states[-1].version}. Tag states that are "
            "to stay, or set catalog_history"
        )


def _state(version: int, at: float, tags: dict[int, tuple[str, ...]]) -> State:
    return State(version, datetime.fromtimestamp(at, UTC), tags.get(version, ()))
