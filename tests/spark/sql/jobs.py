"""A job with a catalog, in a process of its own: ``python -m tests.spark.sql.jobs WHERE ROOT``."""

from __future__ import annotations

import sys

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
LEAN = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def main(where: str, root: str) -> None:
    """Create, change and read a table of a catalog, on a cluster or by Connect."""
    kind = "remote" if where.startswith("sc://") else "master"
    config = LEAN if kind == "master" else {}
    spark = session("catalogs", **{kind: where}, config=config, catalogs={"yard": root})
    for statement in STATEMENTS:
        spark.sql(statement).collect()
    for row in spark.sql(RESULT).collect():
        print(*row, sep="\t")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
