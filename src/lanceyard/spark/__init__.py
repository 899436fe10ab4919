"""Spark: a data source for Lance tables, sessions and ingest, all in Python.

Names are imported when they are first used: Spark's workers import this package all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.spark.ingestion import ingest
    from lanceyard.spark.sessions import session

__all__ = ["ingest", "session"]

_HOMES = {"ingest": "lanceyard.spark.ingestion", "session": "lanceyard.spark.sessions"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lanceyard.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
