"""Hooks: functions as those who run a server write them."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from lanceyard.server.vending.settings import VendingSettings
from lanceyard.server.vending.sts import Sts

TOLD = "nobody-should-read-this"
HANGING = 10.0
"""Seconds that a hook hangs at most."""
Given = tuple[dict[str, str], float | None]


class Till:
    """What `numbered` does, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool, dict[str, str]]] = []
        self.now, self.life = 1_000.0, 100.0
        self.open = threading.Event()
        self.open.set()
        self.fails = False

    def clock(self) -> float:
        return self.now


TILL = Till()


def numbered(location: str, write: bool, options: dict[str, str]) -> Given:
    """A token that tells how often this was called, for as long as the till says."""
    TILL.asked.append((location, write, options))
    number = len(TILL.asked)
    TILL.open.wait(HANGING)
    if TILL.fails:
        raise LookupError(TOLD)
    return {"sas_token": f"token{number}"}, TILL.now + TILL.life


def unending(location: str, write: bool, options: dict[str, str]) -> Given:
    TILL.asked.append((location, write, options))
    return {"sas_token": "for ever"}, None


def fleeting(location: str, write: bool, options: dict[str, str]) -> Given:
    """A token that has ended when it is given."""
    token, _ = numbered(location, write, options)
    return token, time.time()


def nothing(location: str, write: bool, options: dict[str, str]) -> Any:
    return None


def numbers(location: str, write: bool, options: dict[str, str]) -> Any:
    return {"sas_token": 5}, None


def endless(location: str, write: bool, options: dict[str, str]) -> Any:
    return {"sas_token": "x"}, float("nan")


def leaving(location: str, write: bool, options: dict[str, str]) -> Any:
    sys.exit(TOLD)


class Narrow:
    """STS, but what it gives first lets nobody beyond the manifests, and ends soon."""

    def __init__(self) -> None:
        self.settings: VendingSettings | None = None
        self.given: list[Given] = []

    def give(self, location: str, write: bool, options: dict[str, str]) -> Given:
        assert self.settings is not None
        reach = location if self.given else f"{location}/_versions"
        keys, end = Sts(self.settings).fetch(reach, options, write=write)
        assert end is not None
        if not self.given:
            end -= self.settings.duration - LIFE
        self.given.append(({**keys, "refresh_offset_millis": "0"}, end))
        return self.given[-1]


LIFE = 2.0
NARROW = Narrow()
CONSTANT = 5
