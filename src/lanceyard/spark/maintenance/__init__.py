"""Maintenance of tables on executors: data goes from storage to storage, past the JVM.

Names are imported when they are first used: executors import this package with every task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.spark.maintenance.operations import (
        backfill,
        compact,
        expire,
        index,
        migrate,
        refresh,
        sweep,
    )
    from lanceyard.spark.maintenance.progress import Progress, silent
    from lanceyard.spark.maintenance.reports import Plan, Report

__all__ = [
    "Plan",
    "Progress",
    "Report",
    "backfill",
    "compact",
    "expire",
    "index",
    "migrate",
    "refresh",
    "silent",
    "sweep",
]

_HOMES = {
    **dict.fromkeys(
        ("backfill", "compact", "expire", "index", "migrate", "refresh", "sweep"), "operations"
    ),
    **dict.fromkeys(("Progress", "silent"), "progress"),
    **dict.fromkeys(("Plan", "Report"), "reports"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lanceyard.spark.maintenance' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"lanceyard.spark.maintenance.{_HOMES[name]}"), name)
