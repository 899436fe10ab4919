"""What every run of the tests begins and ends with."""

from __future__ import annotations

import os
import sys

from tests.background import without_stores


def pytest_configure() -> None:
    """Forget how somebody's own object stores are reached: tests have theirs."""
    for name in os.environ.keys() - without_stores().keys():
        del os.environ[name]


def pytest_sessionfinish() -> None:
    """End the object store of this process; workers of xdist end without `atexit`."""
    bucket = sys.modules.get("tests.cloud.bucket")
    if bucket is not None:
        bucket.stop()
