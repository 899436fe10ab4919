"""The nearest-neighbour join beside cross joins that compare with every row, in one run.

All sides work in one warm session with two cores, on the same rows. They take turns within each
round, so all see the same load: trust the ratios more than the times.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import lance
import numpy as np
import pyarrow as pa
from catalogs import scratch
from pyspark.sql import DataFrame, SparkSession
from report import grid, number, versions
from spark import running

from lanceyard.spark import search

WANTED: Final = 10
"""The least ratio to the cross join in SQL."""
DIMENSIONS: Final = 64
K: Final = 10
CLUSTERS: Final = 200
WARM_UPS: Final = 1
SETTING: Final = {"nprobes": 20, "refine_factor": 10}
OURS: Final = "nearest_join, by the index"

EXPLANATION: Final = """\
For each of {queries:,} vectors the {k} nearest of {rows:,}, with {dimensions} float32 each, in
{clusters} clusters. Times are the best of {samples} after a warm-up, in ms, from the call to the
collected pairs of ids. A ratio says how many times faster `nearest_join` with an IVF_PQ index is
({partitions} partitions, `nprobes` {nprobes}, `refine_factor` {refine_factor}). The cross joins
read Parquet and are exact: in SQL by Spark's own `vector_l2_distance` and `min_by(…, {k})`, with
the queries broadcast; in NumPy by a product of matrices for each Arrow batch (`mapInArrow`), whose
best are then ranked by Spark. Recall is the share of the exact neighbours that were found."""

Pairs = dict[int, set[int]]


class Bench:
    """The same vectors as Parquet and as Lance, and what is looked for."""

    def __init__(self, spark: SparkSession, directory: Path, rows: int, queries: int) -> None:
        random = np.random.default_rng(0)
        centres = random.normal(size=(CLUSTERS, DIMENSIONS))

        def points(count: int) -> np.ndarray:
            near = centres[random.integers(0, CLUSTERS, count)]
            return (near + random.normal(scale=0.5, size=near.shape)).astype("f4")

        self._spark = spark
        self._lance, self._parquet = str(directory / "t.lance"), str(directory / "t.parquet")
        values = pa.FixedSizeListArray.from_arrays(pa.array(points(rows).ravel()), DIMENSIONS)
        written = lance.write_dataset(pa.table({"id": np.arange(rows), "v": values}), self._lance)
        spark.read.format("lance").load(self._lance).repartition(4).write.parquet(self._parquet)
        self.partitions = min(256, rows // 256)
        written.create_index("v", "IVF_PQ", num_partitions=self.partitions, num_sub_vectors=16)
        self._asked = points(queries)
        listed = [(i, vector.tolist()) for i, vector in enumerate(self._asked)]
        self._queries = spark.createDataFrame(listed, "q long, w array<float>").repartition(2)
        self._queries.cache().count()

    def cases(self) -> dict[str, Callable[[], Pairs]]:
        return {
            "cross join in SQL": self.by_sql,
            "cross join in NumPy": self.by_numpy,
            "nearest_join, exact": lambda: self.by_search(exact=True),
            OURS: lambda: self.by_search(**SETTING),
        }

    def by_sql(self) -> Pairs:
        self._queries.createOrReplaceTempView("queries")
        return pairs(
            self._spark.sql(
                f"""SELECT q, explode(near) AS id FROM (
                    SELECT /*+ BROADCAST(queries) */ q,
                           min_by(id, vector_l2_distance(v, w), {K}) AS near
                    FROM parquet.`{self._parquet}` CROSS JOIN queries GROUP BY q)"""
            )
        )

    def by_numpy(self) -> Pairs:
        asked = self._asked
        table = self._spark.read.parquet(self._parquet)
        best = table.mapInArrow(lambda batches: nearest(batches, asked), "q long, id long, d float")
        best.createOrReplaceTempView("best")
        return pairs(
            self._spark.sql(
                f"SELECT q, explode(near) AS id FROM "
                f"(SELECT q, min_by(id, d, {K}) AS near FROM best GROUP BY q)"
            )
        )

    def by_search(self, **options: int | bool) -> Pairs:
        joined = search.nearest_join(
            self._queries, self._lance, vector="w", k=K, columns=["id"], **options
        )
        return pairs(joined.select("q", "id"))


def nearest(batches: Iterable[pa.RecordBatch], asked: np.ndarray) -> Iterator[pa.RecordBatch]:
    """The nearest rows of each batch for each query."""
    for batch in batches:
        held = batch.column("v").flatten().to_numpy().reshape(batch.num_rows, -1)
        distances = (held * held).sum(axis=1)[None] - 2 * asked @ held.T
        count = min(K, batch.num_rows)
        places = np.argpartition(distances, count - 1, axis=1)[:, :count]
        found = np.take_along_axis(distances, places, axis=1).ravel()
        ids = batch.column("id").to_numpy()[places.ravel()]
        numbers = np.repeat(np.arange(len(asked)), count)
        yield pa.RecordBatch.from_pydict({"q": numbers, "id": ids, "d": found.astype("f4")})


def pairs(found: DataFrame) -> Pairs:
    collected: Pairs = {}
    for row in found.collect():
        collected.setdefault(row.q, set()).add(row.id)
    return collected


def recall(found: Pairs, exact: Pairs) -> float:
    hits = sum(len(ids & found.get(query, set())) for query, ids in exact.items())
    return hits / sum(map(len, exact.values()))


def main() -> None:
    options = arguments()
    rows, queries = (20_000, 100) if options.quick else (200_000, options.queries)
    with scratch() as directory, running() as spark:
        bench = Bench(spark, directory, rows, queries)
        times: dict[str, list[float]] = {label: [] for label in bench.cases()}
        answers: dict[str, Pairs] = {}
        for turn in range(WARM_UPS + options.samples):
            print(f"round {turn + 1} of {WARM_UPS + options.samples}", file=sys.stderr)
            for label, run in bench.cases().items():
                start = time.perf_counter()
                answers[label] = run()
                times[label].append((time.perf_counter() - start) * 1000)
    best = {label: min(taken[WARM_UPS:]) for label, taken in times.items()}
    exact = answers["cross join in NumPy"]
    lines = [
        [label, ratio(label, best), number(best[label]), f"{recall(answers[label], exact):.3f}"]
        for label in best
    ]
    explanation = EXPLANATION.format(
        queries=queries,
        rows=rows,
        k=K,
        dimensions=DIMENSIONS,
        clusters=CLUSTERS,
        samples=options.samples,
        partitions=bench.partitions,
        **SETTING,
    )
    title = "# Nearest-neighbour join in Spark" + (" (quick)" if options.quick else "")
    table = grid(["", "ratio", "ms", f"recall@{K}"], lines)
    text = f"{title}\n\n{versions()}\n\n{explanation}\n\n{table}\n"
    print(text)
    options.output.write_text(text)


def ratio(label: str, best: dict[str, float]) -> str:
    found = best[label] / best[OURS]
    text = f"{number(found)}x"
    if label == "cross join in SQL":
        text += f" {'✓' if found >= WANTED else '✗'} (≥ {WANTED})"
    return text


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--queries", type=int, default=500, help="vectors to look for")
    parser.add_argument("--samples", type=int, default=3, help="of each side")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
