"""Catalogs where Spark is not this process: clusters, Connect, the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.spark.clusters import PATIENCE, REPOSITORY, Cluster, connect_server, environment
from tests.spark.sql.jobs import LEAN, RESULT, STATEMENTS

ROWS = ["x\t97\t4750", "y\t1\t3", "z\t2\t201"]


def run(home: Path, *command: str) -> list[str]:
    """What a Python module prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=REPOSITORY,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_executors_of_a_cluster_need_no_catalog_of_their_own(cluster: Cluster, tmp_path: Path):
    root = str(tmp_path / "yard")
    assert run(tmp_path, "tests.spark.sql.jobs", cluster.url, root) == ROWS


def test_catalogs_are_used_through_connect(tmp_path: Path):
    with connect_server() as url:
        assert run(tmp_path, "tests.spark.sql.jobs", url, str(tmp_path / "yard")) == ROWS


def test_catalogs_are_used_by_the_command_line(tmp_path: Path):
    conf = [text for item in LEAN.items() for text in ("--conf", "=".join(item))]
    script = "; ".join((*STATEMENTS, RESULT))
    served = ("lanceyard.spark.sql", f"yard={tmp_path / 'yard'}", "--")
    printed = run(tmp_path, *served, "spark-sql", "--master", "local[2]", *conf, "-e", script)
    assert printed == ROWS
