"""The process that Spark forks Python workers from, after it has imported what they will need.

Every worker would else import Lance and what comes with it for a second or two before it can begin.
Nothing of it is used here: a fork of a process in which Lance has run would hang.
"""

from __future__ import annotations

import gc
import warnings

import lance  # noqa: F401
from pyspark.daemon import manager

import lanceyard.namespace
import lanceyard.spark.source  # noqa: F401

if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    gc.freeze()
    manager()
