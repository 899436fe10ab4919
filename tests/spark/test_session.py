"""Sessions: their settings, where they run, and what becomes of one that runs already."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from lanceyard.spark.sessions import _said_by_environment, _target, session
from tests.spark.clusters import run_job

PARTITIONS = "spark.sql.shuffle.partitions"
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def again(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, whose settings are put back afterwards."""
    before = spark.conf.getAll
    yield spark
    for key in spark.conf.getAll.keys() - before.keys():
        spark.conf.unset(key)
    for key in (PARTITIONS, BATCH, PUSHDOWN):
        spark.conf.set(key, before[key])


def test_a_session_pushes_filters_and_uses_arrow(spark: SparkSession) -> None:
    assert spark.conf.get(PUSHDOWN) == "true"
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"


def test_a_local_session_is_reachable_from_this_machine_only(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_what_the_user_configures_wins(spark: SparkSession) -> None:
    assert spark.conf.get(BATCH) == "1000"


def test_a_local_session_runs_its_workers_with_this_python(spark: SparkSession) -> None:
    workers = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable)
    assert workers.collect() == [sys.executable]
    assert "PYSPARK_PYTHON" not in os.environ


def test_a_session_that_runs_is_used_again(again: SparkSession) -> None:
    assert session().sparkContext is again.sparkContext
    assert again.conf.get(BATCH) == "1000"


def test_a_session_that_runs_gets_the_settings_it_lacks(again: SparkSession) -> None:
    again.conf.unset(PUSHDOWN)
    session()
    assert again.conf.get(PUSHDOWN) == "true"


def test_a_session_that_runs_takes_over_what_can_be_changed(again: SparkSession) -> None:
    session(config={PARTITIONS: "7", "spark.sql.catalog.lab": "org.example.Lab"})
    assert again.conf.get(PARTITIONS) == "7"
    assert again.conf.get("spark.sql.catalog.lab") == "org.example.Lab"


def test_a_session_that_runs_says_what_it_cannot_change(again: SparkSession) -> None:
    config = {"spark.driver.memory": "9g", "spark.sql.warehouse.dir": "/elsewhere"}
    with pytest.warns(match=r"keeps its spark\.driver\.memory, spark\.sql\.warehouse\.dir: stop"):
        session(config=config)
    with pytest.warns(match=r"keeps its spark\.master"):
        session(master="spark://elsewhere:7077")
    assert again.conf.get("spark.master") == "local[2]"


def test_asking_again_for_the_same_is_no_reason_to_warn(again: SparkSession) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session(master="local[2]", config={"spark.driver.memory": "1g"})


def test_a_session_that_runs_here_does_not_become_one_elsewhere(again: SparkSession) -> None:
    with pytest.raises(PySparkRuntimeError, match="already running"):
        session(remote="sc://127.0.0.1:1")


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing about Spark."""
    for name in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "MASTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return monkeypatch


def where(**given: str) -> str:
    return _target({f"spark.{key}": value for key, value in given.items()}, _said_by_environment())


def test_a_session_is_local_if_nothing_is_said(silent: pytest.MonkeyPatch) -> None:
    assert where() == "local[*]"


def test_a_session_runs_where_the_environment_says(silent: pytest.MonkeyPatch) -> None:
    silent.setenv("MASTER", "spark://variable:7077")
    assert where() == "spark://variable:7077"
    defaults = Path(os.environ["SPARK_CONF_DIR"], "spark-defaults.conf")
    defaults.write_text("# spark.master local\n spark.master\tspark://defaults:7077 \nspark.x=1\n")
    assert where() == "spark://defaults:7077"
    silent.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.master=spark://conf:7077 pyspark-shell")
    assert where() == "spark://conf:7077"
    silent.setenv("PYSPARK_SUBMIT_ARGS", "--name 'my app' --master yarn pyspark-shell")
    assert where() == "yarn"
    silent.setenv("SPARK_REMOTE", "sc://variable")
    assert where() == "sc://variable"


def test_a_session_runs_where_the_caller_says_first_of_all(silent: pytest.MonkeyPatch) -> None:
    silent.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    assert where(master="local[3]") == "local[3]"
    assert where(remote="sc://host") == "sc://host"


def test_properties_of_the_environment_are_seen(silent: pytest.MonkeyPatch) -> None:
    silent.setenv("PYSPARK_SUBMIT_ARGS", "-c spark.ui.enabled=true --conf spark.a='b=c' x.py")
    assert _said_by_environment() == {"spark.ui.enabled": "true", "spark.a": "b=c"}


def test_without_java_a_session_says_so(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"JavaError: Spark needs Java, but .* on PATH: inst"):
        run_job("started", PATH=str(tmp_path), JAVA_HOME="")


def test_without_pyspark_the_module_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['pyspark'] = None; import lanceyard.spark.sessions"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'lanceyard[spark]'" in done.stderr


def test_the_package_exports_functions_whatever_was_imported_before():
    code = (
        "import lanceyard.spark.sessions, lanceyard.spark.ingestion\n"
        "from lanceyard.spark import ingest, session\n"
        "assert callable(ingest) and callable(session)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
