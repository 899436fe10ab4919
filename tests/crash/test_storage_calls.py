"""A crash, or an error, at every single storage call of every operation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lance_namespace.errors import LanceNamespaceError

from lanceyard.errors import UnknownOutcomeError
from lanceyard.storage.failing import Crash
from tests.crash.wreck import (
    CASES,
    IDS,
    Operation,
    Point,
    Shipyard,
    Wreck,
    all_points,
    crash_points,
    wrecked,
)

Choose = Callable[[Shipyard, Operation, str], list[Point]]
every_operation = pytest.mark.parametrize(("operation", "mode"), CASES, ids=IDS)
# The upkeep of a crashed catalog crashes too, in a thread that nobody waits for.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@every_operation
@pytest.mark.parametrize(
    "choose",
    [
        pytest.param(crash_points, id="changes"),
        pytest.param(all_points, id="calls", marks=pytest.mark.deep),
    ],
)
def test_a_crash_leaves_the_state_before_or_after(
    yard: Shipyard,
    operation: Operation,
    mode: str,
    choose: Choose,
) -> None:
    expected = yard.expect(operation, mode)
    points = choose(yard, operation, mode)
    assert points
    for point in points:
        with wrecked(yard, operation, mode, point) as wreck:
            assert wreck.told is None or isinstance(wreck.told, Crash), wreck
            expected.check(wreck.root, acknowledged=wreck.told is None)


@every_operation
def test_an_error_is_told_with_its_cause(yard: Shipyard, operation: Operation, mode: str) -> None:
    expected = yard.expect(operation, mode)
    for i, point in enumerate(all_points(yard, operation, mode)[::2]):
        error, code = (PermissionError, 15) if i % 2 else (OSError, 18)
        with wrecked(yard, operation, mode, point, error) as wreck:
            check_told(wreck, error, code)
            expected.look(wreck.root, acknowledged=wreck.told is None)


@pytest.mark.deep
@every_operation
@pytest.mark.parametrize(("error", "code"), [(OSError, 18), (PermissionError, 15)])
def test_every_error_is_told_with_its_cause(
    yard: Shipyard, operation: Operation, mode: str, error: type[OSError], code: int
) -> None:
    expected = yard.expect(operation, mode)
    for point in all_points(yard, operation, mode):
        with wrecked(yard, operation, mode, point, error) as wreck:
            check_told(wreck, error, code)
            expected.check(wreck.root, acknowledged=wreck.told is None)


def check_told(wreck: Wreck, error: type[OSError], code: int) -> None:
    """The caller learns of the error by its code and its cause, if it learns of it at all.

    What failed after the commit is 18 whatever it was: 15 would say that nothing happened.
    """
    if wreck.told is not None:
        assert isinstance(wreck.told, LanceNamespaceError), wreck
        unknown = isinstance(wreck.told, UnknownOutcomeError)
        assert wreck.told.code == (18 if unknown else code), wreck
        assert isinstance(wreck.told.__cause__, error), wreck
