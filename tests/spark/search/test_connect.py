"""Searches through Spark Connect, whose server is another process than the client."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa

import lanceyard
from tests.spark.clusters import PATIENCE, REPOSITORY, connect_server, environment
from tests.spark.search.conftest import fixed


def test_searches_work_through_connect(tmp_path):
    root = str(tmp_path / "yard")
    yard = lanceyard.open(root)
    yard.create_namespace("shop")
    points = np.array([[i, 0] for i in range(10)], dtype="f4")
    yard.create_table("shop.points", pa.table({"id": range(10), "v": fixed(points)}))
    with connect_server() as url:
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.search.jobs", url, root],
            cwd=REPOSITORY,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["constant 4 5", "lateral 8 7", "joined 5 6"]
