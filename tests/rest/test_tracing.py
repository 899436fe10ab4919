"""Requests are spans of OpenTelemetry, where a provider is set up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import lanceyard
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.exchange import Exchange
from lanceyard.server.tracing import Tracing

from .serving import server

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Where the spans of this process go; OpenTelemetry lets it be set once, so it is put back."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def exchange(**headers: str) -> Exchange:
    """A request that has come."""
    given = {name.encode(): value.encode() for name, value in headers.items()}
    return Exchange("r1", "POST", "/v1/table/a$t/describe", given, "127.0.0.1")


def answer(exchange: Exchange, **known: Any) -> None:
    """Answer a request, and learn of it what is known at the end."""
    with Tracing().span(exchange):
        exchange.operation = BY_NAME["DescribeTable"]
        exchange.said, exchange.status = {"id": ["a", "t"]}, 200
        for name, value in known.items():
            setattr(exchange, name, value)


def wait_for(spans: InMemorySpanExporter) -> None:
    """A span ends a little after its answer came."""
    for _ in range(500):
        if spans.get_finished_spans():
            return
        time.sleep(0.01)


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    """The span that was recorded."""
    (found,) = spans.get_finished_spans()
    return found


def test_a_request_is_a_span_named_by_its_operation(spans: InMemorySpanExporter) -> None:
    answer(exchange())
    span = only(spans)
    assert (span.name, span.kind, span.status.is_unset) == (
        "DescribeTable",
        trace.SpanKind.SERVER,
        True,
    )
    assert span.attributes == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "lanceyard.operation": "DescribeTable",
        "lanceyard.object": "a$t",
        "lanceyard.request_id": "r1",
    }


def test_its_parent_is_the_span_that_the_client_names(spans: InMemorySpanExporter) -> None:
    answer(exchange(traceparent=PARENT))
    parent = only(spans).parent
    assert parent is not None
    assert trace.format_span_id(parent.span_id) == "b7ad6b7169203331"


@pytest.mark.parametrize("traceparent", ["", "x", "00-0-0-0", "\x80"])
def test_a_parent_that_is_none_is_passed_by(spans: InMemorySpanExporter, traceparent: str) -> None:
    answer(exchange(traceparent=traceparent))
    assert only(spans).parent is None


@pytest.mark.parametrize(
    ("status", "code", "is_error"), [(404, 4, False), (500, 18, True), (503, 17, True)]
)
def test_what_the_server_failed_at_is_an_error(
    spans: InMemorySpanExporter, status: int, code: int, is_error: bool
) -> None:
    answer(exchange(), status=status, code=code)
    span = only(spans)
    assert span.attributes is not None
    assert span.attributes["lanceyard.code"] == code
    assert (span.status.status_code is trace.StatusCode.ERROR) == is_error


def test_a_failure_is_told_without_its_text(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="secret"), Tracing().span(exchange()):
        raise ValueError("secret")
    assert "secret" not in only(spans).to_json()


def test_without_a_provider_there_are_no_spans() -> None:
    assert Tracing().span(exchange()) is None


def test_a_server_records_what_it_answers(spans: InMemorySpanExporter) -> None:
    address = server().serve(lanceyard.MemoryNamespace())
    url = f"{address}/v1/namespace/a/describe"
    urllib3.request("POST", url, headers={"traceparent": PARENT})
    wait_for(spans)
    span = only(spans)
    assert span.name == "DescribeNamespace"
    assert span.attributes is not None
    assert span.attributes["lanceyard.code"] == 1
    assert span.parent is not None
