"""Victims: programs that are killed, as ``python -m tests.spark.victims NAME …``, and their killer.

They write through the data source *trapped*, which is *lance* but for an option ``trap``: with it
the one commit that is named there is held, or fails, right before or right after it lands.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lanceyard.spark.options import Options
from lanceyard.spark.sessions import session
from lanceyard.spark.source import LanceSource
from lanceyard.spark.stream_writer import LanceStreamWriter
from lanceyard.spark.writer import LanceWriter
from tests.spark.clusters import REPOSITORY, environment
from tests.spark.jobs import LEAN

ROWS, ROWS_PER_FILE, TASKS = 640, 20, 8
FILES = ROWS // ROWS_PER_FILE
PAUSE = 8
"""Milliseconds for a row: a write takes some three seconds on two cores."""
WIDTH = 4_000
"""Of a row: twenty of them are more than Spark keeps back before it sends them to Python."""
PATIENCE = 300
"""Seconds."""


class TrapError(Exception):
    """A commit failed in a way that nobody foresees."""


class Trap(NamedTuple):
    """What happens to the commit that follows a version of a table."""

    moment: str
    """``before`` it lands, or ``after``."""
    version: int
    deed: str
    """``hold`` it until it is released, or ``fail``."""
    sign: str
    """The file that appears when it has happened."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """A trap as the option names it."""
        moment, version, deed, sign = text.split(" ", 3)
        return cls(moment, int(version), deed, sign)

    def __str__(self) -> str:
        return " ".join(map(str, self))

    def pid(self) -> int:
        """The process that commits."""
        return int(Path(self.sign).read_text())

    def release(self) -> None:
        """Let a commit go on that is held."""
        self._key.touch()

    @property
    def _key(self) -> Path:
        return Path(f"{self.sign}.released")

    def spring(self, moment: str, version: int) -> None:
        """Do what is to be done, if this is the commit and the moment for it."""
        if (moment, version) != (self.moment, self.version) or os.path.exists(self.sign):
            return
        raise_sign(self.sign, str(os.getpid()))
        if self.deed == "fail":
            raise TrapError(f"trapped {moment} the commit after version {version}")
        while not self._key.exists():
            time.sleep(0.02)

    @contextmanager
    def set(self) -> Iterator[None]:
        """Watch the commits of this process."""
        from lance import LanceDataset

        commit = LanceDataset.commit

        def watched(target: Any, *arguments: Any, **settings: Any) -> Any:
            version = 0 if isinstance(target, str) else target.version
            self.spring("before", version)
            landed = commit(target, *arguments, **settings)
            self.spring("after", version)
            return landed

        with patch.object(LanceDataset, "commit", staticmethod(watched)):
            yield


def raise_sign(path: str, text: str = "") -> None:
    """Let a file appear at once with all its text."""
    Path(f"{path}.new").write_text(text)
    os.replace(f"{path}.new", path)


class TrappedSource(LanceSource):
    """Lance tables whose commits can be trapped."""

    @classmethod
    def name(cls) -> str:
        return "trapped"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return TrappedWriter(schema, self._options(), overwrite=overwrite).trap(self._trap())

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return TrappedStreamWriter(schema, self._options(), overwrite=overwrite).trap(self._trap())

    def _options(self) -> Options:
        return Options.parse({k: v for k, v in self.options.items() if k.lower() != "trap"})

    def _trap(self) -> Trap | None:
        return Trap.parse(self.options["trap"]) if "trap" in self.options else None


class Trapped:
    """A writer that steps into a trap."""

    _trap: Trap | None = None

    def trap(self, trap: Trap | None) -> Self:
        """Set the trap for its commit."""
        self._trap = trap
        return self

    def commit(self, *arguments: Any) -> None:
        if self._trap is None:
            return super().commit(*arguments)  # type: ignore[misc]
        with self._trap.set():
            return super().commit(*arguments)  # type: ignore[misc]


class TrappedWriter(Trapped, LanceWriter):
    """Of batches."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        super().commit(messages)


