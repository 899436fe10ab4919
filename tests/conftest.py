"""What every run of the tests ends with."""

from __future__ import annotations

import sys


def pytest_sessionfinish() -> None:
    """End the object store of this process; workers of xdist end without `atexit`."""
    bucket = sys.modules.get("tests.cloud.bucket")
    if bucket is not None:
        bucket.stop()
