"""Python workers of Spark: processes that serve one call after the other."""

from __future__ import annotations

import gc
import os
from functools import cache


@cache
def spare_imports() -> None:
    """Keep what was imported out of garbage collection, if this process is such a worker.

    Spark collects all garbage after every call. To look for it in Lance, pandas and all that they
    import takes longer than a small read.
    """
    if "SPARK_REUSE_WORKER" in os.environ:
        gc.freeze()
