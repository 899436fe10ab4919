"""Tokens: what says who asks, as long as it holds."""

from __future__ import annotations

import base64
import json
import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from lanceyard import errors
from lanceyard.rest.headers import AUTHORIZATION, Secret, check_header, conceal
from lanceyard.rest.messages import Outgoing, Reply
from lanceyard.rest.retries import Attempts, persist
from lanceyard.rest.settings import ClientCredentials, RestSettings
from lanceyard.rest.steps import Deadline, Sending, Step, Steps, TransportError

LOG = logging.getLogger("lanceyard.rest")
RENEWED_AT = 0.8
"""The part of its life after which a token is renewed."""
POSTPONED = 5.0
"""Seconds until the next try after a token could not be renewed that still holds."""
FOREVER = float("inf")
SHOWN = 200
OK, THROTTLED, BROKEN = 200, 429, 500
Fetching = Generator[Step, Reply | None, None]


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token."""

    text: Secret
    due: float = FOREVER
    """When to get the next, on the monotonic clock."""
    ends: float = FOREVER


class Tokens(ABC):
    """Where tokens come from."""

    @abstractmethod
    def current(self) -> Token | None:
        """The token to use, if it is known without asking anybody."""

    def is_due(self) -> bool:
        """Whether it is time to `fetch` one."""
        return False

    def fetch(self, deadline: Deadline) -> Fetching:
        """Ask for a new one. While the last one holds, getting none is no error.

        Raises `UnauthenticatedError` or `ServiceUnavailableError`.
        """
        yield from ()

    def forget(self, token: Token) -> None:  # noqa: B027 - some have no other
        """Look for another one, since a server refused this one."""


class FixedToken(Tokens):
    """A token that somebody gave us."""

    def __init__(self, text: Secret) -> None:
        """Use it for ever."""
        self._token = Token(text)

    def current(self) -> Token | None:
        return self._token


class TokenFile(Tokens):
    """A token in a file, which somebody replaces from time to time."""

    def __init__(self, path: str) -> None:
        """Read it when it is needed."""
        self._path = path
        self._seen: tuple[tuple[int, int, int] | None, Token | None] = (None, None)

    def current(self) -> Token | None:
        """The token in the file; the last one while the file cannot be read."""
        state, token = self._seen
        try:
            found = os.stat(self._path)
            now = (found.st_mtime_ns, found.st_size, found.st_ino)
            if now != state:
                token = Token(self._read())
                self._seen = (now, token)
        except OSError as cause:
            if token is None:
                raise errors.UnauthenticatedError(
                    f"the token in {self._path} cannot be read: {cause.strerror}"
                ) from cause
        return token

    def forget(self, token: Token) -> None:
        self._seen = (None, self._seen[1])

    def _read(self) -> Secret:
        with open(self._path, "rb") as file:
            text = file.read().strip().decode("latin-1")
        if not text:
            raise errors.UnauthenticatedError(f"there is no token in {self._path}")
        check_header(self._path, AUTHORIZATION, text)
        return Secret(text)


class GrantedTokens(Tokens):
    """Tokens that are granted to a client that knows a secret, each for some time."""

    def __init__(
        self, settings: RestSettings, grant: ClientCredentials, clock: Callable[[], float]
    ) -> None:
        """Ask for the first when it is needed."""
        self._settings = settings
        self._grant = grant
        self._clock = clock
        self._token: Token | None = None
        self._request = _grant_request(grant)

    def current(self) -> Token | None:
        token = self._token
        return token if token is not None and self._clock() < token.ends else None

    def is_due(self) -> bool:
        token = self._token
        return token is None or self._clock() >= token.due

    def forget(self, token: Token) -> None:
        if self._token == token:
            self._token = None

    def fetch(self, deadline: Deadline) -> Fetching:
        try:
            reply = yield from self._ask(deadline)
            self._token = self._read(reply)
        except (errors.UnauthenticatedError, errors.ServiceUnavailableError) as failure:
            token = self.current()
            if token is None:
                raise
            LOG.warning("the token cannot be renewed yet: %s", failure)
            self._token = replace(token, due=self._clock() + POSTPONED)

    def _ask(self, deadline: Deadline) -> Steps:
        settings = self._settings
        attempts = Attempts(settings.retries, lambda _: True, deadline)
        read = settings.read_timeout or settings.timeout  # nobody may wait for a token for ever
        try:
            return (yield from persist(lambda: self._send(read, deadline), attempts))
        except TransportError as failure:
            raise errors.ServiceUnavailableError(
                f"no token could be got from {self._place}: {failure}"
            ) from failure

    def _send(self, read: float, deadline: Deadline) -> Steps:
        reply = yield Sending(self._request, self._settings.timeout, read, deadline)
        assert reply is not None
        return reply

    @property
    def _place(self) -> str:
        """Where tokens come from, without what a query may hold."""
        parts = urlsplit(self._grant.token_uri)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def _read(self, reply: Reply) -> Token:
        try:
            said = json.loads(reply.body)
            if reply.status == OK:
                return self._token_of(said)
            text = f"{said['error']} {said.get('error_description') or ''}".strip()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            text = f"it answered with status {reply.status} and no token"
        text = conceal(text[:SHOWN], {"secret": self._grant.client_secret})
        is_down = reply.status == THROTTLED or reply.status >= BROKEN
        kind = errors.ServiceUnavailableError if is_down else errors.UnauthenticatedError
        raise kind(f"{self._place} grants no token: {text}")

    def _token_of(self, said: Any) -> Token:
        """The token that a reply grants. What it raises says that there is none."""
        text, life = str(said["access_token"]), said.get("expires_in")
        if not (text.isascii() and text.isprintable() and text):
            raise ValueError("a token goes into a header")
        if str(said.get("token_type", "bearer")).lower() != "bearer":
            raise ValueError("we can show bearer tokens only")
        seconds = float(life) if life is not None else FOREVER
        if not seconds > 0:
            seconds = FOREVER
        now = self._clock()
        return Token(Secret(text), now + RENEWED_AT * seconds, now + seconds)


def find_tokens(
    settings: RestSettings, clock: Callable[[], float] = time.monotonic
) -> Tokens | None:
    """Where the tokens of a client come from; None if it shows none."""
    if settings.token is not None:
        return FixedToken(settings.token)
    if settings.token_file is not None:
        return TokenFile(settings.token_file)
    if settings.oauth2 is not None:
        return GrantedTokens(settings, settings.oauth2, clock)
    return None


def _grant_request(grant: ClientCredentials) -> Outgoing:
    """The request of RFC 6749, 4.4; the client says who it is as in 2.3.1."""
    who = f"{quote(grant.client_id, safe='')}:{quote(grant.client_secret, safe='')}"
    form = {"grant_type": "client_credentials"}
    if grant.scope is not None:
        form["scope"] = grant.scope
    headers = {
        AUTHORIZATION: Secret("Basic " + base64.b64encode(who.encode()).decode()),
        "content-type": "application/x-www-form-urlencoded",
        "accept": "application/json",
    }
    return Outgoing("POST", grant.token_uri, headers, urlencode(form).encode())
