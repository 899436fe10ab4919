"""Spark: a data source for Lance tables, sessions and ingest, all in Python.

Names are imported when they are first used: Spark's workers import this package all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.spark.ingest import ingest
    from lanceyard.spark.session import session

__all__ = ["ingest", "session"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lanceyard.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"lanceyard.spark.{name}"), name)
