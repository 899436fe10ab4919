"""Pipelines: Spark's declarative ones, with catalogs.

Spark's own ``spark-pipelines`` starts a server that loses most properties it was given, listens on
one fixed port and shows the rest to all users of the machine. So the server is started here: with
the properties in a file, on any free port of loopback, with a token.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import IO, Any, Self

from pyspark import SparkContext
from pyspark.sql import SparkSession

from lanceyard import errors
from lanceyard.namespace import CatalogName, properties_of
from lanceyard.spark.sessions import session
from lanceyard.spark.sql.properties import properties_file, serve

PROGRAM = "spark-pipelines"
SUBMIT = "PYSPARK_SUBMIT_ARGS"
SHELL = "pyspark-shell"
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - a name
MODULES = "PYTHONPATH"
OWN = ("--spec", "--full-refresh", "--refresh", "--name")
"""Options of the program itself that take a value; all others that do are Spark's."""
FLAGS = ("--full-refresh-all", "--help", "-h")
LOOK_SECONDS = 0.5
"""How often to look whether Spark is still there."""
SUBMIT_FLAGS = ("--verbose", "-v", "--supervise", "--load-spark-defaults")


class Pipelines:
    """A Spark in which pipelines run, and whose SQL knows the same catalogs."""

    def __init__(
        self,
        catalogs: Mapping[str, CatalogName],
        *,
        options: Sequence[str] = (),
        config: Mapping[str, str] | None = None,
        modules: str = ".",
    ) -> None:
        """Start it.

        Parameters
        ----------
        catalogs
            Catalogs by the names that pipelines know them by.
        options
            Options of ``spark-submit``, such as ``--master`` or ``--conf``.
        config
            More Spark properties.
        modules
            The folder of modules that transformations import; on a cluster send them along with
            ``--py-files``.

        Raises
        ------
        InvalidInputError
            Spark has been started in this process already, or is to run elsewhere.
        """
        options = _local(options)
        if SparkContext._gateway is not None:  # noqa: SLF001 - a JVM takes properties but once
            raise errors.InvalidInputError(
                "Spark runs in this process, or has run: pipelines need a process of their own"
            )
        self._roots = _roots(catalogs)
        self._token = secrets.token_urlsafe()
        settings = {
            **serve(catalogs),
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            "spark.connect.authenticate.token": self._token,
        }
        self._modules = os.pathsep.join(
            filter(None, [os.path.abspath(modules), os.environ.get(MODULES)])
        )
        with properties_file(settings) as file:
            given = [
                "--properties-file", file, *options,
                *shlex.split(os.environ.get(SUBMIT) or SHELL),
            ]  # fmt: skip
            with _environment({SUBMIT: shlex.join(given), MODULES: self._modules}):
                self.spark = session("pipelines", config=config)
        gateway: Any = SparkContext._gateway  # noqa: SLF001 - nobody else knows the process
        self._java: subprocess.Popen[bytes] = gateway.proc
        self._port = _port(self.spark)

    def run(self, *arguments: str, output: IO[Any] | None = None) -> int:
        """Do what ``spark-pipelines`` does: ``run``, ``--spec``, …; its exit code.

        All that it says goes to a file, or else where this process writes.

        Raises
        ------
        ServiceUnavailableError
            Spark has ended meanwhile.
        """
        command = [sys.executable, "-m", "lanceyard.spark.sql.spec", json.dumps(self._roots)]
        environment = {
            **os.environ,
            MODULES: self._modules,
            TOKEN: self._token,
            "SPARK_REMOTE": f"sc://localhost:{self._port}",
        }
        with subprocess.Popen(  # noqa: S603 - this very Python
            [*command, *arguments],
            env=environment,
            stdin=subprocess.PIPE,  # whose end tells it when this process has died
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
        ) as running:
            try:
                return self._wait(running)
            finally:
                running.kill()

    def _wait(self, running: subprocess.Popen[bytes]) -> int:
        """Wait for the program, which itself would call a Spark that has ended for minutes."""
        while self._runs():
            with suppress(subprocess.TimeoutExpired):
                return running.wait(LOOK_SECONDS)
        raise errors.ServiceUnavailableError(
            "Spark has ended while the pipeline ran: run it again, it goes on from there"
        )

    def _runs(self) -> bool:
        """Whether Spark has not ended."""
        return bool(self._java.poll() is None)

    def stop(self) -> None:
        """End Spark."""
        if self._runs():
            self.spark.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def run(catalogs: Mapping[str, CatalogName], arguments: Sequence[str]) -> int:
    """Carry out the command ``spark-pipelines`` with catalogs; its exit code."""
    options, own = split(arguments)
    folder = "."
    if "--spec" in own[:-1]:
        folder = os.path.dirname(own[own.index("--spec") + 1]) or "."
    with Pipelines(catalogs, options=options, modules=folder) as pipelines:
        return pipelines.run(*own)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What of the arguments is for Spark, and what for pipelines; they may be mixed."""
    options: list[str] = []
    own: list[str] = []
    left = list(arguments)
    while left:
        name = left.pop(0)
        is_own = not name.startswith("-") or name.split("=")[0] in (*OWN, *FLAGS)
        target = own if is_own else options
        target.append(name)
        is_alone = not name.startswith("-") or "=" in name or name in (*FLAGS, *SUBMIT_FLAGS)
        if left and not is_alone:
            target.append(left.pop(0))
    return options, own


def _roots(catalogs: Mapping[str, CatalogName]) -> dict[str, str]:
    """The folders of the catalogs that have one."""
    known = {name: properties_of(catalog) for name, catalog in catalogs.items()}
    return {name: each["root"] for name, each in known.items() if "root" in each}


def _local(options: Sequence[str]) -> list[str]:
    """Options of ``spark-submit``, where a local ``--remote`` is a master."""
    given = list(options)
    if "--remote" not in given:
        return given
    at = given.index("--remote")
    if given[at + 1].startswith("sc:"):
        raise errors.InvalidInputError(
            f"pipelines with catalogs need a Spark of their own, not {given[at + 1]}: name a "
            "cluster by --master, or leave both out"
        )
    return [*given[:at], "--master", *given[at + 1 :]]


def _port(spark: SparkSession) -> int:
    """Where the Connect server of this Spark listens."""
    java = spark._jvm  # noqa: SLF001 - it chose the port itself, and tells nobody else
    service = getattr(java, "org.apache.spark.sql.connect.service.SparkConnectService$")
    return int(getattr(service, "MODULE$").localPort())


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Let variables be set meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
