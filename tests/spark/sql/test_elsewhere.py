"""Catalogs where Spark has no Python: the command line.

Those of clusters and of Connect are in `tests.spark.test_clusters`, which has both.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.spark.clusters import PATIENCE, REPOSITORY, environment
from tests.spark.jobs import LEAN
from tests.spark.sql.jobs import RESULT, ROWS, STATEMENTS


def test_catalogs_are_used_by_the_command_line(tmp_path: Path):
    conf = [text for item in LEAN.items() for text in ("--conf", "=".join(item))]
    # Without a metastore, which takes longer to start than all the rest.
    conf += ["--conf", "spark.sql.catalogImplementation=in-memory"]
    script = "; ".join((*STATEMENTS, RESULT))
    served = ("lanceyard.spark.sql", f"yard={tmp_path / 'yard'}", "--")
    done = subprocess.run(
        [sys.executable, "-m", *served, "spark-sql", "--master", "local[2]", *conf, "-e", script],
        cwd=tmp_path,
        env=environment(tmp_path) | {"PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ROWS
