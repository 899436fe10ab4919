"""Care: `doctor`, `repair`, `migrate` and `manage`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from lanceyard.cli import progress
from lanceyard.cli.command import Effect, catalog_command
from lanceyard.cli.exits import Exit
from lanceyard.cli.session import Session

if TYPE_CHECKING:
    from lanceyard.catalog.maintenance import Progress, RepairReport

FINDING = ("severity", "path", "finding", "action", "outcome")
DAYS = 7
TRASH = "what was removed is in _lanceyard/trash for {days:g} days; each thing says where it was"


@catalog_command("doctor")
def doctor_command(session: Session) -> Exit:
    """Look for what is wrong in the catalog; change nothing.

    That is what crashes, old programs and people leave behind. The exit code is 10 if something was
    found.
    """
    report = _repair(session, dry_run=True)
    _tell(session, report)
    if report.findings:
        session.output.line(f"next: {session.command('repair')}")
    return Exit.FINDINGS if report.findings or report.unchecked else Exit.DONE


@catalog_command("repair", effect=Effect.CHANGES)
@click.option("--retention", "days", default=DAYS, show_default=True, type=click.FloatRange(0),
              help="Days for which the trash is kept.")  # fmt: skip
def repair_command(session: Session, days: float) -> Exit:
    """Mend what doctor finds. What is removed goes to a trash first."""
    report = _repair(session, dry_run=session.dry_run, retention=timedelta(days=days))
    _tell(session, report)
    if report.findings and not session.dry_run:
        session.output.line(f"undo: {TRASH.format(days=days)}")
    return Exit.FINDINGS if report.failures or report.unchecked else Exit.DONE


@catalog_command("migrate", effect=Effect.CHANGES)
def migrate_command(session: Session) -> None:
    """Take tables found by their directories into the manifest."""
    with progress.shown("migrate") as tell:
        report = session.yard.migrate(dry_run=session.dry_run, progress=_told(tell))
    outcome = "would be migrated" if report.dry_run else "migrated"
    rows: list[dict[str, Any]] = [
        {"name": each.object_id.replace("$", "."), "location": each.location, "outcome": outcome}
        for each in report.migrated
    ]
    rows += [
        {"name": None, "location": each.location, "outcome": f"skipped: {each.reason}"}
        for each in report.skipped
    ]
    session.output.rows(("name", "location", "outcome"), rows)
    session.output.line(str(report).partition("\n")[0])


@catalog_command("manage", effect=Effect.DESTROYS)
@click.option("--wait", "seconds", type=click.FloatRange(0), metavar="SECONDS",
              help="For programs that have tables open to end.  [default: 5]")  # fmt: skip
def manage_command(session: Session, seconds: float | None) -> None:
    """Let the catalog manage the versions of its tables, once and for good.

    Transactions and exact earlier states take that. Programs that know only directories, the
    reference implementation among them, can still read the catalog, but no longer write to it.
    """
    yard, place = session.yard, session.address.place
    if not session.goes_ahead("manage", place, destroys=True):
        return
    wait = None if seconds is None else timedelta(seconds=seconds)
    with progress.shown("wait for writers"):
        tables = yard.manage_versions(wait=wait)
    session.done("manage", place, tables=tables)


def _repair(session: Session, **options: Any) -> RepairReport:
    with progress.shown("look") as tell, progress.hearing_of_files(tell):
        return session.yard.repair(progress=_told(tell), **options)


def _told(tell: progress.Tell) -> Any:
    def hear(come: Progress) -> None:
        tell(come.phase, come.done, come.total)

    return hear


def _tell(session: Session, report: RepairReport) -> None:
    mended = "found" if report.dry_run else "mended"
    outcomes = {id(each): f"failed: {why}" for each, why in report.failures}
    outcomes |= {id(each): "left alone: in use" for each in report.busy}
    rows: list[dict[str, Any]] = [
        {
            "severity": each.kind.severity.value,
            "path": each.path,
            "finding": each.explanation or each.kind.title,
            "action": each.kind.action,
            "outcome": outcomes.get(id(each), mended),
        }
        for each in report.findings
    ]
    rows += [
        {
            "severity": None,
            "path": path,
            "finding": str(why),
            "action": None,
            "outcome": "unchecked",
        }
        for path, why in report.unchecked
    ]
    session.output.rows(FINDING, rows)
    session.output.line(str(report).partition("\n")[0])
