"""Maintenance: what is found wrong in a catalog, what was mended, and what was migrated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple, TypeVar

RETENTION = timedelta(days=7)
"""How long the trash is kept, and how old a file that no version refers to must be."""
THREADS = 8
"""How many tables are looked at at a time."""

_T = TypeVar("_T")


class Severity(Enum):
    """How bad a finding is."""

    LITTER = "litter"
    """Nobody sees it; it takes room."""
    WRONG = "wrong"
    """Somebody sees what is not so, or does not see what is."""
    DAMAGE = "damage"
    """Something cannot be read."""


class Kind(Enum):
    """What can be wrong in a catalog: what it is, how bad it is, and what is done about it."""

    TORN_MANIFEST = (
        "a version of the manifest that was cut short",
        Severity.DAMAGE,
        "move that version to the trash",
    )
    INCOMPLETE_MANIFEST = (
        "a manifest that refers to files which are not there",
        Severity.DAMAGE,
        "commit a version without them, and list again the tables whose rows are lost",
    )
    UNREADABLE_MANIFEST = (
        "a manifest that cannot be read, or is none",
        Severity.DAMAGE,
        "move it to the trash, and build it again from the table directories",
    )
    DUPLICATE_ROW = (
        "several rows of one name",
        Severity.WRONG,
        "keep the one that readers see",
    )
    UNSAFE_LOCATION = (
        "a row whose location is not inside the root",
        Severity.WRONG,
        "remove the row; what lies there is not touched",
    )
    SHARED_LOCATION = (
        "a table inside the directory of another",
        Severity.WRONG,
        "give it a directory of its own, with the same files",
    )
    MISSING_PARENT = (
        "a row below a namespace that does not exist",
        Severity.WRONG,
        "create the namespace again, without properties",
    )
    MISPLACED_ROW = (
        "a row below a table",
        Severity.WRONG,
        "remove the row",
    )
    MISSING_DIRECTORY = (
        "a row whose directory does not exist",
        Severity.DAMAGE,
        "remove the row",
    )
    HALF_MADE_TABLE = (
        "a table that was never finished",
        Severity.LITTER,
        "move the directory to the trash",
    )
    HALF_DROPPED_TABLE = (
        "what is left of a dropped table",
        Severity.LITTER,
        "move the directory to the trash",
    )
    UNFINISHED_CHANGE = (
        "a marker that hides a table which has a row",
        Severity.WRONG,
        "take the marker away",
    )
    HALF_DEREGISTERED_TABLE = (
        "a row of a table that was deregistered",
        Severity.WRONG,
        "remove the row; the data stays",
    )
    TOMBSTONE = (
        "the old directory of a table that was renamed",
        Severity.LITTER,
        "move the directory to the trash",
    )
    SHADOWED_DIRECTORY = (
        "a table directory that nobody can reach by its name",
        Severity.WRONG,
        "mark it as deregistered; the data stays",
    )
    UNLISTED_TABLE = (
        "a table that the manifest does not have",
        Severity.WRONG,
        "add a row for it",
    )
    ORPHAN_DIRECTORY = (
        "a table directory that no row refers to",
        Severity.LITTER,
        "move the directory to the trash",
    )
    ABANDONED_RESERVATION = (
        "a directory that was reserved for a table which was never declared",
        Severity.LITTER,
        "move the directory to the trash",
    )
    ABANDONED_INTENT = (
        "a wish to commit of a process that is gone",
        Severity.LITTER,
        "delete it",
    )
    TORN_VERSION = (
        "a version of a table that was cut short",
        Severity.DAMAGE,
        "move that version to the trash",
    )
    MISSING_FILES = (
        "a table that refers to files which are not there",
        Severity.DAMAGE,
        "commit a version without what is lost",
    )
    MISSING_VERSIONS = (
        "a table with a row and files, but without any version",
        Severity.DAMAGE,
        "move the files to the trash; the table is declared and empty",
    )
    UNPUBLISHED_VERSION = (
        "a committed version whose manifest does not have its final name yet",
        Severity.WRONG,
        "give it that name, and let its row say so",
    )
    LOST_VERSION = (
        "a row of a version whose manifest somebody removed",
        Severity.LITTER,
        "remove the row",
    )
    FOREIGN_VERSION = (
        "a version that was written past the catalog, or was deleted from it",
        Severity.WRONG,
        "move its manifest to the trash",
    )
    ABANDONED_TRANSACTION = (
        "a transaction in which nobody takes part any more",
        Severity.LITTER,
        "end it as it was decided, or cancel it",
    )
    ORPHAN_FILES = (
        "files of a table that no version refers to",
        Severity.LITTER,
        "move the files to the trash",
    )
    STRAY_FILES = (
        "files that were to be renamed, or were moved aside",
        Severity.LITTER,
        "move the files to the trash",
    )

    def __init__(self, title: str, severity: Severity, action: str) -> None:
        """Tell what it is, how bad it is and what `repair` does about it."""
        self.title = title
        self.severity = severity
        self.action = action


@dataclass(frozen=True)
class Finding:
    """Something that is wrong in a catalog."""

    kind: Kind
    """What, how bad it is (`kind.severity`) and what will be done (`kind.action`)."""
    path: str
    """Where, from the root of the catalog."""
    explanation: str = ""
    """What was seen, where the kind does not say it all."""
    object_id: str | None = None
    """The table that it is about, if it is known."""
    since: datetime | None = None
    """Since when, if it is known: when what was found was last written."""

    def __str__(self) -> str:
        about = f" (table {self.object_id})" if self.object_id else ""
        since = f", since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        why = f"{self.kind.title}: {self.explanation}" if self.explanation else self.kind.title
        return f"{self.path}{about}: {why}{since}; {self.kind.action}"


@dataclass(frozen=True)
class RepairReport:
    """What `repair` found and did."""

    findings: tuple[Finding, ...]
    """All that was found, mended or not."""
    failures: tuple[tuple[Finding, Exception], ...] = ()
    """What could not be mended, and why."""
    unchecked: tuple[tuple[str, Exception], ...] = ()
    """Tables that could not be looked at, and why."""
    busy: tuple[Finding, ...] = ()
    """What was left alone, because somebody turned out to be at work on it."""
    dry_run: bool = False
    """Whether nothing was changed."""
    tables: int = 0
    """How many tables were looked at."""
    emptied: int = 0
    """How many things were in the trash for longer than the retention, and are gone."""

    def __str__(self) -> str:
        verb = "found" if self.dry_run else "found and mended"
        lines = [f"{self.tables} tables looked at, {len(self.findings)} things {verb}"]
        counts = Counter(finding.kind for finding in self.findings)
        lines += [f"{n:>6} of {kind.title}: {kind.action}" for kind, n in counts.items()]
        lines += [f"  could not be mended: {finding.path}: {why}" for finding, why in self.failures]
        lines += [f"  left alone, in use: {finding.path}" for finding in self.busy]
        lines += [f"  could not be looked at: {path}: {why}" for path, why in self.unchecked]
        return "\n".join(lines)


class Migrated(NamedTuple):
    """A table that is found by its directory and that the manifest takes in."""

    object_id: str
    location: str


class Skipped(NamedTuple):
    """A directory that the manifest does not take in, and why."""

    location: str
    reason: str


@dataclass(frozen=True)
class MigrationReport:
    """What `migrate` did, or would do."""

    migrated: tuple[Migrated, ...]
    """Tables that the manifest took in."""
    present: int
    """How many tables it had already."""
    skipped: tuple[Skipped, ...]
    """Directories that it did not take in."""
    dry_run: bool = False
    """Whether nothing was changed."""

    def __str__(self) -> str:
        verb = "would be migrated" if self.dry_run else "migrated"
        lines = [f"{len(self.migrated)} tables {verb}, {self.present} were in the manifest already"]
        lines += [f"  skipped {skipped.location}: {skipped.reason}" for skipped in self.skipped]
        return "\n".join(lines)


class Progress(NamedTuple):
    """How far maintenance has come."""

    phase: str
    done: int
    total: int


def pages(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """A sequence in pieces."""
    return (items[start : start + size] for start in range(0, len(items), size))


class Maintenance(ABC):
    """What keeps a catalog in order, where it lies on storage that others write to."""

    @abstractmethod
    def migrate(
        self, *, dry_run: bool, progress: Callable[[Progress], None] | None
    ) -> MigrationReport:
        """Take all tables that are found by their directories into the manifest."""

    @abstractmethod
    def manage_versions(self, *, wait: timedelta | None) -> int:
        """Let the catalog keep the versions of its tables, and return how many tables it has.

        From now on those who open a table commit through the catalog. Those who have one open
        commit past it for as long as they keep it, which is part of the table until the `wait`,
        by default some seconds, is over; then the versions that are there become rows, and what
        is written past the catalog is no longer part of a table.
        """

    @abstractmethod
    def repair(
        self,
        *,
        dry_run: bool,
        retention: timedelta,
        unreferenced_for: timedelta,
        progress: Callable[[Progress], None] | None,
    ) -> RepairReport:
        """Find what is wrong and, unless `dry_run`, mend it.

        Nothing that changed within the window is touched. A file of a table that no version
        refers to counts as an orphan once it is as old as `unreferenced_for`: a job may still
        be writing what it will commit in the end. What is removed goes to the trash, and what
        was there for longer than `retention` goes for good.
        """
