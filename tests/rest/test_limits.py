"""Each principal has a rate of its own."""

from __future__ import annotations

import pytest

from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.limits import RateLimits, ThrottledError

LIST = BY_NAME["ListTables"]


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_is_allowed_and_then_the_rate(clock: Clock) -> None:
    limits = RateLimits(2.0, 3, clock=clock)
    for _ in range(3):
        limits.take("ann", LIST)
    with pytest.raises(ThrottledError) as refusal:
        limits.take("ann", LIST)
    assert refusal.value.retry_after == 1
    clock.now += 0.5
    limits.take("ann", LIST)


def test_one_principal_does_not_use_up_the_rate_of_another(clock: Clock) -> None:
    limits = RateLimits(1.0, 1, clock=clock)
    limits.take("ann", LIST)
    limits.take("bob", LIST)
    with pytest.raises(ThrottledError):
        limits.take("ann", LIST)


def test_commits_are_never_limited(clock: Clock) -> None:
    limits = RateLimits(1.0, 1, clock=clock)
    for _ in range(10):
        limits.take("ann", BY_NAME["CreateTableVersion"])


def test_no_rate_is_no_limit(clock: Clock) -> None:
    limits = RateLimits(0.0, 1, clock=clock)
    for _ in range(1_000):
        limits.take("ann", LIST)
