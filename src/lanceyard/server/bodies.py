"""Bodies: what clients send, read as it comes and no further than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from starlette.types import Receive

from lanceyard import errors

HEAD = 2**20
"""Bytes of a stream that are waited for before a thread is taken for it: who trickles gets none."""


class TooLargeError(errors.InvalidInputError):
    """Raised when a body is larger than the server takes."""


class RequestBody:
    """The body of a request, of which at most so many bytes are read."""

    def __init__(self, receive: Receive, limit: int) -> None:
        """Read from a connection."""
        self._receive = receive
        self.limit = limit
        self._ended = False
        self._head: list[bytes] = []
        self.size = 0

    async def chunk(self) -> bytes:
        """The next bytes; none at the end. Raises `TooLargeError`."""
        while not self._ended:
            message = await self._receive()
            if message["type"] != "http.request":
                raise errors.InvalidInputError("the client went away before its body was complete")
            self._ended = not message.get("more_body", False)
            data: bytes = message.get("body", b"")
            self.size += len(data)
            if self.size > self.limit:
                raise TooLargeError(f"the body is larger than {self.limit:,} bytes")
            if data:
                return data
        return b""

    async def whole(self) -> bytes:
        """All of it."""
        first = await self.chunk()
        if self._ended:
            return first
        parts = [first]
        while data := await self.chunk():
            parts.append(data)
        return b"".join(parts)

    async def begin(self) -> None:
        """Wait for the first part of a stream, or for all of it if it is short."""
        while self.size < HEAD and (data := await self.chunk()):
            self._head.append(data)

    def chunks(self, loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
        """All of it, chunk by chunk, for a thread beside the loop."""
        while self._head:
            yield self._head.pop(0)
        while not self._ended and (
            data := asyncio.run_coroutine_threadsafe(self.chunk(), loop).result()
        ):
            yield data
