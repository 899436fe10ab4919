"""Bodies: what clients send, read as it comes and no further than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from starlette.types import Receive

from lanceyard import errors


class TooLargeError(errors.InvalidInputError):
    """Raised when a body is larger than the server takes."""


class RequestBody:
    """The body of a request, of which at most so many bytes are read."""

    def __init__(self, receive: Receive, limit: int) -> None:
        """Read from a connection."""
        self._receive = receive
        self._limit = limit
        self._size = 0
        self._ended = False

    async def chunk(self) -> bytes:
        """The next bytes; none at the end. Raises `TooLargeError`."""
        while not self._ended:
            message = await self._receive()
            if message["type"] != "http.request":
                raise errors.InvalidInputError("the client went away before its body was complete")
            self._ended = not message.get("more_body", False)
            data: bytes = message.get("body", b"")
            self._size += len(data)
            if self._size > self._limit:
                raise TooLargeError(f"the body is larger than {self._limit:,} bytes")
            if data:
                return data
        return b""

    async def whole(self) -> bytes:
        """All of it."""
        parts = []
        while data := await self.chunk():
            parts.append(data)
        return b"".join(parts)

    def chunks(self, loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
        """All of it, chunk by chunk, for a thread beside the loop."""
        while data := asyncio.run_coroutine_threadsafe(self.chunk(), loop).result():
            yield data
