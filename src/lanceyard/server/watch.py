"""Watching: what is told of each request to those who run the server."""

from __future__ import annotations

import asyncio
from types import TracebackType

from lanceyard.server.exchange import Exchange
from lanceyard.server.logs import AccessLog, AuditLog
from lanceyard.server.metrics import Metrics
from lanceyard.server.settings import ServerSettings
from lanceyard.server.tracing import Tracing

PAUSE = 1.0
"""Seconds."""


class Watch:
    """Metrics, traces, the access log and the audit log."""

    def __init__(self, settings: ServerSettings) -> None:
        """Watch as the settings say."""
        self.metrics = Metrics()
        self.tracing = Tracing()
        self.logs: list[AccessLog | AuditLog] = []
        if settings.access_log is not None:
            self.logs.append(AccessLog(settings.access_log))
        if settings.audit_log is not None:
            self.logs.append(AuditLog(settings.audit_log, reads=settings.audit_reads))

    async def share(self) -> None:
        """Tell the other processes of the server, now and then, what this one counted."""
        while self.metrics.is_shared:
            await asyncio.sleep(PAUSE)
            self.metrics.share()

    def over(self, exchange: Exchange) -> _Watched:
        """Watch one exchange, until the block ends."""
        return _Watched(self, exchange)


class _Watched:
    def __init__(self, watch: Watch, exchange: Exchange) -> None:
        self._watch = watch
        self._exchange = exchange
        self._span = watch.tracing.span(exchange)

    def __enter__(self) -> None:
        self._watch.metrics.started()
        if self._span is not None:
            self._span.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exchange.end()
        if self._span is not None:
            self._span.__exit__(kind, error, trace)
        self._watch.metrics.observe(self._exchange)
        for log in self._watch.logs:
            log.write(self._exchange)
