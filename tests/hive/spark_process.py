"""A Spark that uses a metastore by itself, beside the catalog: statements in, rows out."""

from __future__ import annotations

import json
import sys

from lanceyard.spark.sessions import session
from tests.interop.statements import answer, answering

SETTINGS = {
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def main(uri: str, warehouse: str, catalogs: str) -> None:
    """Use the metastore at an address, with the catalogs that are given as JSON."""
    local = {"spark.hadoop.hive.metastore.uris": uri, "spark.sql.warehouse.dir": warehouse}
    with answering() as answers:
        spark = session(
            master="local[2]", config={**SETTINGS, **local}, catalogs=json.loads(catalogs)
        )
        answer(spark, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
