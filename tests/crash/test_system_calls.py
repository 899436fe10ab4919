"""A kill at the n-th system call of an operation, pylance's own included."""

from __future__ import annotations

import pytest

from tests.crash.victims import Strike, Victim, perform
from tests.crash.wreck import CASES, IDS, Expectation, Operation, Shipyard

SYSTEM_CALLS = [
    "openat",
    "write",
    "mkdir",
    "renameat",
    "linkat",
    "link",
    "unlink",
    "rmdir",
    "fsync",
]
SAMPLE = [(call, number) for number in range(1, 7) for call in SYSTEM_CALLS]


@pytest.mark.parametrize(
    ("operation", "mode", "turn"),
    [(operation, mode, turn) for turn, (operation, mode) in enumerate(CASES)],
    ids=IDS,
)
def test_one_kill_leaves_the_state_before_or_after(
    yard: Shipyard, operation: Operation, mode: str, turn: int
) -> None:
    expected = yard.expect(operation, mode)
    strike(yard, expected, Strike(*SAMPLE[turn % len(SAMPLE)]))


@pytest.mark.deep
@pytest.mark.parametrize("call", SYSTEM_CALLS)
@pytest.mark.parametrize(("operation", "mode"), CASES, ids=IDS)
def test_a_kill_at_any_system_call_leaves_the_state_before_or_after(
    yard: Shipyard, operation: Operation, mode: str, call: str
) -> None:
    expected = yard.expect(operation, mode)
    for number in range(1, 200):
        if not strike(yard, expected, Strike(call, number)):
            break


def strike(yard: Shipyard, expected: Expectation, blow: Strike) -> bool:
    """Kill a process within an operation and look at what it leaves; False if it survived."""
    with yard.copy(expected.mode) as root:
        victim = Victim(perform, str(root), expected.mode, expected.operation.name)
        blow(victim)
        killed = victim.end()
        expected.check(root, acknowledged=victim.hear(0) == "done")
    return killed
