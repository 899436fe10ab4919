"""Numbers: one of every kind that Python declares."""

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


def numbers() -> DataFrame:
    """The numbers of the source, one fragment after the other."""
    return spark.readStream.option("max_fragments_per_trigger", "1").table("yard.lab.source")


pipelines.create_streaming_table("both")


@pipelines.append_flow(target="both")
def positive() -> DataFrame:
    """The numbers."""
    return numbers()


pipelines.create_sink("sunk", "lance", {"path": spark.conf.get("spark.lab.sink")})


@pipelines.append_flow(target="sunk")
def sinking() -> DataFrame:
    """The numbers, for somewhere else."""
    return numbers()


@pipelines.materialized_view
def even() -> DataFrame:
    """Those that are even, of both signs."""
    return spark.read.table("both").where("n % 2 = 0")
