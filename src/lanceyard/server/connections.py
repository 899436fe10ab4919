"""Connections: HTTP as uvicorn speaks it, with limits, and errors that carry a code."""

from __future__ import annotations

import asyncio
import http
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lanceyard import errors
from lanceyard.server.answers import refuse

HEAD_BYTES = 64 * 2**10
"""What the line and the headers of a request may have."""
LARGE_HEAD = f"the headers are larger than {HEAD_BYTES:,} bytes"
PACE = 10_000
"""Bytes a second that a request has to come with, once it has been waited for."""
LARGE = 16 * 2**10
"""Bytes that are sent without waiting for the rest of an answer."""
CONTINUE = b"HTTP/1.1 100 "
UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:", re.IGNORECASE)
LINGER = 1.0
"""Seconds that a server that stops waits for requests that are on their way to it."""
GOODBYE = 3.0
"""Seconds that it then waits for clients to answer the end of TLS: idle ones do not listen."""


class WholeAnswers:
    """A transport that sends an answer at once, head and body, unless it is large.

    uvicorn writes them one after the other, and each time the system is called.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        """Send by another transport."""
        self._transport = transport
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        self._parts.append(data)
        if len(data) > LARGE or data[: len(CONTINUE)] == CONTINUE:
            self.flush()

    def flush(self) -> None:
        """Send what was written."""
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()


class Connection(HttpToolsProtocol):
    """A connection that does not wait for ever, and ends without cutting a request."""

    def __init__(self, *given: Any, patience: float, **named: Any) -> None:
        """Wait some seconds for the next bytes of a request; the rest is what uvicorn gives."""
        super().__init__(*given, **named)
        self._patience = patience
        self._size = 0
        self._waited = 0.0
        self._waiting_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_in_head = True
        self._is_whole = True
        self._is_stopping = False
        self._is_refused = False
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._answers = WholeAnswers(transport)
        super().connection_made(self._answers)  # type: ignore[arg-type]
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._stop_waiting()
        if self._is_refused:
            return
        if self._is_in_head and b"pgrade" in data:
            data = _without_upgrade(data)
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._is_whole and is_idle and not self.transport.is_closing():
            self._wait()  # an empty line is no request
        if not (self._is_whole or self.transport.is_closing()):
            self._size += len(data)
            if self._is_in_head and self._size > HEAD_BYTES:
                self._refuse(431, LARGE_HEAD)
            elif self._waited > self._patience and self._size < self._waited * PACE:
                self._refuse(408, f"the request comes slower than {PACE:,} bytes a second")
            else:
                self._wait()

    def on_message_begin(self) -> None:
        if self._is_refused:
            return
        super().on_message_begin()
        self._size = 0
        self._waited = 0.0
        self._is_in_head, self._is_whole = True, False

    def on_headers_complete(self) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        if self.parser.should_upgrade():
            self._refuse(400, "this server speaks HTTP/1.1 alone")
            return
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            self._refuse(431, LARGE_HEAD)
            return
        super().on_headers_complete()
        self._is_in_head = False
        if self._is_stopping:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        self._is_in_head, self._is_whole = True, True
        super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        if not (self._is_refused or self.transport.is_closing()):
            super().on_body(body)

    def on_response_complete(self) -> None:
        self._answers.flush()
        super().on_response_complete()

    def shutdown(self) -> None:
        """Stop: once what is in flight is answered, and what may be on its way has come."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and not (self._is_stopping and self._is_whole):
            self._is_stopping = True
            self.loop.call_later(LINGER, self.shutdown)
        else:
            super().shutdown()
            if is_idle:
                self.loop.call_later(GOODBYE, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self._patience, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _wait(self) -> None:
        """Wait for the next bytes. While we keep the client from sending, no time is counted."""
        self._waiting_since = None if self.flow.read_paused else self.loop.time()
        self._timer = self.loop.call_later(self._patience, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._waiting_since is not None:
                self._waited += self.loop.time() - self._waiting_since

    def _give_up(self) -> None:
        if self.flow.read_paused:
            self._wait()
        elif not self.transport.is_closing():
            self._refuse(408, f"nothing more of the request came in {self._patience:g} s")

    def _refuse(self, status: int, text: str) -> None:
        """Answer what is no request, and close the connection.

        An answer that is being made to an earlier request is waited for; one that was begun, or
        given before all of its request had come, is all there is to say.
        """
        self._is_refused = True
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering and self._is_in_head:
            self.cycle.keep_alive = False
            return
        if self._is_in_head or (is_answering and not self.cycle.response_started):
            content = refuse(errors.InvalidInputError(text), "", status=status).content
            head = (
                f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
                f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
                "connection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + bytes(content))
        self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """The beginning of a request without the wish for another protocol, which Java utters."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return UPGRADE.sub(b"\r\nx-upgrade:", head) + end + rest
