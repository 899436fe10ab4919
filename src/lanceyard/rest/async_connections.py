"""Connections of httpx, for the loop that they belong to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from lanceyard import errors
from lanceyard.rest.messages import Outgoing, Reply
from lanceyard.rest.settings import RestSettings
from lanceyard.rest.steps import Fate, Sending, TransportError

try:
    import httpx
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing}: it comes with pip install 'lanceyard[async]'", name=missing.name
    ) from missing

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30)
SENT = "http11.send_request_headers.started"
"""What httpx calls the moment from which a request may have arrived."""
BLOCK = 2**20
"""Bytes that are read of a file at a time."""


class Line:
    """What belongs to one loop: connections, and the lock of those who want a token."""

    def __init__(self, settings: RestSettings) -> None:
        """Have no connection yet."""
        self.renewing = asyncio.Lock()
        self._tls = settings.tls
        self._transports: dict[str, httpx.AsyncHTTPTransport] = {}

    async def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            await transport.aclose()

    async def send(self, sending: Sending) -> Reply:
        """Send a request. A transport is used as it is: a client would tell logs the URL."""
        left = sending.deadline.left()
        if left == 0:
            raise TransportError(Fate.UNSENT, "the deadline is over")
        begun: set[str] = set()

        async def watch(event: str, _: Any) -> None:
            begun.add(event)

        extensions = {} if left is None else {"trace": watch}
        try:
            async with asyncio.timeout(left):
                return await self._exchange(sending, extensions)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as cause:
            raise TransportError(Fate.UNSENT, _reason(cause)) from cause
        except (httpx.RequestError, httpx.InvalidURL) as cause:
            raise TransportError(Fate.UNKNOWN, _reason(cause)) from cause
        except TimeoutError as cause:
            fate = Fate.UNKNOWN if SENT in begun else Fate.UNSENT
            raise TransportError(fate, "the deadline is over") from cause

    async def _exchange(self, sending: Sending, extensions: Mapping[str, Any]) -> Reply:
        outgoing = sending.outgoing
        request = httpx.Request(
            outgoing.method,
            outgoing.url,
            headers=[(n.encode("latin-1"), v.encode("latin-1")) for n, v in _headers(outgoing)],
            content=_content(outgoing.content),
            extensions={
                **extensions,
                "timeout": {
                    "connect": sending.connect,
                    "read": sending.read,
                    "write": sending.read,
                    "pool": None,
                },
            },
        )
        response = await self._transport(outgoing.url).handle_async_request(request)
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        return Reply(response.status_code, dict(response.headers.items()), body)

    def _transport(self, url: str) -> httpx.AsyncHTTPTransport:
        """Connections by scheme, since reading certificates takes time."""
        scheme = urlsplit(url).scheme
        if scheme not in self._transports:
            verify = tls_context(self._tls) if scheme == "https" else False
            self._transports[scheme] = httpx.AsyncHTTPTransport(
                verify=verify, trust_env=False, limits=LIMITS
            )
        return self._transports[scheme]


def tls_context(tls: Mapping[str, Any]) -> ssl.SSLContext:
    """How to trust a server, and what to show it. Raises `InvalidInputError`."""
    try:
        context = ssl.create_default_context(cafile=tls.get("ca_certs"))
        if "cert_file" in tls:
            context.load_cert_chain(tls["cert_file"], tls.get("key_file"))
    except OSError as cause:
        raise errors.InvalidInputError(f"the files of tls.* cannot be read: {cause}") from cause
    context.check_hostname = tls.get("assert_hostname") is not False
    return context


def _headers(outgoing: Outgoing) -> list[tuple[str, str]]:
    return [("accept-encoding", "identity"), *outgoing.headers.items()]


def _reason(cause: Exception) -> str:
    return str(cause) or type(cause).__name__


def _content(content: Any) -> Any:
    """A body as httpx takes it: bytes, or chunks to be awaited."""
    if content is None or isinstance(content, bytes):
        return content
    try:
        return bytes(memoryview(content))
    except TypeError:
        return _awaited(content)


async def _awaited(content: Any) -> AsyncIterator[bytes]:
    """Chunks of what may block, read in a thread; or of what can be awaited already."""
    if hasattr(content, "__aiter__"):
        async for chunk in content:
            if chunk:
                yield bytes(chunk)
        return
    blocks = iter(lambda: content.read(BLOCK), b"") if hasattr(content, "read") else iter(content)
    while (chunk := await asyncio.to_thread(next, blocks, None)) is not None:
        yield chunk
