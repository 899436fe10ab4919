"""Sessions: Spark with the settings that Lance tables want, wherever it runs."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

import lanceyard
from lanceyard.namespace import CatalogName
from lanceyard.spark.java import check_java

try:
    import pyspark
    from pyspark.errors import PySparkException, PySparkRuntimeError
    from pyspark.sql import SparkSession, is_remote
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing}: Spark comes with pip install 'lanceyard[spark]'", name=missing.name
    ) from missing

SETTINGS = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Wide rows are bounded by arrow.maxBytesPerBatch, so this one may suit narrow ones.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
}
"""For every session; all of them can be set while it runs."""
LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.ui.enabled": "false",
}
"""For a session within this machine, which nobody else should reach."""
OWN_PYTHON_SETTINGS = {"spark.python.daemon.module": "lanceyard.spark.daemon"}
"""For a session whose Python workers run as this process does, so that they find that module."""
NEEDED_BY_EXECUTORS = ("lanceyard", "lance", "pyspark_lance")

_FIXED = ("spark.remote", "spark.master")
_REMEDY = (
    f"Install 'lanceyard[spark]=={lanceyard.__version__}' in the Python of the executors, or name "
    "one that has it by PYSPARK_PYTHON, or send one along by spark.archives"
)
_PROPERTY = re.compile(r"^[ \t]*([^\s#!=:]+)[ \t]*[ \t=:][ \t]*(.*?)\s*$", re.MULTILINE)

Probe = Callable[[Iterable[int]], Iterator[tuple[str, str]]]
"""A task that says who has to complain of what."""


class ExecutorError(RuntimeError):
    """Raised when the executors of a cluster cannot run what Lance tables need."""


def session(
    app_name: str = "lanceyard",
    *,
    master: str | None = None,
    remote: str | None = None,
    config: Mapping[str, str] | None = None,
    catalogs: Mapping[str, CatalogName] | None = None,
) -> SparkSession:
    """The session that runs, or a new one, with the settings that Lance tables want.

    Parameters
    ----------
    app_name
        What the cluster's pages call a new session.
    master
        Where a new session runs: ``local[4]``, ``spark://host:7077``, ``yarn`` … Without it and
        `remote` the environment decides, as for spark-submit; if it says nothing, ``local[*]``.
    remote
        The Spark Connect server to use: ``sc://host:port``; ``local[4]`` starts one right here.
    config
        More Spark properties. They win over those set here. A session that runs takes over what
        can be changed while it runs, and a warning names the rest.
    catalogs
        Catalogs that Spark SQL is to know, by the names it is to know them by: directories,
        addresses of servers, or properties of `lanceyard.connect`. With ``{"yard": "./catalog"}``
        a table is ``yard.namespace.table``.

    Raises
    ------
    JavaError
        A JVM has to be started, and there is no Java for it.
    ExecutorError
        The executors of the cluster lack a package or have another version of Lanceyard.
    """
    given = dict(config or {})
    given |= {"spark.master": master} if master else {}
    given |= {"spark.remote": remote} if remote else {}
    running = _running()
    if running is not None and (is_remote() or "spark.remote" not in given):
        missing = {key: SETTINGS[key] for key in SETTINGS.keys() - running.conf.getAll.keys()}
        return _with_catalogs(_adjust(running, missing | given), catalogs)
    if catalogs:
        from lanceyard.spark.sql.catalogs import prepare

        given = prepare(given)
    return _with_catalogs(_start(app_name, given), catalogs)


def _with_catalogs(
    started: SparkSession, catalogs: Mapping[str, CatalogName] | None
) -> SparkSession:
    if not catalogs:
        return started
    from lanceyard.spark.sql.catalogs import attach

    return attach(started, catalogs)


def _running() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _adjust(running: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    kept = [key for key, value in settings.items() if not _takes(running, key, value)]
    if kept:
        warnings.warn(
            f"a Spark session runs already and keeps its {', '.join(sorted(kept))}: "
            "stop it first to start one with other values",
            stacklevel=3,
        )
    return running


def _takes(running: SparkSession, key: str, value: str) -> bool:
    if running.conf.get(key, None) == value:
        return True
    try:
        if key not in _FIXED:  # which Spark lets one set, to no effect
            running.conf.set(key, value)
    except PySparkException:
        return False
    return key not in _FIXED


def _start(app_name: str, given: Mapping[str, str]) -> SparkSession:
    said = _said_by_environment()
    target = _target(given, said)
    is_local = target == "local" or target.startswith("local[")
    is_elsewhere = target.startswith("sc://")
    ours = {**SETTINGS, **(LOCAL_SETTINGS if is_local else {})}
    if is_local and os.environ.get("PYSPARK_PYTHON", "") in {"", sys.executable}:
        ours |= OWN_PYTHON_SETTINGS
    settings = {key: value for key, value in ours.items() if key not in said} | dict(given)
    if not is_elsewhere and not _has_own_java():
        check_java()
    builder = SparkSession.builder.appName(app_name).config(map={**settings})
    with _starting_here() if is_local else nullcontext():
        started = builder.getOrCreate()
    if not is_local and not is_elsewhere and not is_remote():
        _check_executors(started)
    _register(started)
    return started


def _register(started: SparkSession) -> None:
    """Make the data source known: Spark finds it by itself only with the Python of its own PATH."""
    from lanceyard.spark.source import LanceSource, LanceyardSource

    for source in (LanceSource, LanceyardSource):
        started.dataSource.register(source)


def _target(given: Mapping[str, str], said: Mapping[str, str]) -> str:
    """The server or master of a new session, in the order in which Spark looks for it."""
    environment = {"spark.remote": os.environ.get("SPARK_REMOTE", "")}
    last = {"spark.master": os.environ.get("MASTER") or "local[*]"}
    places = (given, environment, said, last)
    return next(filter(None, (place.get(key) for place in places for key in _FIXED)))


def _said_by_environment() -> dict[str, str]:
    """The properties that a new session gets from spark-submit, its arguments and its files."""
    if _is_submitted():
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()  # noqa: SLF001 - the JVM is there and knows
        return dict(SparkConf().getAll())
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--master")
    parser.add_argument("--conf", "-c", action="append", default=[])
    parser.add_argument("--properties-file", default=_conf_file("spark-defaults.conf"))
    arguments, _ = parser.parse_known_args(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))
    said = _properties(Path(arguments.properties_file))
    said |= dict(item.split("=", 1) for item in arguments.conf if "=" in item)
    return said | ({"spark.master": arguments.master} if arguments.master else {})


def _properties(path: Path) -> dict[str, str]:
    return dict(_PROPERTY.findall(path.read_text())) if path.is_file() else {}


def _is_submitted() -> bool:
    """Whether spark-submit started this process, beside a JVM that waits for it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _has_own_java() -> bool:
    """Whether Spark does not look for Java, or looks where only its scripts know."""
    return _is_submitted() or _conf_file("spark-env.sh").is_file()


