"""Search: the nearest vectors and the best texts of Lance tables, in SQL and in joins.

`functions` are table functions of SQL, `joins` finds neighbours for all rows of a DataFrame. Both
need no jar. `catalogs` knows which table a name means, and `queries` what is asked of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanceyard.spark.search.functions import register
    from lanceyard.spark.search.joins import nearest_join

__all__ = ["nearest_join", "register"]

_HOMES = {
    "nearest_join": "lanceyard.spark.search.joins",
    "register": "lanceyard.spark.search.functions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lanceyard.spark.search' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
