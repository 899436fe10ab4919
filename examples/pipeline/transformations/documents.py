"""Documents: from files to rows with embeddings, each step a stream into a table of its own."""

from __future__ import annotations

import os

from cleaning import clean
from embedding import DIMENSIONS, embed_document
from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, FloatType, StringType, StructField, StructType

COLUMNS = ("id", "title", "text", "topic", "language", "published", "url")

spark = SparkSession.active()
document = StructType([StructField(column, StringType()) for column in COLUMNS])
vector = f.udf(embed_document, ArrayType(FloatType()))
folder = spark.conf.get("spark.library.documents", os.path.abspath("data/documents"))


@pipelines.table
def raw() -> DataFrame:
    """The documents as they came, and the file that each came in; every file is read once."""
    files = spark.readStream.schema(document).option("mode", "FAILFAST").json(folder)
    return files.selectExpr("*", "_metadata.file_name AS file")


@pipelines.table
def cleaned() -> DataFrame:
    """One row of plain text for each document."""
    return clean(spark.readStream.table("raw"))


@pipelines.table(table_properties={"embedding.arrow.fixed-size-list.size": str(DIMENSIONS)})
def embedded() -> DataFrame:
    """The same rows, each with a vector."""
    cleaned = spark.readStream.table("cleaned")
    return cleaned.select("*", vector("title", "text").alias("embedding"))
