"""Credentials are fetched once for all who need them, and kept for half of their life."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lanceyard.errors import ServiceUnavailableError
from lanceyard.server.vending import stock
from lanceyard.server.vending.hooks import Hook
from lanceyard.server.vending.stock import PAUSE, UNENDING, Stock

from . import giving
from .giving import HANGING, Till


@pytest.fixture
def till(monkeypatch: pytest.MonkeyPatch) -> Iterator[Till]:
    found = Till()
    monkeypatch.setattr(giving, "TILL", found)
    yield found
    found.open.set()


@pytest.fixture
def kept(till: Till) -> Stock:
    return Stock(Hook(f"{giving.__name__}:numbered"), patience=10, clock=till.clock)


@pytest.fixture
def impatient(till: Till) -> Stock:
    """A stock that waits for a moment only, for a hook that hangs."""
    till.open.clear()
    return Stock(Hook(f"{giving.__name__}:numbered"), patience=0.1, clock=till.clock)


def take(kept: Stock, location: str = "az://lake/t", *, write: bool = False) -> str:
    return kept.take(location, {}, write=write).options["sas_token"]


def test_credentials_are_kept_for_half_of_their_life(kept: Stock, till: Till) -> None:
    assert take(kept) == "token1"
    till.now += till.life / 2 - 1
    assert take(kept) == "token1"
    till.now += 1
    assert take(kept) == "token2"


def test_readers_writers_and_tables_have_credentials_of_their_own(kept: Stock, till: Till) -> None:
    places = [("az://lake/t", False), ("az://lake/t", True), ("az://lake/u", False)]
    tokens = [take(kept, location, write=write) for location, write in places * 2]
    assert tokens == ["token1", "token2", "token3"] * 2
    assert [(location, write) for location, write, _ in till.asked] == places


def test_what_many_ask_for_at_once_is_fetched_once(kept: Stock, till: Till) -> None:
    till.open.clear()
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(take, kept) for _ in range(8)]
        time.sleep(0.05)
        till.open.set()
        assert {each.result() for each in asking} == {"token1"}
    assert len(till.asked) == 1


def test_credentials_that_do_not_end_are_asked_for_again_in_the_end(till: Till) -> None:
    kept = Stock(Hook(f"{giving.__name__}:unending"), patience=10, clock=till.clock)
    assert [take(kept), take(kept)] == ["for ever"] * 2
    till.now += UNENDING
    take(kept)
    assert len(till.asked) == 2


def test_what_ended_already_is_not_kept(kept: Stock, till: Till) -> None:
    till.life = -1
    assert [take(kept), take(kept)] == ["token1", "token2"]


def test_a_failure_is_told_again_for_a_moment(kept: Stock, till: Till) -> None:
    till.fails = True
    for _ in range(3):
        with pytest.raises(ServiceUnavailableError):
            take(kept)
    assert len(till.asked) == 1
    till.fails, till.now = False, till.now + PAUSE
    assert take(kept) == "token2"


def test_a_failure_for_one_table_is_none_for_another(kept: Stock, till: Till) -> None:
    till.fails = True
    with pytest.raises(ServiceUnavailableError):
        take(kept)
    till.fails = False
    assert take(kept, "az://lake/u") == "token2"


def test_credentials_serve_to_their_end_where_there_are_no_new_ones(
    kept: Stock, till: Till
) -> None:
    take(kept)
    till.fails, till.now = True, till.now + till.life - 1
    assert [take(kept), take(kept)] == ["token1"] * 2
    till.now += 1
    with pytest.raises(ServiceUnavailableError):
        take(kept)


def test_a_fetch_that_hangs_holds_nobody_for_long(impatient: Stock, till: Till) -> None:
    begun = time.monotonic()
    for _ in range(5):
        with pytest.raises(ServiceUnavailableError):
            take(impatient)
    assert time.monotonic() - begun < HANGING / 2
    assert len(till.asked) == 1


def test_what_a_slow_fetch_brings_is_kept(impatient: Stock, till: Till) -> None:
    with pytest.raises(ServiceUnavailableError):
        take(impatient)
    till.open.set()
    while True:
        try:
            assert take(impatient) == "token1"
        except ServiceUnavailableError:
            time.sleep(0.01)
        else:
            break


def test_a_fetch_that_never_ends_is_given_up(
    impatient: Stock, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stock, "PAUSE", 0.0)
    for _ in range(2):
        with pytest.raises(ServiceUnavailableError):
            take(impatient)
    assert len(till.asked) == 2


def test_only_so_many_fetches_hang(
    impatient: Stock, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stock, "AT_ONCE", 2)
    for number in range(4):
        with pytest.raises(ServiceUnavailableError):
            take(impatient, f"az://lake/{number}")
    assert len(till.asked) == 2


def test_the_stock_has_a_bound(kept: Stock, till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "SIZE", 2)
    for number in (1, 2, 3, 2, 1):
        take(kept, f"az://lake/{number}")
    assert [location[-1] for location, *_ in till.asked] == ["1", "2", "3", "1"]
