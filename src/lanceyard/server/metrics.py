"""Metrics: what the server does, in numbers, as Prometheus reads them."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lanceyard.server.exchange import Exchange

if TYPE_CHECKING:
    from prometheus_client import Metric

FOLDER = "LANCEYARD_METRICS"
"""The variable that names the folder in which the processes of a server tell their numbers."""
NONE = "none"
"""What stands for the operation of a request that asks for none."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Seconds."""


class Kind(NamedTuple):
    """What requests are told apart by."""

    operation: str
    status: int
    code: int | None


class Tally:
    """What requests of one kind came to."""

    __slots__ = ("buckets", "received", "seconds", "sent")

    def __init__(self) -> None:
        """None have come."""
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        self.received = 0
        self.sent = 0

    def add(self, other: Tally) -> None:
        """Count what another counted."""
        self.buckets = [a + b for a, b in zip(self.buckets, other.buckets, strict=True)]
        self.seconds += other.seconds
        self.received += other.received
        self.sent += other.sent


class Metrics:
    """Counts requests, errors, seconds and bytes for each operation.

    Where the environment names a folder, its numbers are those of all processes that have the same
    folder, as of when each last called `share`. Those of processes that have ended still count.
    """

    def __init__(self) -> None:
        """Count from zero."""
        folder = os.environ.get(FOLDER)
        self._file = Path(folder, f"{os.getpid()}-{os.urandom(4).hex()}") if folder else None
        self._tallies: dict[Kind, Tally] = {}
        self._in_flight = 0

    @property
    def is_shared(self) -> bool:
        """Whether other processes tell these numbers too."""
        return self._file is not None

    def started(self) -> None:
        """Count a request that has come; `observe` tells its end."""
        self._in_flight += 1

    def observe(self, exchange: Exchange) -> None:
        """Count a request that is answered."""
        self._in_flight -= 1
        operation = exchange.operation
        kind = Kind(operation.name if operation else NONE, exchange.status, exchange.code)
        tally = self._tallies.get(kind)
        if tally is None:
            tally = self._tallies[kind] = Tally()
        tally.buckets[bisect_left(BUCKETS, exchange.seconds)] += 1
        tally.seconds += exchange.seconds
        tally.received += exchange.received
        tally.sent += exchange.sent

    def share(self) -> None:
        """Tell the other processes what was counted."""
        if self._file is None:
            return
        told = [
            [*kind, [each.buckets, each.seconds, each.received, each.sent]]
            for kind, each in self._tallies.items()
        ]
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps({"in_flight": self._in_flight, "tallies": told}))
        temporary.replace(self._file)

    def render(self) -> tuple[bytes, str]:
        """All numbers, and the type of that content."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry), CONTENT_TYPE_LATEST

    def collect(self) -> Iterator[Metric]:
        """The numbers, as the library of Prometheus asks for them."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        self.share()
        tallies, in_flight = self._everything()

        def counter(
            name: str, about: str, label: str, of: Callable[[Kind], str | None], count: Any
        ) -> Metric:
            labels = ["operation", label] if label else ["operation"]
            family = CounterMetricFamily(f"lanceyard_{name}", about, labels=labels)
            for values, tally in _grouped(tallies, of).items():
                family.add_metric(values, count(tally))
            return family

        yield counter("requests", "Requests answered", "status", lambda k: str(k.status), _count)
        yield counter("errors", "Answers with an error", "code", _code, _count)
        yield counter("received_bytes", "Bytes of requests", "", _all, lambda t: t.received)
        yield counter("sent_bytes", "Bytes of answers", "", _all, lambda t: t.sent)
        seconds = HistogramMetricFamily(
            "lanceyard_request_seconds",
            "Seconds from a request to the end of its answer",
            labels=["operation"],
        )
        for values, tally in _grouped(tallies, _all).items():
            seconds.add_metric(values, _cumulated(tally), tally.seconds)
        yield seconds
        yield GaugeMetricFamily(
            "lanceyard_requests_in_flight", "Requests being answered", value=in_flight
        )

    def _everything(self) -> tuple[dict[Kind, Tally], int]:
        """What all processes counted."""
        if self._file is None:
            return self._tallies, self._in_flight
        total: dict[Kind, Tally] = {}
        in_flight = 0
        for file in self._file.parent.iterdir():
            if file.suffix:
                continue
            told = json.loads(file.read_text())
            in_flight += told["in_flight"] if _is_alive(file.name) else 0
            for operation, status, code, numbers in told["tallies"]:
                tally = Tally()
                tally.buckets, tally.seconds, tally.received, tally.sent = numbers
                total.setdefault(Kind(operation, status, code), Tally()).add(tally)
        return total, in_flight


def _grouped(
    tallies: dict[Kind, Tally], of: Callable[[Kind], str | None]
) -> dict[tuple[str, ...], Tally]:
    """Tallies by operation and one more label; without those that have no such label."""
    found: dict[tuple[str, ...], Tally] = {}
    for kind, tally in tallies.items():
        label = of(kind)
        if label is not None:
            values = (kind.operation, label) if label else (kind.operation,)
            found.setdefault(values, Tally()).add(tally)
    return found


def _code(kind: Kind) -> str | None:
    return None if kind.code is None else str(kind.code)


def _all(_: Kind) -> str:
    return ""


def _count(tally: Tally) -> int:
    return sum(tally.buckets)


def _cumulated(tally: Tally) -> list[tuple[str, float]]:
    bounds: Iterable[str] = (*map(str, map(float, BUCKETS)), "+Inf")
    found: list[tuple[str, float]] = []
    count = 0
    for bound, more in zip(bounds, tally.buckets, strict=True):
        count += more
        found.append((bound, count))
    return found


def _is_alive(name: str) -> bool:
    return Path("/proc", name.split("-", 1)[0]).exists()
