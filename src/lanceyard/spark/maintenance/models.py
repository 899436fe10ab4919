"""Models of vectors, which all segments of an index share: IVF centroids and PQ codebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lanceyard.spark.maintenance.jobs import Task
from lanceyard.spark.reference import Place, open_table

if TYPE_CHECKING:
    from lanceyard.spark.maintenance.segments import Definition

SAMPLES = 256
"""Vectors for each centroid that is trained."""
PQ_BITS = 8


class Train(Task):
    """The training of a model on a sample of all vectors."""

    def __init__(self, place: Place, version: int, definition: Definition) -> None:
        """Train on a version for an index."""
        self._place = place._replace(managed=None)
        self._version = version
        self._definition = definition

    def run(self, shared: Any) -> dict[str, Any]:
        from lance.indices import IndicesBuilder

        options = self._definition.options
        dataset = open_table(self._place, self._version)
        builder = IndicesBuilder(dataset, self._definition.column)
        rows = int(dataset.count_rows())
        partitions = self._partitions(rows)
        ivf = builder.train_ivf(
            partitions,
            distance_type=str(options.get("metric", "l2")).lower(),
            sample_rate=_rate(options.get("sample_rate"), rows, partitions),
            max_iters=int(options.get("max_iters", 50)),
        )
        model = {"num_partitions": partitions, "ivf_centroids": ivf.centroids}
        if self._definition.kind.endswith("_PQ"):
            bits = int(options.get("num_bits", PQ_BITS))
            pq = builder.train_pq(
                ivf,
                options["num_sub_vectors"],
                sample_rate=_rate(options.get("sample_rate"), rows, 2**bits),
                num_bits=bits,
            )
            model["pq_codebook"] = pq.codebook
        return model

    def _partitions(self, rows: int) -> int:
        """As many as were asked for; or else so that each is trained and searched well."""
        options = self._definition.options
        if "num_partitions" in options:
            return int(options["num_partitions"])
        if "target_partition_size" in options:
            return max(1, rows // int(options["target_partition_size"]))
        return max(1, min(math.isqrt(rows), rows // SAMPLES))


def _rate(asked: int | None, rows: int, centroids: int) -> int:
    """Samples per centroid, as far as there are so many rows."""
    return max(1, min(asked or SAMPLES, rows // centroids))
