"""Spark SQL: catalogs of Lance tables as ``yard.namespace.table``.

A little Java (`java/`, compiled at first use by `jar`) is the catalog that Spark asks. It asks in
turn a server in the driver's Python process (`service`), and lets the data source of
`lanceyard.spark.source` read and write rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.spark.sql.catalogs import attach, catalog_conf
    from lanceyard.spark.sql.procedures import register

__all__ = ["attach", "catalog_conf", "register"]

_HOMES = {
    "attach": "lanceyard.spark.sql.catalogs",
    "catalog_conf": "lanceyard.spark.sql.catalogs",
    "register": "lanceyard.spark.sql.procedures",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lanceyard.spark.sql' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
