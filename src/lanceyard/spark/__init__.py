"""Spark: a data source for Lance tables, sessions and ingest, all in Python.

Names are imported when they are first used: Spark's workers import this package all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.spark import maintenance, search
    from lanceyard.spark.ingestion import ingest
    from lanceyard.spark.publishing import publish
    from lanceyard.spark.sessions import session

__all__ = ["ingest", "maintenance", "publish", "search", "session"]

_HOMES = {
    "ingest": "lanceyard.spark.ingestion",
    "publish": "lanceyard.spark.publishing",
    "session": "lanceyard.spark.sessions",
}


def __getattr__(name: str) -> Any:
    if name == "maintenance":
        import lanceyard.spark.maintenance as found

        return found
    if name == "search":
        import lanceyard.spark.search as package

        return package
    if name not in _HOMES:
        raise AttributeError(f"module 'lanceyard.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