class TrappedStreamWriter(Trapped, LanceStreamWriter):
    """Of streams."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        super().commit(messages, batchId)


# What victims do; tests do the same to repeat it.


def write(
    spark: SparkSession, table: Mapping[str, str], run: str, mode: str = "append", pause: int = 0
) -> None:
    """Write the rows of a run: each carries its name and a number."""
    rows = _slowly(spark.range(ROWS, numPartitions=TASKS if pause else 2), pause)
    rows = rows.selectExpr(f"'{run}' run", "id number", f"repeat('x', {WIDTH}) ballast")
    options = {"max_rows_per_file": str(ROWS_PER_FILE), **table}
    rows.write.format("trapped").mode(mode).options(**options).save()


def follow(spark: SparkSession, folder: str, pause: int = 0, **options: str) -> Any:
    """Start the stream from a table to another, one fragment after the other."""
    rows = (
        spark.readStream.format("trapped")
        .option("max_fragments_per_trigger", "1")
        .load(f"{folder}/source.lance")
    )
    return (
        _slowly(rows, pause)
        .writeStream.format("trapped")
        .options(**options)
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/sink.lance")
    )


def _slowly(rows: DataFrame, pause: int) -> DataFrame:
    # Spark can neither know the outcome of a pause beforehand nor leave it out.
    rest = f"java_method('java.lang.Thread', 'sleep', {pause}L) is not null"
    return rows.where(rest) if pause else rows


def writer(master: str, table: str, run: str, mode: str, sign: str) -> None:
    """Write slowly to a table."""
    spark = start(master)
    raise_sign(sign)
    write(spark, json.loads(table), run, mode, PAUSE)
    spark.stop()


def follower(folder: str, sign: str) -> None:
    """Follow a table slowly."""
    query = follow(start("local[2]"), folder, PAUSE)
    raise_sign(sign)
    assert query.awaitTermination(PATIENCE)


def both(folder: str, stream_trap: str, table: str, run: str) -> None:
    """Follow a table and write to another."""
    spark = start("local[2]")
    query = follow(spark, folder, trap=stream_trap)
    write(spark, json.loads(table), run)
    assert query.awaitTermination(PATIENCE)


def start(master: str) -> SparkSession:
    """A session of a victim."""
    config = LEAN | {
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_FILE),
        "spark.ui.showConsoleProgress": "false",
        # An executor finds this module where its driver does.
        "spark.executorEnv.PYTHONPATH": str(REPOSITORY),
    }
    spark = session("victim", master=master, config=config)
    spark.dataSource.register(TrappedSource)
    return spark


# The killer.


@dataclass
class Victim:
    """A program that runs, with all that it has started."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, or until the program has ended by itself."""
        deadline = time.monotonic() + PATIENCE
        while not is_so() and self.process.poll() is None:
            assert time.monotonic() < deadline, self.told()
            time.sleep(0.01)

    def wait_for_sign(self, *signs: str) -> None:
        """Wait for files that the program lets appear."""
        self.wait_for(lambda: all(map(os.path.exists, signs)))
        assert self.process.poll() is None, self.told()

    def wait(self) -> int:
        """The return code of a program that ends by itself."""
        self.wait_for(lambda: False)
        return self.process.wait()

    def wait_for_all(self) -> None:
        """Wait until nothing is left of the program, though it may be dead itself."""
        deadline = time.monotonic() + PATIENCE
        while self.pids():
            assert time.monotonic() < deadline, self.told()
            time.sleep(0.02)

    def kill(self, *, but: Collection[int] = ()) -> None:
        """Kill the program and all that it has started, `but` some."""
        # Python first: its daemons take their workers with them when the JVM is gone.
        while left := [pid for pid in self.pids() if pid not in but]:
            for pid in sorted(left, key=self._is_java):
                kill(pid)

    def kill_python(self) -> None:
        """Kill the driver's Python only, and give the rest time to go."""
        kill(self.process.pid)
        self.wait_for_all()

    def kill_java(self) -> None:
        """Kill the driver's JVM only, and give the rest time to go."""
        for pid in filter(self._is_java, self.pids()):
            kill(pid)
        self.wait_for_all()

    def pids(self) -> list[int]:
        """All its processes: they leave its process group, but not its session."""
        return [pid for pid in _processes() if _session(pid) == self.process.pid]

    def told(self) -> str:
        """The end of what the program wrote."""
        return self.log.read_text()[-8000:]

    def _is_java(self, pid: int) -> bool:
        with suppress(OSError):
            return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "java"
        return False


@contextmanager
def victim(name: str, *arguments: str, module: str = "tests.spark.victims") -> Iterator[Victim]:
    """Start a program, and leave nothing of it behind."""
    with tempfile.TemporaryDirectory(prefix="spark-victim-", ignore_cleanup_errors=True) as home:
        log = Path(home, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", module, name, *arguments],
                cwd=REPOSITORY,
                env=environment(Path(home)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started = Victim(process, log)
        try:
            yield started
        finally:
            started.kill()
            process.wait()


def kill(pid: int) -> None:
    """Kill a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _session(pid: int) -> int | None:
    """The session of a process; None if it is gone, or dead and not yet buried."""
    with suppress(OSError):
        # The name of the program may contain anything but ends with the last parenthesis.
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else int(numbers[2])
    return None


PROGRAMS: dict[str, Callable[..., None]] = {
    program.__name__: program for program in (writer, follower, both)
}

if __name__ == "__main__":
    # Spark's processes are to import the source from where it is, not from a main program.
    from tests.spark import victims

    victims.PROGRAMS[sys.argv[1]](*sys.argv[2:])
