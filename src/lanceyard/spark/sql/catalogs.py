"""Catalogs: which ones a Spark session has, and what it takes to have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession, is_remote

from lanceyard import errors
from lanceyard.namespace import CatalogName, properties_of
from lanceyard.spark.search import register as register_searches
from lanceyard.spark.sql.jar import jar

CLASS = "io.lanceyard.spark.YardCatalog"
PROPERTY = "spark.sql.catalog"
JARS = "spark.jars"


def catalog_conf(name: str, address: str, token: str) -> dict[str, str]:
    """The Spark properties of a catalog whose service runs at an address."""
    if not name.isidentifier():
        raise errors.InvalidInputError(f"a catalog cannot have the name {name!r} in Spark")
    mine = f"{PROPERTY}.{name}"
    return {mine: CLASS, f"{mine}.uri": address, f"{mine}.token": token}


def prepare(config: Mapping[str, str]) -> dict[str, str]:
    """The Spark properties of a new session that is to have catalogs: it needs the jar."""
    known = [path for path in (config.get(JARS) or "").split(",") if path]
    return {**config, JARS: ",".join([*known, str(jar())])}


def attach(spark: SparkSession, catalogs: Mapping[str, CatalogName]) -> SparkSession:
    """Give a session that runs catalogs, each with a service that ends with the session.

    A catalog that the session has already stays what it is, if it is the same.

    Raises
    ------
    CompilerError
        There is no Java compiler to make the Java side of catalogs with.
    InvalidInputError
        The session has another catalog of this name.
    """
    _load(spark)
    for name, catalog in catalogs.items():
        properties = properties_of(catalog)
        served = _SERVED.get((id(spark), name))
        if served is None or not served.is_for(spark):
            served = _Served(spark, properties)
            _SERVED[id(spark), name] = served
        elif served.properties != properties:
            raise errors.InvalidInputError(
                f"the session has another catalog {name!r} already: choose another name"
            )
        for key, value in catalog_conf(name, *served.whereabouts).items():
            if spark.conf.get(key, None) != value:
                spark.conf.set(key, value)
    register_searches(spark, catalogs=_catalogs_of(spark))
    return spark


def detach(spark: SparkSession, name: str) -> None:
    """End the service of a catalog; its tables can no longer be named."""
    served = _SERVED.pop((id(spark), name), None)
    if served is not None:
        served.stop()


def _catalogs_of(spark: SparkSession) -> dict[str, CatalogName]:
    """All catalogs that a session has, by name."""
    mine = {key: each for key, each in _SERVED.items() if key[0] == id(spark)}
    return {name: each.properties for (_, name), each in mine.items() if each.is_for(spark)}


class _Served:
    """A catalog of a session, and the service that answers for it."""

    def __init__(self, spark: SparkSession, properties: dict[str, str]) -> None:
        from lanceyard.spark.sql.service import Service

        self._spark = spark
        self.properties = properties
        self._service = Service(properties, spark=spark, is_over=_end(spark))

    def is_for(self, spark: SparkSession) -> bool:
        """Whether it is for this very session, which has not ended."""
        return self._spark is spark and self._service.runs

    def stop(self) -> None:
        """End the service."""
        self._service.stop()

    @property
    def whereabouts(self) -> tuple[str, str]:
        """The address and the token of the service."""
        return self._service.address, self._service.token


_SERVED: dict[tuple[int, str], _Served] = {}


def _end(spark: SparkSession) -> Callable[[], bool]:
    """Whether a session was stopped."""
    if is_remote():
        client = spark.client
        return lambda: bool(client.is_closed)
    context = spark.sparkContext
    return lambda: context._jsc is None  # noqa: SLF001


def _load(spark: SparkSession) -> None:
    """Make the Java side known to a session that was started without it."""
    path = jar()
    if is_remote():
        spark.addArtifacts(str(path))
        return
    listed = spark.sql("LIST JARS").collect()
    if any(path.name in row[0] for row in listed):
        return
    spark.sql(f"ADD JAR '{path}'")
