"""Cleaning: what arrives from outside, as rows that can be trusted."""

from __future__ import annotations

import html

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

unescape = f.udf(html.unescape, StringType())


def clean(raw: DataFrame) -> DataFrame:
    """One row of plain text for each document; those without a text are left out.

    In a stream Spark remembers the ids that it has seen, so that a document which arrives again
    is left out as well.
    """
    cleaned = raw.select(
        "id",
        _plain(f.col("title")).alias("title"),
        _plain(f.col("text")).alias("text"),
        f.lower(f.trim("topic")).alias("topic"),
        f.lower(f.regexp_extract("language", "[A-Za-z]+", 0)).alias("language"),
        f.try_to_timestamp("published").alias("published"),
        "url",
    )
    return cleaned.where("text != ''").dropDuplicates(["id"])


def _plain(text: Column) -> Column:
    """A text without tags and entities, its words separated by single blanks."""
    # Tags go first: "&lt;" stands for a sign and not for the beginning of one.
    untagged = f.regexp_replace(f.coalesce(text, f.lit("")), "<[^>]*>", " ")
    return f.trim(f.regexp_replace(unescape(untagged), r"(?U)\s+", " "))
