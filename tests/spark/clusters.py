"""Clusters: the real parts of Spark as processes of their own, all on loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from tests.background import free_ports

SPARK_HOME = Path(pyspark.__file__).parent
REPOSITORY = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
PATIENCE = 180.0
MARK = "LANCEYARD_TEST_CLUSTER"
"""Inherited by all that a cluster starts: executors and their Python leave its process groups."""
# None of these processes lives long enough for its code to be worth optimising.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


@dataclass
class Parts:
    """Processes that are started together and end together."""

    home: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str) -> None:
        """Start one of Spark's programs."""
        with (self.home / f"{len(self.started)}.log").open("wb") as log:
            process = subprocess.Popen(
                [SPARK_HOME / "bin" / command[0], *command[1:]],
                env=environment(self.home) | {MARK: self.mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(process)

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Wait for what the processes should do, as long as they all run."""
        deadline = time.monotonic() + PATIENCE
        while not is_ready():
            if time.monotonic() > deadline or any(part.poll() is not None for part in self.started):
                raise RuntimeError(f"Spark did not start:\n{self.logs()}")
            time.sleep(0.05)

    def logs(self) -> str:
        """The end of what the processes wrote."""
        return "\n".join(path.read_text()[-4000:] for path in sorted(self.home.glob("*.log")))

    def pids(self, of: str = "") -> list[int]:
        """All processes of these parts whose command line contains `of`."""
        mark = f"{MARK}={self.mark}"
        return [pid for pid in _pids() if mark in _of(pid, "environ") and of in _of(pid, "cmdline")]

    def kill(self) -> None:
        """End all processes, and whatever they started."""
        for part in self.started:
            _kill_group(part)
        while left := self.pids():
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@dataclass
class Cluster:
    """A standalone cluster that runs."""

    url: str
    parts: Parts

    def executor_pids(self) -> list[int]:
        """The JVMs that carry out tasks right now; there are some only while a session runs."""
        return self.parts.pids("CoarseGrainedExecutorBackend")


@contextmanager
def standalone_cluster(workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """A master and its workers."""
    port, page = free_ports(2)
    url = f"spark://{LOOPBACK}:{port}"

    def is_complete() -> bool:
        state = f"http://{LOOPBACK}:{page}/json/"
        with (
            suppress(OSError, ValueError, KeyError),
            urllib.request.urlopen(state, timeout=PATIENCE) as reply,
        ):
            return bool(json.load(reply)["aliveworkers"] == workers)
        return False  # a page that has just begun to listen has nothing to show yet

    with _parts() as parts:
        where = ("--host", LOOPBACK)
        master = "org.apache.spark.deploy.master.Master"
        parts.start("spark-class", master, *where, "--port", str(port), "--webui-port", str(page))
        # A worker that finds no master waits for some ten seconds before it looks again.
        parts.wait_until(lambda: listens(port))
        for _ in range(workers):
            size = ("--cores", str(cores), "--memory", memory, "--webui-port", "0")
            parts.start("spark-class", "org.apache.spark.deploy.worker.Worker", *where, *size, url)
        parts.wait_until(is_complete)
        yield Cluster(url, parts)


@contextmanager
def connect_server(master: str = "local[2]", **config: str) -> Iterator[str]:
    """A Spark Connect server, by its URL; `config` has ``__`` for the dots of properties."""
    (port,) = free_ports(1)
    properties = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    properties |= {key.replace("__", "."): value for key, value in config.items()}
    options = [text for item in properties.items() for text in ("--conf", "=".join(item))]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
    with _parts() as parts:
        parts.start("spark-submit", "--master", master, *server, *options, "spark-internal")
        parts.wait_until(lambda: listens(port))
        yield f"sc://{LOOPBACK}:{port}"


def run_job(name: str, *arguments: str, **variables: str) -> str:
    """What a function of `tests.spark.jobs` prints in a process of its own.

    Its session is not one of this process, so that it may be of another kind.

    Raises
    ------
    AssertionError
        It failed; the text is what it wrote.
    """
    with tempfile.TemporaryDirectory(prefix="spark-job-") as home:
        job = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.jobs", name, *arguments],
            cwd=REPOSITORY,
            env=environment(Path(home)) | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, log = job.communicate(timeout=PATIENCE)
        finally:
            _kill_group(job)
    assert job.returncode == 0, log
    return output


def environment(home: Path) -> dict[str, str]:
    """The variables of a process that belongs to a cluster or uses one."""
    foreign = ("SPARK_", "PYSPARK_", "PYTHONPATH", "PYTEST_", "MASTER")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    return inherited | {
        "JDK_JAVA_OPTIONS": f"{QUICK_JAVA} -Djava.io.tmpdir={home}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(home / "conf"),
        "SPARK_DAEMON_MEMORY": "768m",
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_DIRS": str(home / "local"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_WORKER_DIR": str(home / "work"),
    }


def listens(port: int) -> bool:
    """Whether somebody accepts connections on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


@contextmanager
def _parts() -> Iterator[Parts]:
    home = Path(tempfile.mkdtemp(prefix="spark-cluster-"))
    parts = Parts(home)
    try:
        yield parts
    finally:
        parts.kill()
        shutil.rmtree(home, ignore_errors=True)


def _kill_group(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _of(pid: int, file: str) -> str:
    """What the kernel tells about a process: nothing if it is gone or not ours."""
    try:
        return Path(f"/proc/{pid}/{file}").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""
