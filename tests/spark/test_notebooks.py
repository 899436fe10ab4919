"""The notebook on documents runs, with a Spark of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.notebooks import run
from tests.spark.jobs import LEAN

SHORT = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For a JVM that does not live long enough for its code to be worth optimising."""


def test_the_notebook_on_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text("".join(f"{key} {value}\n" for key, value in {**LEAN, **SHORT}.items()))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    run("documents", tmp_path)
