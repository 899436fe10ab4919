"""Victims: maintenance that is killed, as ``python -m tests.spark.maintenance.victims NAME …``."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from lanceyard.spark import maintenance
from lanceyard.spark.maintenance.backfilling import Backfilling
from lanceyard.spark.maintenance.compaction import Compaction
from lanceyard.spark.maintenance.indexing import Indexing
from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.maintenance.values import Expressions
from lanceyard.spark.maintenance.work import Work
from lanceyard.spark.reference import Place, TableReference
from tests.spark.victims import raise_sign, start

MODULE = "tests.spark.maintenance.victims"
PAUSE = 0.5
"""Seconds that a fragment takes."""


def works(reference: TableReference, place: Place) -> dict[str, Work]:
    """One piece of work of each kind."""
    return {
        "compact": Compaction(reference, place, {"target_rows_per_fragment": 400}),
        "index": Indexing(reference, place, "id", "BTREE", tasks=3),
        "backfill": Backfilling(reference, place, Expressions({"twice": "id * 2"}), tasks=3),
    }


def deadly(work: Work, mark: str, moment: str) -> Work:
    """The same work; the first task that comes so far kills its process."""
    # Local classes are pickled with their code: workers cannot import this module.

    class Deadly(Task):
        def __init__(self, task: Task) -> None:
            self._task = task

        def run(self, shared: Any) -> Any:
            if moment == "before":
                self._die()
            result = self._task.run(shared)
            self._die()
            return result

        def _die(self) -> None:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

    plan = work.plan

    def dangerous() -> Sequence[Task]:
        return [Deadly(task) for task in plan()]

    work.plan = dangerous  # type: ignore[method-assign]
    return work


def slowly(batch: Any) -> Any:
    """Twice the ids, in a while."""
    time.sleep(PAUSE)
    return {"twice": batch["id"]}


def maintain(operation: str, master: str, catalog: str, sign: str) -> None:
    """Carry out an operation, a few seconds long."""
    spark = start(master)
    raise_sign(sign)
    options: dict[str, Any] = {"catalog": json.loads(catalog), "progress": maintenance.silent}
    calls: dict[str, Callable[[], object]] = {
        "compact": lambda: maintenance.compact(spark, "t", target_rows_per_fragment=400, **options),
        "index": lambda: maintenance.index(spark, "t", "id", tasks=8, **options),
        "backfill": lambda: maintenance.backfill(spark, "t", slowly, **options, tasks=8),
    }
    calls[operation]()
    spark.stop()


PROGRAMS: dict[str, Callable[..., None]] = {"maintain": maintain}

if __name__ == "__main__":
    # Spark's processes are to import this from where it is, not from a main program.
    from tests.spark.maintenance import victims

    victims.PROGRAMS[sys.argv[1]](*sys.argv[2:])
