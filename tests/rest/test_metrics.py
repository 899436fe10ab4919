"""Metrics count what was answered, over all processes of a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import urllib3
from prometheus_client.parser import text_string_to_metric_families

import lanceyard
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.exchange import Exchange
from lanceyard.server.metrics import FOLDER, Metrics

from .serving import server

WORKERS = """
import os
from lanceyard.server.exchange import Exchange
from lanceyard.server.metrics import Metrics

def count(metrics, times):
    for _ in range(times):
        metrics.started()
        metrics.observe(Exchange("r", "GET", "/", {}, "127.0.0.1", status=404))
    metrics.started()

if os.fork() == 0:
    metrics = Metrics()
    count(metrics, 3)
    metrics.share()
    os._exit(0)
os.wait()
metrics = Metrics()
count(metrics, 4)
print(metrics.render()[0].decode())
"""
"""Two processes, the first of which ends in the middle of a request."""


def exchange(operation: str | None = "DescribeTable", **more: object) -> Exchange:
    """An exchange that has ended."""
    found = Exchange("r", "POST", "/v1/table/t/describe", {}, "127.0.0.1", status=200)
    found.operation = BY_NAME[operation] if operation else None
    for name, value in more.items():
        setattr(found, name, value)
    return found


def told(text: str) -> dict[tuple[str, ...], float]:
    """The numbers of a page, by name and labels in the order of their names."""
    return {
        (sample.name.removeprefix("lanceyard_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def numbers(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """The numbers that were counted."""
    content, media = metrics.render()
    assert media.startswith("text/plain")
    return told(content.decode())


def test_requests_are_counted_by_operation_and_status() -> None:
    metrics = Metrics()
    for status in (200, 200, 404):
        metrics.started()
        metrics.observe(exchange(status=status, code=None if status == 200 else 4))
    found = numbers(metrics)
    assert found["requests_total", "DescribeTable", "200"] == 2
    assert found["requests_total", "DescribeTable", "404"] == 1
    assert found["errors_total", "4", "DescribeTable"] == 1


def test_seconds_and_bytes_add_up() -> None:
    metrics = Metrics()
    for seconds in (0.002, 0.2):
        metrics.observe(exchange(seconds=seconds, received=10, sent=100))
    found = numbers(metrics)
    assert found["request_seconds_sum", "DescribeTable"] == 0.202
    assert found["request_seconds_bucket", "0.0025", "DescribeTable"] == 1
    assert found["request_seconds_bucket", "+Inf", "DescribeTable"] == 2
    assert found["received_bytes_total", "DescribeTable"] == 20
    assert found["sent_bytes_total", "DescribeTable"] == 200


def test_requests_in_flight_come_and_go() -> None:
    metrics = Metrics()
    metrics.started()
    metrics.started()
    metrics.observe(exchange())
    assert numbers(metrics)["requests_in_flight",] == 1


def test_made_up_routes_make_no_labels() -> None:
    metrics = Metrics()
    for number in range(100):
        metrics.observe(exchange(None, status=404, code=0, path=f"/{number}"))
    found = numbers(metrics)
    assert found["requests_total", "none", "404"] == 100
    assert len([name for name, *_ in found if name == "requests_total"]) == 1


def test_two_servers_of_a_process_count_for_themselves() -> None:
    one, other = Metrics(), Metrics()
    one.observe(exchange())
    assert ("requests_total", "DescribeTable", "200") not in numbers(other)


def test_the_processes_of_a_server_count_together(tmp_path: Path) -> None:
    environment = {**os.environ, FOLDER: str(tmp_path)}
    command = [sys.executable, "-c", WORKERS]
    page = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found = told(page.stdout)
    assert found["requests_total", "none", "404"] == 7
    assert found["request_seconds_count", "none"] == 7
    assert found["requests_in_flight",] == 1  # the other's is no more


def test_a_server_tells_its_numbers() -> None:
    address = server().serve(lanceyard.MemoryNamespace())
    urllib3.request("POST", f"{address}/v1/namespace/a/create", body=b"{}")
    urllib3.request("POST", f"{address}/v1/namespace/a/create", body=b"{}")
    found = told(urllib3.request("GET", f"{address}/metrics").data.decode())
    assert found["requests_total", "CreateNamespace", "200"] == 1
    assert found["errors_total", "2", "CreateNamespace"] == 1
    assert found["received_bytes_total", "CreateNamespace"] == 4
    assert found["requests_in_flight",] == 1
