"""Tracing: each request as a span of OpenTelemetry, where that is installed and set up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from lanceyard.server.exchange import Exchange
from lanceyard.server.logs import name_object

if TYPE_CHECKING:
    from opentelemetry.trace import Span

NAME = "lanceyard"
FAILED = 500
PAUSE = 1.0
"""Seconds between two looks whether there is a provider."""


class Tracing:
    """Makes spans, if the process has a provider of tracers; it may be set at any time."""

    def __init__(self) -> None:
        """Find out whether OpenTelemetry is installed."""
        self._is_provided = False
        self._look_at = 0.0
        try:
            from opentelemetry import trace
        except ImportError:
            self._trace = None
        else:
            self._trace = trace

    def span(self, exchange: Exchange) -> AbstractContextManager[None] | None:
        """The time in which a request is answered; what is known of it at the end is told.

        Its parent is the one that the request names in ``traceparent``. None where nobody is told.
        """
        if self._trace is None or not self._has_provider(exchange.started):
            return None
        return _recorded(self._trace.get_tracer(NAME), exchange)

    def _has_provider(self, now: float) -> bool:
        """Whether spans go anywhere. Finding out costs something, so it is done now and then."""
        if self._trace is not None and not self._is_provided and now >= self._look_at:
            self._look_at = now + PAUSE
            provider = self._trace.get_tracer_provider()
            self._is_provided = not isinstance(provider, self._trace.ProxyTracerProvider)
        return self._is_provided


@contextmanager
def _recorded(tracer: Any, exchange: Exchange) -> Iterator[None]:
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    span: Span
    with tracer.start_as_current_span(
        exchange.method,
        context=extract(_texts(exchange.headers)),
        kind=SpanKind.SERVER,
        attributes={"http.request.method": exchange.method},
        record_exception=False,  # its text may tell what only the log of the server should
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        finally:
            _tell(span, exchange)


def _tell(span: Span, exchange: Exchange) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("http.response.status_code", exchange.status)
    span.set_attribute("lanceyard.request_id", exchange.request_id)
    if exchange.operation is not None:
        span.update_name(exchange.operation.name)
        span.set_attribute("lanceyard.operation", exchange.operation.name)
    found = name_object(exchange.said.get("id"))
    if found is not None:
        span.set_attribute("lanceyard.object", found)
    if exchange.code is not None:
        span.set_attribute("lanceyard.code", exchange.code)
    if exchange.status >= FAILED:
        span.set_status(StatusCode.ERROR)


def _texts(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The headers that tell of another span."""
    return {
        name: headers[name.encode()].decode("latin-1")
        for name in ("traceparent", "tracestate", "baggage")
        if name.encode() in headers
    }
