"""Properties: what a Spark needs to be told to have catalogs, beside the services it asks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lanceyard.namespace import CatalogName, properties_of
from lanceyard.spark.sql.catalogs import catalog_conf, prepare
from lanceyard.spark.sql.service import Service


def serve(catalogs: Mapping[str, CatalogName]) -> dict[str, str]:
    """Start a service for each catalog, which ends with this process; the properties of a Spark.

    Raises
    ------
    CompilerError
        There is no Java compiler to make the Java side of catalogs with.
    """
    settings = prepare({})
    for name, catalog in catalogs.items():
        service = Service(properties_of(catalog))
        settings |= catalog_conf(name, service.address, service.token)
    return settings


@contextmanager
def properties_file(settings: Mapping[str, str]) -> Iterator[str]:
    """A file of properties, while it is needed; only this user can read it: it has the token."""
    handle, name = tempfile.mkstemp(prefix="lanceyard-", suffix=".conf")
    try:
        with os.fdopen(handle, "w") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        yield name
    finally:
        os.unlink(name)
