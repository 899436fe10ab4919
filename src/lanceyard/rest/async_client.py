"""The client for asyncio: a namespace on another machine, whose operations are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

from lanceyard import errors
from lanceyard.rest.async_connections import Line
from lanceyard.rest.conversation import Conversation, Peer
from lanceyard.rest.messages import Reply
from lanceyard.rest.protocol import Operation
from lanceyard.rest.remote import RemoteNamespace, with_operations
from lanceyard.rest.steps import Pause, Renewal, Sending, Step, TransportError

if TYPE_CHECKING:
    from types import TracebackType


@with_operations
class AsyncRestNamespace(RemoteNamespace):
    """The namespace of a server that speaks the REST protocol, for asyncio.

    It has the operations, properties and rules of `RestNamespace`. Tasks of a loop share its
    connections, which end with ``async with`` or `close`.

    Examples
    --------
    >>> async def main():
    ...     async with AsyncRestNamespace(uri="http://127.0.0.1:2333") as namespace:
    ...         return await namespace.list_tables({"id": []})
    """

    def __init__(self, **properties: str) -> None:
        """Take the properties of `RestSettings`, as strings."""
        super().__init__(**properties)
        self._peer = Peer(self._settings)
        self._lines: dict[asyncio.AbstractEventLoop, Line] = {}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
            """The operations, which are put here below."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections of this loop. Using the namespace again is allowed."""
        line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            await line.close()

    async def carry_out(self, operation: Operation, request: Any, body: Any = None) -> Any:
        """Carry out an operation of the protocol."""
        return await self._hold(self._peer.call(operation, request, body))

    async def _hold(self, conversation: Conversation) -> Any:
        with closing(conversation):
            try:
                step = next(conversation)
                while True:
                    try:
                        told = await self._do(step)
                    except (TransportError, errors.LanceNamespaceError) as failure:
                        step = conversation.throw(failure)
                    else:
                        step = conversation.send(told)
            except StopIteration as end:
                return end.value

    async def _do(self, step: Step) -> Reply | None:
        match step:
            case Sending():
                return await self._connected().send(step)
            case Pause():
                await asyncio.sleep(step.seconds)
            case Renewal():
                await self._renew(step)
        return None

    async def _renew(self, step: Renewal) -> None:
        lock = self._connected().renewing
        if lock.locked() and not step.must:
            return
        try:
            async with asyncio.timeout(step.deadline.left()):
                await lock.acquire()
        except TimeoutError as cause:
            raise errors.ServiceUnavailableError("no token could be got in time") from cause
        try:
            tokens = self._peer.tokens
            if tokens is not None and tokens.is_due():
                await self._hold(tokens.fetch(step.deadline))
        finally:
            lock.release()

    def _connected(self) -> Line:
        """The connections of the loop that runs; those of another loop are of no use to it."""
        loop = asyncio.get_running_loop()
        if loop not in self._lines:
            for closed in [each for each in self._lines if each.is_closed()]:
                del self._lines[closed]
            self._lines[loop] = Line(self._settings)
        return self._lines[loop]
