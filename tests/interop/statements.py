"""A Spark session with Java's lance-spark, for another Python: statements in, rows out, as JSON.

It runs with the Spark that lance-spark is made for, and imports nothing of this project.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import IO

from pyspark.sql import SparkSession

PACKAGE = "org.lance:lance-spark-3.5_2.12:0.4.0"
CLASS = "org.lance.spark.LanceNamespaceSparkCatalog"
SETTINGS = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "org.lance.spark.extensions.LanceSparkSessionExtensions",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "3g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main() -> None:
    """Answer statements in a session with lance-spark."""
    with answering() as answers:
        answer(SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate(), answers)


def answering() -> IO[str]:
    """Where answers go; all that is written to the output by others, as Java does, does not."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def answer(spark: SparkSession, answers: IO[str]) -> None:
    """Answer statements, one on each line, until there are none."""
    for line in sys.stdin:
        said = json.loads(line)
        for key, value in said.get("settings", {}).items():
            spark.conf.set(key, value)
        begun = time.perf_counter()
        try:
            rows = [list(row) for row in spark.sql(said["statement"]).collect()]
            found = {"rows": rows, "seconds": time.perf_counter() - begun}
        except Exception as failure:
            found = {"failure": str(failure)}
        answers.write(json.dumps(found, default=str) + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    main()
