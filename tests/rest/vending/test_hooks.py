"""Functions of those who run a server."""

from __future__ import annotations

import logging

import pytest

from lanceyard.errors import InvalidInputError, ServiceUnavailableError
from lanceyard.server.vending.hooks import Hook

from . import giving
from .giving import TOLD, Till


def hook(name: str) -> Hook:
    return Hook(f"{giving.__name__}:{name}")


def test_a_hook_is_told_the_location_the_right_and_the_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    till = Till()
    monkeypatch.setattr(giving, "TILL", till)
    given = hook("numbered").fetch("az://lake/t", {"account_key": "k"}, write=True)
    assert given == ({"sas_token": "token1"}, till.now + till.life)
    assert till.asked == [("az://lake/t", True, {"account_key": "k"})]


@pytest.mark.parametrize("name", ["nothing", "numbers", "endless", "leaving"])
def test_a_hook_that_fails_makes_nobody_wiser(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(ServiceUnavailableError) as failure:
        hook(name).fetch("az://lake/t", {"account_key": "open-sesame"}, write=False)
    assert failure.value.__cause__ is None
    assert name in caplog.text
    for secret in (TOLD, "open-sesame"):
        assert secret not in f"{failure.value}{caplog.text}"


def test_the_log_tells_where_a_hook_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    till = Till()
    till.fails = True
    monkeypatch.setattr(giving, "TILL", till)
    with pytest.raises(ServiceUnavailableError):
        hook("numbered").fetch("az://lake/t", {}, write=False)
    assert f"LookupError at {giving.__file__}:" in caplog.text
    assert TOLD not in caplog.text


@pytest.mark.parametrize(
    "name", ["nowhere.to_be:found", f"{giving.__name__}:missing", f"{giving.__name__}:CONSTANT"]
)
def test_a_hook_that_is_not_there_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(InvalidInputError, match="hook"):
        Hook(name)
