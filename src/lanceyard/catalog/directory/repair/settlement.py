"""The settlement: what a repair has found so far, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable

from lanceyard.catalog.directory.repair.site import BusyError, Case
from lanceyard.catalog.maintenance import Finding, RepairReport
from lanceyard.errors import LanceNamespaceError

FAILURES = (OSError, ValueError, RuntimeError, LanceNamespaceError)
"""What may keep one thing from being looked at or mended, and nothing else."""


class Settlement:
    """Mends what is found, unless this is a dry run, and keeps the account."""

    def __init__(self, *, dry_run: bool) -> None:
        """Begin with nothing found."""
        self._dry_run = dry_run
        self.findings: list[Finding] = []
        self.failures: list[tuple[Finding, Exception]] = []
        self.busy: list[Finding] = []
        self.unchecked: list[tuple[str, Exception]] = []

    def settle(self, cases: Iterable[Case]) -> None:
        """Mend one thing after the other."""
        for case in cases:
            try:
                if not self._dry_run:
                    case.mend()
            except BusyError:
                self.busy.append(case.finding)
                continue
            except FAILURES as failure:
                self.failures.append((case.finding, failure))
            self.findings.append(case.finding)

    def report(self, *, tables: int, emptied: int) -> RepairReport:
        """What was found and done."""
        return RepairReport(
            tuple(self.findings),
            tuple(self.failures),
            tuple(self.unchecked),
            tuple(self.busy),
            dry_run=self._dry_run,
            tables=tables,
            emptied=emptied,
        )
