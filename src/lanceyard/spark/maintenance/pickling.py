"""Pickling for executors: functions and classes of notebooks travel with their code."""

from __future__ import annotations

import pickle
from typing import Any


def dump(value: Any) -> bytes:
    """A value as bytes."""
    try:
        from pyspark import cloudpickle
    except ImportError:  # without Spark there are no executors
        return pickle.dumps(value)
    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


def load(data: bytes) -> Any:
    """A value from its bytes, which must come from a process of the same job."""
    return pickle.loads(data)  # noqa: S301
