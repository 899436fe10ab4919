"""What was dropped and can be brought back: hidden directories, and records of their rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lanceyard import errors
from lanceyard.catalog.changes import Change, CreateNamespace, Outcome, PutTable, Together
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.states import DROPPED
from lanceyard.catalog.directory.versions import ManagedVersions
from lanceyard.catalog.history import Dropped
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, Row
from lanceyard.catalog.views import rebased
from lanceyard.identifier import DELIMITER, Identifier
from lanceyard.storage.base import Store

RECORDS = "_lanceyard/dropped"


@dataclass(frozen=True)
class Record:
    """The rows that one drop removed, the topmost first."""

    id: str
    at: float
    until: float
    """When its retention ends, whatever that of others is."""
    rows: tuple[Row, ...]

    @property
    def paths(self) -> list[str]:
        """The directories of its tables."""
        found = (row.location for row in self.rows if row.object_type == TABLE)
        return [path for path in found if path is not None and layout.is_safe(path)]


class DroppedTables:
    """Drops that can be taken back within a retention."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        versions: ManagedVersions,
        retention: float,
        clock: Callable[[], float],
    ) -> None:
        """Keep what is dropped for so many seconds; 0 keeps nothing."""
        self._store = store
        self._manifest = manifest
        self._versions = versions
        self._clock = clock
        self.retention = retention
        manifest.before_upkeep(self.expire)

    def drop(self, change: Change, rows: Sequence[Row]) -> Outcome:
        """Carry out a drop, so that it can be taken back.

        The record is written first. While a row refers to a directory of it, it counts for nothing.
        """
        now = self._clock()
        record = Record(uuid.uuid4().hex, now, now + self.retention, tuple(rows))
        self._write(record)
        hidden = [path for path in record.paths if layout.hide(self._store, path, DROPPED)]
        try:
            outcome = self._manifest.commit(change)
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            for path in hidden:
                layout.show(self._store, path)
            self._store.delete(self._path(record.id))
            raise
        self._cover(record, outcome)
        return outcome

    def told(self) -> list[Dropped]:
        """What can be brought back, the latest first."""
        return [_told(record) for record in self._records() if self._can_return(record)]

    def restore(self, dropped: Dropped, target: Identifier) -> None:
        """Bring something back under a name, with all that was below it, in one commit."""
        record = next((r for r in self._records() if r.id == dropped.id), None)
        if record is None or not self._can_return(record):
            raise errors.table_not_found(dropped.name)
        self._manifest.commit(Together("", tuple(self._changes(record, target))))
        moved = target != dropped.name
        for path in record.paths:
            if moved and layout.table_name(path) is not None:
                # Those who know only directories would see it under its old name.
                layout.mark(self._store, path)
            else:
                layout.show(self._store, path)
        self._store.delete(self._path(record.id))

    def expire(self) -> None:
        """Delete for good what was dropped longer ago than the retention."""
        for record in self._records():
            if record.until > self._clock():
                continue
            for path in filter(self._is_free, record.paths):
                self._store.delete_tree(path, last=layout.DROP_MARKERS)
            self._store.delete(self._path(record.id))

    def _cover(self, record: Record, outcome: Outcome) -> None:
        """Hide and write down tables that came between the look at the rows and the commit."""
        late = [row for row in outcome.gone if row not in record.rows]
        if late:
            self._store.delete(self._path(record.id))
            more = replace(record, rows=(*record.rows, *late))
            self._write(more)
            for path in more.paths:
                layout.hide(self._store, path, DROPPED)

    def _changes(self, record: Record, target: Identifier) -> Iterator[Change]:
        top = record.rows[0].object_id
        new_ids = {
            row.object_id: target.object_id + row.object_id.removeprefix(top) for row in record.rows
        }
        for row in _bases_first(record.rows):
            object_id, properties = new_ids[row.object_id], row.properties
            for base in set(row.base_objects) & new_ids.keys():
                properties = rebased(properties, base, new_ids[base])
            if row.object_type == NAMESPACE:
                yield CreateNamespace(object_id, properties)
            elif row.location is not None and layout.is_safe(row.location):
                versions = self._versions.adoptable(row.location)
                yield PutTable(object_id, row.location, properties, chosen=True, versions=versions)

    def _can_return(self, record: Record) -> bool:
        """Whether there is time, and no row refers to its directories: that would be back."""
        return record.until > self._clock() and all(map(self._is_free, record.paths))

    def _is_free(self, path: str) -> bool:
        return not self._manifest.read(lambda state: state.is_occupied(path))

    def _records(self) -> list[Record]:
        found = []
        for entry in self._store.entries(RECORDS):
            data = self._store.get(f"{RECORDS}/{entry.name}")
            if data is not None:
                found.append(_read(entry.name.partition(".")[0], json.loads(data)))
        return sorted(found, key=lambda record: -record.at)

    def _write(self, record: Record) -> None:
        said = {"at": record.at, "until": record.until, "rows": record.rows}
        data = json.dumps(said, ensure_ascii=False).encode()
        self._store.put_if_absent(self._path(record.id), data)

    def _path(self, record_id: str) -> str:
        return f"{RECORDS}/{record_id}.json"


def _read(record_id: str, said: dict[str, Any]) -> Record:
    rows = tuple(Row(*row) for row in said["rows"])
    return Record(record_id, said["at"], said["until"], rows)


def _bases_first(rows: Iterable[Row]) -> list[Row]:
    """Rows in an order in which namespaces come before what is in them, and bases before views."""
    known = {row.object_id: row for row in rows}

    def level(row: Row) -> int:
        return max((1 + level(known[i]) for i in row.base_objects if i in known), default=0)

    return sorted(known.values(), key=lambda row: (level(row), row.object_id.count(DELIMITER)))


def _told(record: Record) -> Dropped:
    tables = (row.object_id for row in record.rows if row.object_type == TABLE)
    return Dropped(
        record.id,
        Identifier.from_object_id(record.rows[0].object_id),
        datetime.fromtimestamp(record.at, UTC),
        tuple(map(Identifier.from_object_id, tables)),
    )
