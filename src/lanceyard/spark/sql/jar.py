"""The jar: the Java side of catalogs, compiled for the Spark that is installed."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark

from lanceyard.spark.java import JavaError, find_java

SOURCES = Path(__file__).parent / "java"
RELEASE = "17"
"""Of Java, which Spark 4 is compiled for, too."""
PATIENCE = 300.0
CACHE = "LANCEYARD_CACHE"
"""The variable that says where compiled jars are kept, if not in the user's cache."""
_ADVICE = (
    "Spark SQL catalogs are compiled at first use: install a JDK (Debian and Ubuntu: "
    "openjdk-17-jdk-headless, Fedora: java-17-openjdk-devel, conda: openjdk, macOS: openjdk@17) "
    "and name its folder by JAVA_HOME or put javac on PATH. Everything but catalogs works without"
)


class CompilerError(JavaError):
    """Raised when the Java side of catalogs cannot be compiled here."""


def jar() -> Path:
    """The path of the jar for the Spark that is installed; it is compiled if there is none yet.

    Several processes may do that at the same time: each puts a whole file in place.

    Raises
    ------
    CompilerError
        There is no Java compiler, or it fails.
    """
    name = f"lanceyard-spark-{pyspark.__version__}-{_digest()}.jar"
    folders = list(_folders())
    for folder in folders:
        if (folder / name).is_file() and _is_trusted(folder):
            return folder / name
    javac = find_javac()
    with tempfile.TemporaryDirectory(prefix="lanceyard-javac-") as place:
        built = _compile(javac, Path(place))
        for folder in folders:
            if _put(built, folder / name):
                return folder / name
    raise CompilerError(f"no folder can be written to: {', '.join(map(str, folders))}")


def find_javac() -> str:
    """The Java compiler beside the Java that Spark starts, else that of ``PATH``.

    Raises
    ------
    CompilerError
        There is none: what is installed is a JRE.
    """
    java = os.path.realpath(find_java())
    beside = os.path.join(os.path.dirname(java), "javac")
    found = shutil.which(beside) or shutil.which("javac")
    if found is None:
        raise CompilerError(f"there is no javac beside {java}, nor on PATH. {_ADVICE}")
    return found


def _digest() -> str:
    """Of all that the jar depends on, apart from Spark."""
    found = hashlib.sha256(RELEASE.encode())
    for source in sorted(SOURCES.glob("*.java")):
        found.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _folders() -> Iterator[Path]:
    """Where jars are kept: in the user's cache or, where that cannot be written, for this user."""
    told = os.environ.get(CACHE)
    if told:
        yield Path(told)
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield Path(home, "lanceyard")
    yield Path(tempfile.gettempdir(), f"lanceyard-{os.getuid()}")


def _compile(javac: str, place: Path) -> Path:
    classes, built = place / "classes", place / "built.jar"
    classes.mkdir()
    sources = [str(source) for source in sorted(SOURCES.glob("*.java"))]
    jars = os.path.join(os.path.dirname(pyspark.__file__), "jars", "*")
    command = [javac, "-nowarn", "--release", RELEASE, "-encoding", "UTF-8", "-proc:none"]
    done = subprocess.run(  # noqa: S603 - the compiler that the user has installed
        [*command, "-d", str(classes), "-cp", jars, *sources],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode != 0:
        raise CompilerError(f"{javac} cannot compile catalogs for Spark: {done.stderr.strip()}")
    with zipfile.ZipFile(built, "w", zipfile.ZIP_DEFLATED) as archive:
        for compiled in sorted(classes.rglob("*.class")):
            archive.write(compiled, compiled.relative_to(classes))
    return built


def _is_trusted(folder: Path) -> bool:
    """Whether nobody else can have put a jar there, which Spark would run."""
    found = folder.stat()
    return found.st_uid in (0, os.getuid()) and not found.st_mode & stat.S_IWOTH


def _put(built: Path, target: Path) -> bool:
    """Put a file in place whole, unless its folder is not ours or cannot be written."""
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_trusted(target.parent):
            return False
        handle, beside = tempfile.mkstemp(dir=target.parent, suffix=".part")
    except OSError:
        return False
    with os.fdopen(handle, "wb") as part:
        part.write(built.read_bytes())
    os.replace(beside, target)
    return True
