"""A proxy before a metastore, which loses replies, is silent, speaks TLS, counts."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from typing import Self

LARGE = 1 << 16


class Proxy:
    """Hands bytes on in both directions, until it is told to do something else."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        """Prepare one for the server at a port of this machine; `context` is for clients."""
        self._target = port
        self._context = context
        self._losing: list[bytes] = []
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0
        """Where it listens."""
        self.is_silent = False
        """Whether what clients send is swallowed."""
        self.accepted = 0
        """How many connections there have been."""
        self.calls: list[str] = []
        """The calls that were handed on."""

    @property
    def uri(self) -> str:
        """The address of the metastore, as clients are to see it."""
        return f"thrift://localhost:{self.port}"

    def lose_reply(self, method: str) -> None:
        """Let the next call of this name be carried out, and close the connection then."""
        self._losing.append(name_on_the_wire(method))

    def cut(self) -> None:
        """Close all connections."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ready)))
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _run(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._end.wait()
        server.close()
        await self._cut()

    async def _cut(self) -> None:
        opened = list(self._open)
        for each in opened:
            each.transport.abort()
        for each in opened:
            with contextlib.suppress(OSError):
                await each.wait_closed()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.accepted += 1
        server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        both = {to_client, to_server}
        self._open |= both
        losing = asyncio.Event()
        back = asyncio.create_task(self._hand_back(server, to_client, losing))
        with contextlib.suppress(OSError):
            await self._hand_on(client, to_server, losing)
        to_server.transport.abort()
        await back
        self._open -= both

    async def _hand_on(
        self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter, losing: asyncio.Event
    ) -> None:
        while data := await client.read(LARGE):
            if self.is_silent:
                continue
            self.calls.append(method_of(data))
            for each in [name for name in self._losing if name in data]:
                self._losing.remove(each)
                losing.set()
            to_server.write(data)
            await to_server.drain()

    async def _hand_back(
        self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter, losing: asyncio.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while (data := await server.read(LARGE)) and not losing.is_set():
                to_client.write(data)
                await to_client.drain()
        to_client.transport.abort()


def name_on_the_wire(method: str) -> bytes:
    """How the binary protocol names a call."""
    return len(method).to_bytes(4, "big") + method.encode()


def method_of(data: bytes) -> str:
    """The call that a message is of; its name follows four bytes of version."""
    return data[8 : 8 + int.from_bytes(data[4:8], "big")].decode(errors="replace")
