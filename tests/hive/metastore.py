"""A real Hive Metastore on loopback: Hive 2.3 out of PySpark's wheel, or other jars.

Its database is Derby, inside of it, or PostgreSQL (with Hive 2.3).
"""

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

from . import postgresql

SOURCES = Path(__file__).parent / "java"
JARS = "HIVE_JARS"
"""The variable that names a folder with the jars of another Hive."""
DATABASE = "HIVE_DATABASE"
"""The variable that says where metastores keep what they know."""
KINDS = ("derby", "postgresql")
LOCKS = Path(__file__).with_name("locks.sql")
PATIENCE = 120.0
READY = "listening at "
SCHEMES = ("s3", "s3a", "gs", "az", "abfss", "oss", "cos", "hdfs")
HIVE = "org.apache.hadoop.hive.metastore"
SETTINGS = {
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
        self.database = empty_database(folder)
        self._settings = {**self.database, **(settings or {})}
        self._options = options
        self._process: subprocess.Popen[str] | None = None
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
    """A folder with the compiled launcher and an empty database of Derby's, made at first use."""
    place = Path(tempfile.gettempdir(), f"lanceyard-hive-{os.getuid()}-{digest()}")
    if not place.is_dir():
        making = Path(tempfile.mkdtemp(prefix=f"{place.name}-"))
        try:
            compile_launcher(making / "classes")
            fill(making, derby(making), classes=making / "classes")
            # Others may have been faster.
            with contextlib.suppress(OSError):
                making.rename(place)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return place


@functools.cache
def prepared_in_postgresql() -> str:
    """The name of an empty database, of which there are copies only."""
    server = postgresql.shared_server()
    name = server.create()
    with tempfile.TemporaryDirectory(prefix="lanceyard-hive-") as folder:
        fill(Path(folder), server.settings(name))
    server.run(name, "--file", str(LOCKS))
    return name


def empty_database(folder: Path) -> Mapping[str, str]:
    """Make a database with Hive's tables for one metastore; returns the settings for it."""
    if kind() == "postgresql":
        server = postgresql.shared_server()
        return server.settings(server.create(template=prepared_in_postgresql()))
    shutil.copytree(prepared() / "database", folder / "database")
    return derby(folder)


def derby(folder: Path) -> Mapping[str, str]:
    """The settings for the database in a folder."""
    return {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{folder / 'database'};create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    }


def kind() -> str:
    """Which of the kinds of databases is asked for."""
    asked = os.environ.get(DATABASE) or KINDS[0]
    assert asked in KINDS, f"{DATABASE} is one of {', '.join(KINDS)}, not {asked}"
    return asked


def fill(folder: Path, settings: Mapping[str, str], *, classes: Path | None = None) -> None:
    """Let Hive make its tables."""
    process = launch(folder, "prepare", settings, classes=classes)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (folder / "log").read_text()


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
    settings: Mapping[str, str],
    options: Sequence[str] = (),
    *,
    classes: Path | None = None,
) -> subprocess.Popen[str]:
    """Start the launcher in a folder; it says on its output when it is ready."""
    local = {"hive.metastore.warehouse.dir": f"file:{folder / 'warehouse'}"}
    for name in ("core-site.xml", "hive-site.xml"):
        write_site(folder / name, {**SETTINGS, **local, **settings})
    drivers = [postgresql.driver()] if kind() == "postgresql" else []
    path = (str(folder), str(classes or prepared() / "classes"), f"{jars()}/*", *drivers)
    options = (*OPTIONS, *options, f"-Dderby.stream.error.file={folder / 'derby.log'}")
    parent = str(os.getpid())
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [find_java(), *options, "-cp", ":".join(path), "LoopbackMetastore", port, parent],
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
