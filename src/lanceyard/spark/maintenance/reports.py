"""Plans and reports: what maintenance would do, and what it did, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
STEP = 1024


@dataclass(frozen=True)
class TablePlan:
    """What would be done to one table."""

    table: str
    tasks: int = 0
    fragments: int = 0
    """Or files, where an operation is about those."""
    size: int = 0
    """How many bytes are read, or freed."""
    what: str = ""
    """In words."""

    def __str__(self) -> str:
        what = f": {self.what}" if self.what else ""
        return (
            f"{self.table}{what} ({_count(self.tasks, 'task')}, "
            f"{_count(self.fragments, 'fragment')}, {readable(self.size)})"
        )


@dataclass(frozen=True)
class Plan:
    """What an operation would do."""

    operation: str
    tables: tuple[TablePlan, ...]
    """Those that there is something to do for."""
    looked_at: int
    """How many tables were looked at."""

    @property
    def tasks(self) -> int:
        """How many tasks the first round has."""
        return sum(each.tasks for each in self.tables)

    @property
    def fragments(self) -> int:
        """How many fragments are worked on."""
        return sum(each.fragments for each in self.tables)

    @property
    def size(self) -> int:
        """How many bytes are read, or freed."""
        return sum(each.size for each in self.tables)

    def __str__(self) -> str:
        head = (
            f"{self.operation}: {len(self.tables):,} of {_count(self.looked_at, 'table')}, "
            f"{_count(self.tasks, 'task')}, {_count(self.fragments, 'fragment')}, "
            f"{readable(self.size)}"
        )
        return "\n".join([head, *(f"  {each}" for each in self.tables)])


@dataclass(frozen=True)
class TableReport:
    """What was done to one table."""

    table: str
    what: str
    """In words."""
    conflicts: int = 0
    """How often others were faster, and what was left was planned again."""
    version: int | None = None
    """The version of the table afterwards, if it got one."""

    def __str__(self) -> str:
        again = f"; planned again {_count(self.conflicts, 'time')}" if self.conflicts else ""
        return f"{self.table}: {self.what}{again}"


@dataclass(frozen=True)
class Report:
    """What an operation did."""

    plan: Plan
    tables: tuple[TableReport, ...] = ()
    failures: tuple[tuple[str, Exception], ...] = ()
    """Tables that could not be done, and why."""
    dry_run: bool = False
    """Whether nothing was changed."""
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.dry_run:
            return f"{self.plan}{_lines(self._failed())}"
        done = f"{self.plan.operation}: {_count(len(self.tables), 'table')} done of "
        done += f"{_count(self.plan.looked_at, 'table')}, {self.seconds:.1f} s"
        return f"{done}{_lines(map(str, self.tables))}{_lines(self._failed())}"

    def _failed(self) -> list[str]:
        return [f"failed: {table}: {why}" for table, why in self.failures]


Row = tuple[str, str, int, int, int, int | None]
"""A table, its outcome, tasks, fragments, bytes and version."""


def rows_of(report: Report) -> Iterator[Row]:
    """A report as the rows of a result."""
    planned = {each.table: each for each in report.plan.tables}
    told = {each.table: (str(each.what), each.version) for each in report.tables}
    if report.dry_run:
        told = {name: (f"would {each.what}", None) for name, each in planned.items()}
    told |= {name: (f"failed: {why}", None) for name, why in report.failures}
    for name, (outcome, version) in sorted(told.items()):
        plan = planned.get(name)
        sizes = (plan.tasks, plan.fragments, plan.size) if plan else (0, 0, 0)
        yield name, outcome, *sizes, version


def readable(size: int) -> str:
    """A number of bytes, for people."""
    number = float(size)
    for unit in UNITS:
        if number < STEP or unit == UNITS[-1]:
            break
        number /= STEP
    return f"{number:,.0f} {unit}" if unit == UNITS[0] else f"{number:,.1f} {unit}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"\n  {text}" for text in texts)
