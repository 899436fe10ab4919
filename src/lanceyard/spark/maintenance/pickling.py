"""Pickling for executors: functions and classes of notebooks travel with their code."""

from __future__ import annotations

import pickle
from typing import Any

from pyspark import cloudpickle


def dump(value: Any) -> bytes:
    """A value as bytes."""
    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


def load(data: bytes) -> Any:
    """A value from its bytes, which must come from a process of the same job."""
    return pickle.loads(data)  # noqa: S301
