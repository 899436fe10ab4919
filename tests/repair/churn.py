"""A writer that knows nothing of manifests, to run beside a migration in a process of its own."""

from __future__ import annotations

from typing import Any

import lanceyard
from tests.crash.wreck import stream


def churn(root: str, number: int, rounds: int) -> None:
    """Create and drop tables as a program does that knows only directories."""
    instance = lanceyard.connect(
        "dir", {"root": root, "durability": "os", "manifest_enabled": "false"}
    )
    request: Any = {"id": [f"t{number}"]}
    for _ in range(rounds):
        instance.create_table(request, stream([number]))
        instance.drop_table(request)
    instance.create_table(request, stream([number]))
