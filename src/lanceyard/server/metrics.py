"""Metrics: what the server does, in numbers, as Prometheus reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from lanceyard.server.exchange import Exchange

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which the processes of a server add their numbers up."""
NONE = "none"
"""What stands for the operation of a request that asks for none."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Seconds."""


class _Series(NamedTuple):
    """What one kind of exchange is counted in."""

    answered: Callable[[], None]
    failed: Callable[[], None] | None
    seconds: Callable[[float], None]
    received: Callable[[float], None]
    sent: Callable[[float], None]


class Metrics:
    """Counts requests, errors, seconds and bytes for each operation.

    Where ``PROMETHEUS_MULTIPROC_DIR`` names a folder, its numbers are those of all processes that
    have the same folder. The variable must be set before the first `Metrics` of a process is made.
    """

    def __init__(self) -> None:
        """Count from zero, or on from what the other processes counted."""
        # The library looks for the folder when it is imported.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._is_shared = DIRECTORY in os.environ
        self._registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"lanceyard_{name}", about, labels, registry=self._registry)

        self._requests = counter("requests", "Requests answered", "operation", "status")
        self._errors = counter("errors", "Answers with an error", "operation", "code")
        self._received = counter("received_bytes", "Bytes of requests", "operation")
        self._sent = counter("sent_bytes", "Bytes of answers", "operation")
        self._seconds = Histogram(
            "lanceyard_request_seconds",
            "Seconds from a request to the end of its answer",
            ("operation",),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._in_flight = Gauge(
            "lanceyard_requests_in_flight",
            "Requests being answered",
            multiprocess_mode="livesum",
            registry=self._registry,
        )
        self._known: dict[tuple[str, int, int | None], _Series] = {}

    def started(self) -> None:
        """Count a request that has come; `observe` tells its end."""
        self._in_flight.inc()

    def observe(self, exchange: Exchange) -> None:
        """Count a request that is answered."""
        self._in_flight.dec()
        name = exchange.operation.name if exchange.operation else NONE
        kind = (name, exchange.status, exchange.code)
        series = self._known.get(kind) or self._learn(kind)
        series.answered()
        series.seconds(exchange.seconds)
        if series.failed is not None:
            series.failed()
        if exchange.received:
            series.received(exchange.received)
        if exchange.sent:
            series.sent(exchange.sent)

    def _learn(self, kind: tuple[str, int, int | None]) -> _Series:
        name, status, code = kind
        self._known[kind] = _Series(
            self._requests.labels(name, status).inc,
            None if code is None else self._errors.labels(name, code).inc,
            self._seconds.labels(name).observe,
            self._received.labels(name).inc,
            self._sent.labels(name).inc,
        )
        return self._known[kind]

    def render(self) -> tuple[bytes, str]:
        """All numbers, and the type of that content."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self._gathered()), CONTENT_TYPE_LATEST

    def _gathered(self) -> CollectorRegistry:
        if not self._is_shared:
            return self._registry
        from prometheus_client import CollectorRegistry
        from prometheus_client.multiprocess import MultiProcessCollector

        everyone = CollectorRegistry()
        MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
        return everyone


def forget_process(process: int) -> None:
    """Take the requests in flight of a process that has ended out of the numbers of the others."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)  # type: ignore[no-untyped-call]
