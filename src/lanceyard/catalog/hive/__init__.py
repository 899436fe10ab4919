"""The catalog on a Hive Metastore (document 002): Hive 2.3, and 3 and 4 with their catalogs."""

from __future__ import annotations

import time
from collections.abc import Callable

from lanceyard.catalog.hive.catalog import MetastoreCatalog
from lanceyard.catalog.hive.maintenance import HiveMaintenance
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.settings import HiveSettings

__all__ = ["HiveSettings", "open_catalog"]


def open_catalog(
    settings: HiveSettings,
    *,
    metastore: Metastore | None = None,
    clock: Callable[[], float] = time.time,
) -> MetastoreCatalog:
    """The catalog that settings describe. Nothing is read or written yet."""
    catalog = MetastoreCatalog(settings, metastore or Metastore(settings.metastore))
    catalog.maintenance = HiveMaintenance(catalog, settings.window, clock)
    return catalog
