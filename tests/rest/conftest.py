"""The clients of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lanceyard

from .scripted import Awaited, Scripted


@pytest.fixture(params=[lanceyard.RestNamespace, Awaited], ids=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """How to connect to a server, with each of our clients: they follow the same rules."""
    opened = []

    def connected(server: Scripted | None = None, **properties: str) -> Any:
        where = {} if server is None else {"uri": server.address}
        opened.append(request.param(**where | properties))
        return opened[-1]

    yield connected
    for client in opened:
        client.close()
