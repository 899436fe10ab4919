"""Work on tables: planned on the driver, done by tasks, landed by the driver, in rounds.

Tasks of all tables run together. Where another writer was faster, what that made worthless is
planned and done again, and nothing else.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.catalog.maintenance import THREADS
from lanceyard.identifier import Identifier
from lanceyard.namespace.content.failures import translate
from lanceyard.spark.maintenance import jobs
from lanceyard.spark.maintenance.jobs import Assignment, Failed, Task
from lanceyard.spark.maintenance.progress import Bar, Progress, Watcher
from lanceyard.spark.maintenance.reports import Plan, Report, TablePlan, TableReport
from lanceyard.spark.maintenance.scope import Scope
from lanceyard.spark.reference import Place, TableReference

if TYPE_CHECKING:
    from lance import LanceDataset
    from pyspark.sql import SparkSession

CONFLICTS = 10
"""How often what others made worthless is done again."""
LANCE_ERRORS = (OSError, RuntimeError, ValueError)


class Landing(Enum):
    """What came of the results of a round."""

    DONE = "done"
    NEXT = "next"
    """There is a next step to plan."""
    CONFLICT = "conflict"
    """Another writer was faster: what is left is to be planned again."""


class Work(ABC):
    """What is to be done to one table."""

    def __init__(self, reference: TableReference, place: Place) -> None:
        """Be about a table that has data."""
        self.reference = reference
        self.place = place

    @abstractmethod
    def plan(self) -> Sequence[Task]:
        """Look at the newest version, and say what is left to do; nothing if there is nothing."""

    @abstractmethod
    def describe(self) -> TablePlan:
        """What was planned."""

    @abstractmethod
    def land(self, results: Sequence[Any]) -> Landing:
        """Make what tasks did part of the table, or learn from it what to do next."""

    @abstractmethod
    def tell(self) -> str:
        """What was done, in words."""

    @property
    def shared(self) -> Any:
        """What all tasks need."""
        return None

    @property
    def version(self) -> int | None:
        """The version that was made, if one was."""
        return None


Begin = Callable[[TableReference, Place], Work]


@dataclass
class _Turn:
    """A piece of work, and how far it is."""

    work: Work
    tasks: Sequence[Task] = ()
    planned: TablePlan | None = None
    results: list[Any] = field(default_factory=list)
    conflicts: int = 0
    is_done: bool = False
    failure: Exception | None = None

    @property
    def name(self) -> str:
        return str(self.work.reference)


def carry_out(
    spark: SparkSession | None,
    operation: str,
    scope: Scope,
    begin: Begin,
    *,
    dry_run: bool,
    progress: Watcher | None,
) -> Report:
    """Do one kind of work to all tables of a scope, or only plan it.

    Raises
    ------
    LanceNamespaceError
        The one table that was named does not exist, or could not be done. Of many tables, the
        report tells which could not.
    """
    started = time.monotonic()
    turns, failures = _begun(scope, begin)
    _in_threads(_plan, turns)
    planned = [turn.planned for turn in turns if turn.planned is not None and turn.tasks]
    plan = Plan(operation, tuple(planned), len(scope.references))
    if not dry_run:
        with closing(Bar()) as bar:
            _rounds(spark, operation, turns, progress or bar, started)
    failures += [(turn.name, turn.failure) for turn in turns if turn.failure is not None]
    if failures and scope.is_one:
        raise failures[0][1]
    done = [turn for turn in turns if turn.is_done]
    told = [
        TableReport(turn.name, turn.work.tell(), turn.conflicts, turn.work.version)
        for turn in done
        if not dry_run and turn.planned is not None
    ]
    return Report(plan, tuple(told), tuple(failures), dry_run, time.monotonic() - started)


def _begun(scope: Scope, begin: Begin) -> tuple[list[_Turn], list[tuple[str, Exception]]]:
    """The work on all tables with data; a single one must have some."""
    turns: list[_Turn] = []
    failures: list[tuple[str, Exception]] = []
    for reference in scope.references:
        try:
            place = reference.require() if scope.is_one else reference.find()
            if place is not None and not place.is_empty:
                turns.append(_Turn(begin(reference, place)))
        except errors.LanceNamespaceError as failure:
            failures.append((str(reference), failure))
    return turns, failures


def _rounds(
    spark: SparkSession | None,
    operation: str,
    turns: list[_Turn],
    progress: Watcher,
    started: float,
) -> None:
    pending = [turn for turn in turns if turn.tasks and turn.failure is None]
    while pending:
        assignments = [
            Assignment(number, task) for number, turn in enumerate(pending) for task in turn.tasks
        ]
        shared = {number: turn.work.shared for number, turn in enumerate(pending)}

        def tell(done: int, total: int) -> None:
            progress(Progress(operation, done, total, time.monotonic() - started))

        outcomes = jobs.run(spark, f"lanceyard: {operation}", assignments, shared, tell)
        for turn in pending:
            turn.results = []
        for assignment, outcome in zip(assignments, outcomes, strict=True):
            pending[assignment.owner].results.append(outcome)
        _in_threads(_land, pending)
        pending = [turn for turn in pending if turn.tasks and turn.failure is None]


def _in_threads(do: Callable[[_Turn], None], turns: Iterable[_Turn]) -> None:
    """Do something for all tables, some at a time; a failure stays with its table."""
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(partial(_guarded, do), turns))


def _guarded(do: Callable[[_Turn], None], turn: _Turn) -> None:
    try:
        do(turn)
    except errors.LanceNamespaceError as failure:
        turn.failure = failure
    except LANCE_ERRORS as cause:
        turn.failure = translate(Identifier(turn.work.reference.table or (turn.name,)), cause)
        turn.failure.__cause__ = cause


def _plan(turn: _Turn) -> None:
    turn.tasks = turn.work.plan()
    if turn.planned is None:
        turn.planned = turn.work.describe()


def _land(turn: _Turn) -> None:
    for outcome in turn.results:
        if isinstance(outcome, Failed):
            raise _of_task(turn, outcome)
    landing = turn.work.land(turn.results)
    turn.tasks = ()
    if landing is Landing.DONE:
        turn.is_done = True
        return
    if landing is Landing.CONFLICT:
        turn.conflicts += 1
        if turn.conflicts > CONFLICTS:
            raise errors.ConcurrentModificationError(
                f"other writers kept changing table {turn.name} in the meantime; run it again, "
                "when there is less going on"
            )
    turn.tasks = turn.work.plan()
    turn.is_done = not turn.tasks


def _of_task(turn: _Turn, failed: Failed) -> Exception:
    """The error of a task, with what happened on the executor as a note."""
    error = failed.error
    if isinstance(error, LANCE_ERRORS):
        error = translate(Identifier(turn.work.reference.table or (turn.name,)), error)
    error.add_note(failed.trace)
    return error


def is_conflict(cause: Exception) -> bool:
    """Whether Lance refused a commit because of another one, and nothing landed."""
    text = str(cause).lower()
    return any(each in text for each in ("commit conflict", "preempted", "incompatible concurrent"))


def files_of(dataset: LanceDataset) -> dict[int, str]:
    """What each fragment of a version is made of, without what was deleted of it."""
    return {
        fragment.fragment_id: repr(sorted(map(repr, fragment.metadata.to_json()["files"])))
        for fragment in dataset.get_fragments()
    }
