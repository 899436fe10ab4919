"""Steps: what a conversation asks of those who carry it out, and what can become of them."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum

from lanceyard.rest.messages import Outgoing, Reply


class Fate(Enum):
    """What became of a request that has no answer worth having."""

    UNSENT = "nothing of it reached the server"
    THROTTLED = "the server did not begin with it"
    UNAVAILABLE = "the server, or somebody before it, did not carry it out"
    UNKNOWN = "it may or may not have been carried out"


class TransportError(Exception):
    """Raised by what sends: there is no reply. Never seen by callers."""

    def __init__(self, fate: Fate, why: str) -> None:
        """Say what became of the request."""
        super().__init__(why)
        self.fate = fate


@dataclass(frozen=True, slots=True)
class Sending:
    """Send a request, and say what came back."""

    outgoing: Outgoing
    connect: float
    """Seconds to wait for a connection."""
    read: float | None
    """Seconds to wait for the next bytes."""
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Renewal:
    """Get a token, unless somebody else is getting it."""

    must: bool
    """Whether to wait for somebody else: there is none that could be used meanwhile."""
    deadline: Deadline


Step = Sending | Pause | Renewal
"""What a conversation asks of what carries it out, which answers a `Sending` with a `Reply`."""
Steps = Generator[Step, Reply | None, Reply]


class Deadline:
    """The end of the time that a call has, if there is one."""

    def __init__(self, seconds: float | None) -> None:
        """Begin now."""
        self.moment = None if seconds is None else time.monotonic() + seconds
        """On the monotonic clock."""

    def left(self) -> float | None:
        """Seconds until then; None for any time."""
        return None if self.moment is None else max(0.0, self.moment - time.monotonic())
