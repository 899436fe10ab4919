"""A real Hive Metastore on loopback: Hive 2.3 out of PySpark's wheel, or other jars."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape

import pyspark

from lanceyard.spark.java import find_java
from lanceyard.spark.sql.jar import find_javac

SOURCES = Path(__file__).parent / "java"
JARS = "HIVE_JARS"
"""The variable that names a folder with the jars of another Hive."""
PATIENCE = 120.0
READY = "listening at "
SCHEMES = ("s3", "s3a", "gs", "az", "abfss", "oss", "cos", "hdfs")
HIVE = "org.apache.hadoop.hive.metastore"
SETTINGS = {
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.connectionPoolingType": "HikariCP",
    "hive.metastore.schema.verification": "false",
    "hive.async.log.enabled": "false",
    # Hive 3 and newer, of which the metastore alone is there.
    "metastore.expression.proxy": f"{HIVE}.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": f"{HIVE}.events.EventCleanerTask",
    **{f"fs.{scheme}.impl": "PretendedFiles" for scheme in SCHEMES},
}
OPTIONS = (
    "-Xmx512m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dderby.system.durability=test",
    *(f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "net", "util")),
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
)


class MetastoreServer:
    """A metastore with a database of its own, which can be killed and started again."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str] | None = None, options: Sequence[str] = ()
    ) -> None:
        """Prepare one in an empty folder, with settings of Hadoop's and options of Java's."""
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.port = 0
        self._settings = dict(settings or {})
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        shutil.copytree(prepared() / "database", folder / "database")
        self.warehouse.mkdir()

    @property
    def uri(self) -> str:
        """Its address."""
        return f"thrift://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, at the port that it had before."""
        self._process = launch(self.folder, str(self.port), self._settings, self._options)
        assert self._process.stdout is not None
        said = listening(self._process.stdout, self.folder)
        self.port = int(said.removeprefix(READY))

    def kill(self) -> None:
        """End it as a crash would; what was acknowledged stays in its database."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def restart(self) -> None:
        """Kill it and start it again: same address, same database."""
        self.kill()
        self.start()


@functools.cache
def shared_metastore() -> MetastoreServer:
    """The metastore that all tests of this process share; it ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="lanceyard-hive-"))
    server = MetastoreServer(folder)
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            server.kill()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    server.start()
    return server


@functools.cache
def prepared() -> Path:
    """A folder with the compiled launcher and an empty database, made at first use."""
    place = Path(tempfile.gettempdir(), f"lanceyard-hive-{os.getuid()}-{digest()}")
    if not place.is_dir():
        making = Path(tempfile.mkdtemp(prefix=f"{place.name}-"))
        try:
            compile_launcher(making / "classes")
            process = launch(making, "prepare", classes=making / "classes")
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, (making / "log").read_text()
            # Others may have been faster.
            with contextlib.suppress(OSError):
                making.rename(place)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return place


def digest() -> str:
    """Of all that the prepared folder depends on."""
    found = hashlib.sha256(repr((jars(), sorted(os.listdir(jars())), SETTINGS)).encode())
    for source in sorted(SOURCES.glob("*.java")):
        found.update(source.read_bytes())
    return found.hexdigest()[:16]


def jars() -> str:
    """The folder of Hive's jars."""
    return os.environ.get(JARS) or os.path.join(os.path.dirname(pyspark.__file__), "jars")


def compile_launcher(target: Path) -> None:
    sources = map(str, sorted(SOURCES.glob("*.java")))
    command = [find_javac(), "-nowarn", "-proc:none", "-d", str(target), "-cp", f"{jars()}/*"]
    done = subprocess.run(
        [*command, *sources], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr


def launch(
    folder: Path,
    port: str,
    settings: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    *,
    classes: Path | None = None,
) -> subprocess.Popen[str]:
    """Start the launcher on the database of a folder; it says on its output when it is ready."""
    database = f"jdbc:derby:{folder / 'database'};create=true"
    warehouse = f"file:{folder / 'warehouse'}"
    local = {
        "javax.jdo.option.ConnectionURL": database,
        "hive.metastore.warehouse.dir": warehouse,
    }
    for name in ("core-site.xml", "hive-site.xml"):
        write_site(folder / name, {**SETTINGS, **local, **(settings or {})})
    path = f"{folder}:{classes or prepared() / 'classes'}:{jars()}/*"
    options = (*OPTIONS, *options, f"-Dderby.stream.error.file={folder / 'derby.log'}")
    arguments = (database, warehouse, port, str(os.getpid()))
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [find_java(), *options, "-cp", path, "LoopbackMetastore", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        )


def write_site(file: Path, settings: Mapping[str, str]) -> None:
    lines = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    file.write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")


def listening(output: IO[str], folder: Path) -> str:
    """The line with which a launcher says that it listens."""
    for line in output:
        if line.startswith(READY):
            return line.strip()
    raise AssertionError(f"the metastore did not start:\n{(folder / 'log').read_text()[-5000:]}")
