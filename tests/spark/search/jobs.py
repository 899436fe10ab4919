"""Searches in a process of its own: ``python -m tests.spark.search.jobs URL ROOT``."""

from __future__ import annotations

import sys

from lanceyard.spark import search
from lanceyard.spark.sessions import session


def main(url: str, root: str) -> None:
    """Search a table of a catalog by Connect: in SQL, with LATERAL, and by a join."""
    spark = session("searches", remote=url)
    search.register(spark, catalogs={"yard": root})
    call = "vector_search('yard.shop.points', {}, 2, columns => array('id'))"
    constant = call.format("array(4.1, 0)")
    print("constant", *(row.id for row in spark.sql(f"SELECT * FROM {constant}").collect()))
    lateral = f"FROM VALUES (array(7.9, 0)) AS q(w), LATERAL {call.format('q.w')} f"
    print("lateral", *(row.id for row in spark.sql(f"SELECT f.id {lateral}").collect()))
    queries = spark.sql("SELECT array(5.2, 0) AS w")
    joined = search.nearest_join(queries, "shop.points", catalog=root, vector="w", k=2)
    print("joined", *(row.id for row in joined.collect()))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
