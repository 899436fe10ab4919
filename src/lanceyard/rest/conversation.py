"""Conversations: all that happens between a call and its answer, whatever carries it out.

A conversation is a generator of steps. The clients differ only in how they carry out a step.
"""

from __future__ import annotations

import uuid
from collections.abc import Generator, Mapping
from typing import Any

from lanceyard import errors
from lanceyard.rest.answers import read_answer
from lanceyard.rest.cache import AnswerCache, Known
from lanceyard.rest.headers import AUTHORIZATION, conceal
from lanceyard.rest.messages import Reply, redirect, write_request
from lanceyard.rest.protocol import KEYED, Operation
from lanceyard.rest.retries import Attempts, allowed, persist
from lanceyard.rest.settings import RestSettings
from lanceyard.rest.steps import Deadline, Fate, Renewal, Sending, Step, Steps, TransportError
from lanceyard.rest.tokens import Token, find_tokens

REDIRECTS = 3
CACHED = ("Describe", "List")
REPLAYS = "idempotency-key-supported"
"""The header by which a server says that it answers a key which it knows."""
UNCHANGED, UNAUTHENTICATED = 304, 401

Conversation = Generator[Step, Reply | None, Any]


class Peer:
    """What a client knows of its server. All its calls share it, in any thread."""

    def __init__(self, settings: RestSettings) -> None:
        """Know nothing yet."""
        self.settings = settings
        self.tokens = find_tokens(settings)
        self.cache = AnswerCache(settings.cache)
        self.replays = False
        """Whether the server answers a request again that carries the key of another."""

    def call(self, operation: Operation, request: Any, body: Any = None) -> Conversation:
        """Carry out an operation, and return its response."""
        return _Call(self, operation, request, body).steps()


class _Call:
    """One operation on its way."""

    def __init__(self, peer: Peer, operation: Operation, request: Any, body: Any) -> None:
        self._peer = peer
        self._operation = operation
        self._deadline = Deadline(peer.settings.deadline)
        keyed = operation.name in KEYED
        self._attempts = Attempts(peer.settings.retries, self._may, self._deadline, keyed=keyed)
        self._outgoing = write_request(peer.settings, operation, request, body)
        self._question = self._outgoing.question if self._is_cached(request) else None
        self._known = None if self._question is None else peer.cache.find(self._question)
        self._token: Token | None = None
        if self._known is not None:
            self._outgoing = self._outgoing.with_headers(if_none_match=self._known.etag)
        if keyed:
            self._outgoing = self._outgoing.with_headers(idempotency_key=str(uuid.uuid4()))

    def steps(self) -> Conversation:
        try:
            reply = yield from persist(self._send, self._attempts)
            if reply.status == UNAUTHENTICATED and self._has_another_token():
                reply = yield from persist(self._send, self._attempts)
            return self._conclude(reply)
        except TransportError as failure:
            raise self._undelivered(failure) from failure
        except errors.LanceNamespaceError as error:
            raise self._concealed(error) from error.__cause__

    def _send(self) -> Steps:
        """One try: with a token that holds, and wherever the server sends us."""
        yield from self._authenticate()
        settings, outgoing = self._peer.settings, self._outgoing
        if self._token is not None:
            outgoing = outgoing.with_headers(authorization=f"Bearer {self._token.text}")
        for _ in range(REDIRECTS + 1):
            reply = yield Sending(outgoing, settings.timeout, settings.read_timeout, self._deadline)
            assert reply is not None
            self._peer.replays |= reply.headers.get(REPLAYS) == "true"
            target = redirect(outgoing, reply, may_leave="cert_file" not in settings.tls)
            if target is None:
                return reply
            outgoing = target
        raise errors.ServiceUnavailableError("the server sends its clients in a circle")

    def _authenticate(self) -> Generator[Step, Reply | None, None]:
        tokens = self._peer.tokens
        if tokens is None or AUTHORIZATION in self._outgoing.headers:
            return
        if tokens.is_due():
            yield Renewal(tokens.current() is None, self._deadline)
        self._token = tokens.current()
        if self._token is None:
            raise errors.UnauthenticatedError("there is no token that holds")

    def _has_another_token(self) -> bool:
        """Whether another token than the one that was refused can be shown."""
        tokens, refused = self._peer.tokens, self._token
        if tokens is None or refused is None or not self._outgoing.repeats:
            return False
        tokens.forget(refused)
        return tokens.current() != refused

    def _conclude(self, reply: Reply) -> Any:
        if reply.status == UNCHANGED and self._known is not None:
            return read_answer(self._operation, Reply(200, reply.headers, self._known.body))
        try:
            answer = read_answer(self._operation, reply)
        except errors.LanceNamespaceError as error:
            is_unknown = self._attempts.is_unknown and self._attempts.judge(reply) is not None
            if self._operation.only_reads or not is_unknown:
                raise
            raise self._unknown(str(error)) from error
        etag = reply.headers.get("etag")
        may_keep = reply.headers.get("cache-control") != "no-store"
        if self._question is not None and etag is not None and may_keep:
            self._peer.cache.put(self._question, Known(etag, reply.body))
        return answer

    def _undelivered(self, failure: TransportError) -> errors.LanceNamespaceError:
        if self._attempts.is_unknown and not self._operation.only_reads:
            return self._unknown(str(failure))
        what = "cannot be reached" if failure.fate is Fate.UNSENT else "gave no answer"
        return errors.ServiceUnavailableError(f"{self._peer.settings.uri} {what}: {failure}")

    def _unknown(self, why: str) -> errors.UnknownOutcomeError:
        return errors.UnknownOutcomeError(
            f"{self._operation.name} may or may not have been carried out: {why}"
        )

    def _concealed(self, error: errors.LanceNamespaceError) -> errors.LanceNamespaceError:
        """The error without our secrets, which a server may have repeated in it."""
        token = {} if self._token is None else {AUTHORIZATION: self._token.text}
        text = conceal(str(error), {**self._outgoing.headers, **token})
        return error if text == str(error) else type(error)(text)

    def _may(self, fate: Fate) -> bool:
        return allowed(
            self._operation,
            fate,
            repeats=self._outgoing.repeats,
            replays=self._peer.replays,
        )

    def _is_cached(self, request: Any) -> bool:
        """Whether the answer may be remembered: credentials are not, because they expire."""
        if not self._peer.cache.is_on or not self._operation.name.startswith(CACHED):
            return False
        said = request if isinstance(request, Mapping) else getattr(request, "__dict__", {})
        return not said.get("vend_credentials")
