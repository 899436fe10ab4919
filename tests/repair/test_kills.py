"""`kill -9` at random moments of a process that does a bit of everything, and then a repair."""

from __future__ import annotations

import json
import random
import time
from datetime import timedelta
from pathlib import Path

import pytest

import lanceyard
from lanceyard.catalog.maintenance import RepairReport
from tests.crash.victims import LEFTOVERS, Victim
from tests.crash.wreck import show
from tests.races.arena import MODES
from tests.repair.audit import audit
from tests.repair.victims import (
    NOTHING,
    WINDOW,
    Deed,
    Ours,
    Reference,
    World,
    after,
    directory_of,
    live,
    outcomes,
)

SHORTEST_LIFE, LONGEST_LIFE = 0.005, 0.055
LONGER_THAN_THE_WINDOW = float(WINDOW) + 0.2
REFUSALS = (*LEFTOVERS, 19)
"""As after a drop that was cut short, or of a table that has neither data nor a row."""

rounds = pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.deep)])
modes = pytest.mark.parametrize(("mode", "kills"), [("v1", 60), ("v2", 70), ("compat", 70)])


class Campaign:
    """A root in which one victim after the other is killed, and what must be there."""

    def __init__(self, folder: Path, mode: str, kind: type[Ours]) -> None:
        self.root = folder / "root"
        self.mode = mode
        self.known = NOTHING
        self.unsure: set[str] = set()
        """Names that something was cut short on, where that bars them for good."""
        self._kind = kind
        self._log = folder / "log"
        self._seed = 0
        self._story: list[str] = []

    def kill_one(self) -> None:
        """Let a victim go on where the last one was killed, and kill it too."""
        self._seed = random.randrange(2**32)
        self._log.unlink(missing_ok=True)
        args = (self._kind, str(self.root), self.mode, self._seed, str(self._log), self.known)
        victim = Victim(live, *args)
        victim.go()
        time.sleep(random.uniform(SHORTEST_LIFE, LONGEST_LIFE))
        victim.kill()
        victim.end()
        pending = self._replay()
        self._story += [f"-- killed within {pending}, seed {self._seed}"]
        if self._kind is Ours:
            self._settle(pending)
        elif pending is not None:
            self.known = without(self.known, pending)
            self.unsure |= {pending.name, directory_of(pending.name)}

    def _replay(self) -> Deed | None:
        """Take what was acknowledged for granted, and return what was not."""
        pending: Deed | None = None
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._story += lines
        for line in lines:
            word, *parts = json.loads(line)
            if word == "try":
                pending = Deed(*parts)
            elif word == "refused" and self._kind is Ours:
                assert parts[0] in REFUSALS, self.hint(f"refused: {parts}")
                pending = None
            elif word == "done" and pending is not None:
                self.known = after(self.known, pending, self.mode)
                pending = None
        return pending

    def _settle(self, pending: Deed | None) -> None:
        """Look whether what was cut short has happened: one or the other, and nothing half."""
        found = show(self.root, self.mode)
        allowed = [self.known]
        if pending is not None:
            allowed = [*outcomes(self.known, pending, self.mode)]
            if pending.operation == "discard" and self._is_dropped(pending.detail):
                allowed = allowed[1:]
        seen = [world for world in allowed if (world.namespaces, world.tables) == found]
        assert seen, self.hint(f"{found} is none of {allowed}")
        self.known = seen[0]

    def _is_dropped(self, directory: str) -> bool:
        """Whether a drop of a deregistered table has begun."""
        path = self.root / directory
        return not path.exists() or (path / ".lance-dropping").exists()

    def repair(self, *, dry_run: bool = False) -> RepairReport:
        """Repair once all that was ever written is older than the window."""
        time.sleep(LONGER_THAN_THE_WINDOW)
        settings = {"window": WINDOW, "durability": "os", **MODES[self.mode]}
        yard = lanceyard.open(self.root, **settings)
        return yard.repair(dry_run=dry_run, unreferenced_for=timedelta(0))

    def hint(self, problem: str, *reports: RepairReport) -> str:
        """What one needs to know to find out why."""
        told = [f"  {finding}" for report in reports for finding in report.findings]
        return "\n".join([problem, f"in {self.root}", *self._story[-40:], "repair found:", *told])


def without(world: World, deed: Deed) -> World:
    """What is known for sure when a deed was cut short."""
    unsure = {deed.name, deed.detail if isinstance(deed.detail, str) else ""} - {""}
    parts = ({n: c for n, c in part.items() if n not in unsure} for part in world)
    return World(*parts)  # type: ignore[arg-type]


@rounds
@modes
@pytest.mark.parametrize("kind", [Ours, Reference])
def test_after_kills_repair_leaves_no_orphan_and_touches_nothing_acknowledged(
    tmp_path: Path, mode: str, kills: int, rounds: int, kind: type[Ours]
) -> None:
    campaign = Campaign(tmp_path, mode, kind)
    for _ in range(rounds):
        for _ in range(kills):
            campaign.kill_one()
        check(campaign)


def check(campaign: Campaign) -> None:
    """Repair, and look at what is there then, with and without the eyes of repair."""
    mended = campaign.repair()
    assert not mended.failures, campaign.hint(str(mended.failures), mended)
    again = campaign.repair(dry_run=True)
    trouble = [*again.findings, *again.failures, *again.unchecked, *mended.unchecked]
    assert not trouble, campaign.hint(f"still wrong: {trouble}", mended)

    found = show(campaign.root, campaign.mode)
    known, unsure = campaign.known, campaign.unsure
    for part, there in ((known.namespaces, found.namespaces), (known.tables, found.tables)):
        sure = {name: content for name, content in there.items() if name not in unsure}
        assert sure == part, campaign.hint(f"{sure} is not {part}", mended)
    wrong = [*audit(campaign.root, campaign.mode, known.hidden, unsure)]
    assert not wrong, campaign.hint("\n".join(wrong), mended)
