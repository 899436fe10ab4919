"""A job with a catalog, for sessions of all kinds and for the command line."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lanceyard.spark.sessions import session

MERGE = (
    "MERGE INTO yard.a.t t USING (SELECT id FROM range(98, 102)) u ON t.id = u.id "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, 'z')"
)
STATEMENTS = (
    "CREATE NAMESPACE yard.a",
    "CREATE TABLE yard.a.t AS SELECT /*+ REPARTITION(2) */ id, 'x' s FROM range(100)",
    "UPDATE yard.a.t SET s = 'y' WHERE id = 3 OR length(s) > 3",
    MERGE,
)
RESULT = "SELECT s, count(*) n, sum(id) total FROM yard.a.t GROUP BY s ORDER BY s"
ROWS = ["x\t97\t4750", "y\t1\t3", "z\t2\t201"]
"""What is printed for the result."""


def change(spark: SparkSession, root: str) -> None:
    """Create, change and read a table of a catalog that the session does not have yet."""
    assert session(catalogs={"yard": root}) is spark
    for statement in STATEMENTS:
        spark.sql(statement).collect()
    for row in spark.sql(RESULT).collect():
        print(*row, sep="\t")
