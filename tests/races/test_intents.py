"""What a process that was killed while it waited leaves behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lanceyard.catalog.changes import CreateNamespace
from lanceyard.catalog.directory.manifest import intents
from lanceyard.catalog.directory.manifest.group import Ticket
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import Snapshot


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "intents")


def wish(name: str) -> Ticket:
    return Ticket(CreateNamespace(name))


def test_a_leader_settles_the_intent_of_a_waiting_process(folder: str) -> None:
    ticket = wish("a")
    intent = intents.Intent(folder, [ticket])
    [claim] = intents.claim_all(folder)
    claim.tickets[0].fail(ValueError("no"))
    claim.finish(None)
    assert intent.settle()
    assert ticket.error is not None
    assert os.listdir(folder) == []


def test_an_intent_whose_owner_is_gone_is_not_carried_out(folder: str) -> None:
    intent = intents.Intent(folder, [wish("a")])
    intent._lock.close()
    assert intents.claim_all(folder) == []
    assert os.listdir(folder) == []


def test_an_intent_that_was_withdrawn_is_not_claimed(folder: str) -> None:
    assert intents.Intent(folder, [wish("a")]).withdraw()
    assert intents.claim_all(folder) == []


def test_a_claimed_intent_cannot_be_withdrawn(folder: str) -> None:
    intent = intents.Intent(folder, [wish("a")])
    assert len(intents.claim_all(folder)) == 1
    assert not intent.withdraw()


def test_old_remains_are_swept_and_waiting_intents_are_not(folder: str) -> None:
    waiting, dead = (intents.Intent(folder, [wish(name)]) for name in "ab")
    dead._lock.close()
    for name in os.listdir(folder):
        os.utime(os.path.join(folder, name), (0, time.time() - 2 * intents.ABANDONED))
    intents.sweep(folder)
    assert len(os.listdir(folder)) == 1
    assert waiting.withdraw()


def test_a_result_survives_the_way_between_processes(folder: str) -> None:
    ticket = wish("a")
    intent = intents.Intent(folder, [ticket])
    [claim] = intents.claim_all(folder)
    claim.tickets[0].attempt(Draft(Snapshot()))
    claim.finish(None)
    assert intent.settle()
    assert ticket.result().row == claim.tickets[0].result().row
