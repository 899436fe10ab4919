"""Retries: what may be tried again, how often, and after how long."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from lanceyard import errors
from lanceyard.rest.messages import Reply
from lanceyard.rest.protocol import COMMITS, KEYED, Operation
from lanceyard.rest.steps import Deadline, Fate, Pause, Steps, TransportError

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
LONGEST_WISH = 30.0
"""Seconds that a server can make a client wait; whoever wishes for more is not asked again."""
CONFLICT, UNAVAILABLE = 409, 503


FATES = {429: Fate.THROTTLED, 502: Fate.UNKNOWN, 503: Fate.UNAVAILABLE, 504: Fate.UNKNOWN}
"""By the status of a reply; any other is an answer."""


class Attempts:
    """The tries of one call."""

    def __init__(
        self,
        retries: int,
        may: Callable[[Fate], bool],
        deadline: Deadline,
        *,
        keyed: bool = False,
    ) -> None:
        """Try again so often, after the fates that allow it."""
        self._left = retries
        self._may = may
        self._deadline = deadline
        self._keyed = keyed
        self._pause = FIRST_PAUSE
        self.is_unknown = False
        """Whether one of the tries may have been carried out, though nobody said so."""

    def judge(self, reply: Reply) -> Fate | None:
        """What a reply says of the request; None if it is an answer.

        A conflict after a lost reply is that the first try, with the same key, is still going on.
        """
        if reply.status == CONFLICT and self._keyed and self.is_unknown:
            return Fate.UNAVAILABLE
        if reply.status == UNAVAILABLE and not _says_unavailable(reply):
            return Fate.UNKNOWN  # of a proxy, which may have sent it on
        return FATES.get(reply.status)

    def after(self, fate: Fate | None, reply: Reply | None = None) -> float | None:
        """Seconds until the next try; None if there is none."""
        self.is_unknown |= fate is Fate.UNKNOWN
        if fate is None or not self._left or not self._may(fate):
            return None
        pause = random.uniform(self._pause / 2, self._pause)
        wish = read_wish(reply) if reply is not None else 0.0
        left = self._deadline.left()
        if wish > LONGEST_WISH or (left is not None and max(pause, wish) >= left):
            return None
        self._left -= 1
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return max(pause, wish)


def allowed(operation: Operation, fate: Fate, *, repeats: bool, replays: bool) -> bool:
    """Whether an operation may be tried again.

    `repeats` says whether its body can be sent again, `replays` whether the server answers a key
    that it knows without carrying out anything.
    """
    if fate is Fate.UNSENT or operation.only_reads:
        return True
    if not repeats:
        return False
    if fate is Fate.UNKNOWN:
        return replays and operation.name in KEYED
    return fate is Fate.THROTTLED or operation.name not in COMMITS


def persist(send: Callable[[], Steps], attempts: Attempts) -> Steps:
    """Send until there is an answer, or no further try. Raises the last `TransportError`."""
    while True:
        try:
            reply = yield from send()
        except TransportError as failure:
            pause = attempts.after(failure.fate)
            if pause is None:
                raise
        else:
            pause = attempts.after(attempts.judge(reply), reply)
            if pause is None:
                return reply
        yield Pause(pause)


def read_wish(reply: Reply) -> float:
    """Seconds that a server wants to be left alone; 0 if it does not say."""
    text = reply.headers.get("retry-after", "")
    if text.isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (moment.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds())


def _says_unavailable(reply: Reply) -> bool:
    try:
        return bool(json.loads(reply.body)["code"] == errors.ErrorCode.SERVICE_UNAVAILABLE)
    except (ValueError, TypeError, KeyError):
        return False
