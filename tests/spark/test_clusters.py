"""Sessions on real clusters: executors and servers that are processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.spark.clusters import Cluster, connect_server, run_job
from tests.spark.sql.jobs import ROWS


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """A Python that has nothing but what Spark brings along."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    script.chmod(0o755)
    return str(script)


WORK = [
    "rows 1000",
    "filtered 7 599 600",
    "nearest 42",
    f"streamed 500 {sum(range(0, 1000, 2))}",
    "maintained became 1 1000",
    *ROWS,
]


def test_a_cluster_is_refused_until_its_executors_have_the_packages(
    cluster: Cluster, bare_python: str, tmp_path: Path
) -> None:
    root = str(tmp_path / "yard")
    refusal, *results = run_job("on_cluster", cluster.url, bare_python, root).splitlines()
    for name in ("lanceyard", "lance", "pyspark_lance"):
        assert f"cannot import {name} (No module named '{name}')" in refusal
    assert "Install 'lanceyard[spark]==" in refusal
    assert results == WORK


def test_a_server_is_used_through_connect(tmp_path: Path) -> None:
    with connect_server() as url:
        assert run_job("by_connect", url, str(tmp_path / "yard")).splitlines() == [
            *WORK,
            "pushdown true",
            "partitions 3",
        ]
