"""Jobs: what a process of its own does with a session, as ``python -m tests.spark.jobs NAME …``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

from lanceyard.spark import maintenance
from lanceyard.spark.sessions import ExecutorError, session
from tests.spark.sql.jobs import change

LEAN = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
"""For sessions that live for seconds."""


def tables(spark: SparkSession, root: str) -> None:
    """Write, append to, read, search and stream tables of a catalog."""
    named = {"catalog.root": root, "v.arrow.fixed-size-list.size": "2"}
    rows = spark.range(1000).selectExpr("id", "array(float(id), float(-id)) v")
    for part in ("id < 600", "id >= 600"):
        written = rows.where(part).write.format("lance").mode("append")
        written.options(**named).option("table", "numbers").save()
    read = spark.read.format("lance").option("catalog.root", root).option("table", "numbers")
    print("rows", read.load().count())
    print("filtered", *sorted(row.id for row in read.load().where("id in (7, 599, 600)").collect()))
    near = read.option("nearest", '{"column": "v", "q": [41.9, -42.1], "k": 1}').load()
    print("nearest", near.collect()[0].id)
    stream = spark.readStream.format("lance").option("catalog.root", root)
    query = (
        stream.option("table", "numbers")
        .load()
        .where("id % 2 = 0")
        .writeStream.format("lance")
        .options(**named)
        .option("table", "even")
        .option("checkpointLocation", f"{root}-checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    even = spark.read.format("lance").option("catalog.root", root).option("table", "even").load()
    print("streamed", even.count(), even.agg({"id": "sum"}).collect()[0][0])
    maintained(spark, root)
    change(spark, f"{root}-sql")


def maintained(spark: SparkSession, root: str) -> None:
    """Compact a table, and fill a column of it by a function, on executors."""
    told = maintenance.compact(spark, "numbers", catalog=root).tables[0].what.split()
    maintenance.backfill(spark, "numbers", lambda rows: {"twice": rows["id"]}, catalog=root)
    read = spark.read.format("lance").option("catalog.root", root).option("table", "numbers")
    print("maintained", *told[-2:], read.load().where("twice = id").count())


def on_cluster(url: str, other_python: str, root: str) -> None:
    """Be refused by a cluster for its Python; then work with the one of this process."""
    os.environ["PYSPARK_PYTHON"] = other_python
    try:
        session("refused", master=url, config=LEAN)
    except ExecutorError as error:
        print(error)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = session("on_cluster", master=url, config=LEAN)
    tables(spark, root)
    spark.stop()


def by_connect(url: str, root: str) -> None:
    """Work through a Spark Connect server."""
    spark = session("by_connect", remote=url, config={"spark.sql.shuffle.partitions": "3"})
    tables(spark, root)
    print("pushdown", spark.conf.get("spark.sql.python.filterPushdown.enabled"))
    print("partitions", spark.conf.get("spark.sql.shuffle.partitions"))
    spark.stop()


def in_bucket(root: str) -> None:
    """Change a table in a bucket, of which the environment tells how it is reached."""
    spark = session("in_bucket", master="local[2]", config=LEAN)
    change(spark, root)
    spark.stop()


def started() -> None:
    """Start whatever the environment asks for."""
    session().stop()


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job for job in (on_cluster, by_connect, in_bucket, started)
}

if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
