"""Plans of scans: what Spark else starts two Python processes for, one after the other."""

from __future__ import annotations

import base64
import io
import json
import platform
from collections.abc import Mapping
from typing import Any

import pyspark
from pyspark.sql.types import StructType
from pyspark.sql.worker.plan_data_source_read import write_read_func_and_partitions

from lanceyard.spark.options import Options
from lanceyard.spark.reader import LanceReader
from lanceyard.spark.source import LanceyardSource

ROWS_PER_BATCH = 10_000
"""Spark wants to know it of every source; ours makes batches itself."""


def plan(request: Mapping[str, Any]) -> dict[str, Any]:
    """The function and the tasks of a scan, as Spark's own planner would send them.

    There is no `plan` in the answer where the Python or the PySpark that is to run the function is
    another version than this one, which might not understand it.
    """
    if request["python"] != _python() or request["spark"] != pyspark.__version__:
        return {}
    schema = StructType.fromJson(json.loads(request["schema"]))
    planned = io.BytesIO()
    write_read_func_and_partitions(
        planned,
        reader=LanceReader(schema, Options.parse(request["options"])),
        data_source=LanceyardSource({}),
        schema=schema,
        max_arrow_batch_size=ROWS_PER_BATCH,
        binary_as_bytes=True,
    )
    return {"plan": base64.b64encode(planned.getvalue()).decode()}


def _python() -> str:
    """The version of Python, as Spark compares it."""
    return ".".join(platform.python_version_tuple()[:2])
