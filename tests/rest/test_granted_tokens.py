"""How long a token is kept."""

from __future__ import annotations

import pytest

from lanceyard.rest.headers import Secret
from lanceyard.rest.messages import Reply
from lanceyard.rest.settings import RestSettings
from lanceyard.rest.steps import Deadline, Fate, TransportError
from lanceyard.rest.tokens import POSTPONED, GrantedTokens

CLIENT = {"oauth2.client_id": "me", "oauth2.client_secret": "hush"}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def granted(clock: Clock) -> GrantedTokens:
    settings = RestSettings.from_properties({"uri": "http://h", "retries": "0", **CLIENT})
    assert settings.oauth2 is not None
    return GrantedTokens(settings, settings.oauth2, clock)


def fetch(tokens: GrantedTokens, reply: Reply | TransportError) -> None:
    """Get a token from an issuer that replies so."""
    steps = tokens.fetch(Deadline(None))
    next(steps)
    with pytest.raises(StopIteration):
        _ = steps.throw(reply) if isinstance(reply, TransportError) else steps.send(reply)


def test_a_token_is_renewed_after_four_fifths_of_its_life() -> None:
    clock = Clock()
    tokens = granted(clock)
    assert tokens.is_due()
    fetch(tokens, Reply(200, {}, b'{"access_token": "a", "expires_in": 100}'))
    clock.now = 79.9
    assert not tokens.is_due()
    clock.now = 80.1
    assert tokens.is_due()
    assert tokens.current() is not None
    clock.now = 100.1
    assert tokens.current() is None


@pytest.mark.parametrize("life", ["null", "0", "-5", "NaN"])
def test_a_token_without_an_end_is_kept_until_it_is_refused(life: str) -> None:
    clock = Clock()
    tokens = granted(clock)
    fetch(tokens, Reply(200, {}, b'{"access_token": "a", "expires_in": %s}' % life.encode()))
    clock.now = 1e9
    token = tokens.current()
    assert token is not None
    assert not tokens.is_due()
    tokens.forget(token)
    assert tokens.current() is None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(503, {}, b""),
        Reply(401, {}, b'{"error": "invalid_client"}'),
        TransportError(Fate.UNSENT, "nobody there"),
    ],
    ids=["down", "refused", "away"],
)
def test_a_token_that_cannot_be_renewed_is_used_as_long_as_it_holds(
    reply: Reply | TransportError,
) -> None:
    clock = Clock()
    tokens = granted(clock)
    fetch(tokens, Reply(200, {}, b'{"access_token": "a", "expires_in": 100}'))
    clock.now = 90
    fetch(tokens, reply)
    assert not tokens.is_due()
    assert tokens.current() is not None
    clock.now += POSTPONED
    assert tokens.is_due()


def test_a_token_that_somebody_else_replaced_is_not_forgotten() -> None:
    tokens = granted(Clock())
    fetch(tokens, Reply(200, {}, b'{"access_token": "a"}'))
    first = tokens.current()
    assert first is not None
    tokens.forget(first)
    fetch(tokens, Reply(200, {}, b'{"access_token": "b"}'))
    tokens.forget(first)
    second = tokens.current()
    assert second is not None
    assert second.text == Secret("b")