def _conf_file(name: str) -> Path:
    home = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    return Path(os.environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf"), name)


@contextmanager
def _starting_here() -> Iterator[None]:
    """Let a local session start, whose Python workers run as this process does.

    Otherwise they would be the ``python3`` of PATH, and not of a virtual environment.
    """
    names = () if os.environ.get("PYSPARK_PYTHON") else ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ |= dict.fromkeys(names, sys.executable)
    try:
        with warnings.catch_warnings():
            # PySpark sets once more what it has just started a server of its own with.
            warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)
            yield
    finally:
        for name in names:
            del os.environ[name]
        os.environ |= before


def _check_executors(started: SparkSession) -> None:
    """Run a small job that imports what executors need; stop the session if one cannot."""
    context = started.sparkContext
    tasks = max(2, context.defaultParallelism)
    probe = _probe(lanceyard.__version__)
    try:
        complaints = context.parallelize(range(tasks), tasks).mapPartitions(probe).collect()
    except Exception as failure:
        started.stop()
        text = f"the executors cannot run Python: {_reason(failure)}. {_REMEDY}"
        raise ExecutorError(text) from failure
    if complaints:
        started.stop()
        text = "; ".join(f"on {place}: {what}" for place, what in sorted(set(complaints)))
        raise ExecutorError(f"the executors cannot use Lance tables: {text}. {_REMEDY}")


def _probe(version: str) -> Probe:
    # A local function is pickled with its code: executors may have no such module to import.
    def probe(_: Iterable[int]) -> Iterator[tuple[str, str]]:
        import importlib
        import platform
        import sys

        found, complaints = version, []
        for name in NEEDED_BY_EXECUTORS:
            try:
                module = importlib.import_module(name)
            except Exception as failure:
                complaints.append(f"cannot import {name} ({failure})")
            else:
                found = module.__version__ if name == "lanceyard" else found
        if found != version:
            complaints.append(f"has lanceyard {found}, not {version}")
        if complaints:
            yield f"{platform.node()} ({sys.executable})", ", ".join(complaints)

    return probe


def _reason(failure: Exception) -> str:
    """The line in which Spark tells what went wrong, among all that it tells."""
    lines = str(failure).splitlines() or [repr(failure)]
    told = (line for line in lines if "most recent failure: " in line)
    return next(told, lines[0]).split("most recent failure: ")[-1]
