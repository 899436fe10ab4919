"""Java: the one that Spark would start, and whether Spark can use it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

OLDEST = 17
"""What Spark 4 is compiled for."""
PATIENCE = 60.0

# "1.8.0_392" is Java 8; what options the environment adds is said on lines before this one.
_VERSION = re.compile(r'^(?:openjdk|java) (?:version )?"?(?:1\.)?(\d+)', re.MULTILINE)
_ADVICE = f"install Java {OLDEST} or newer, and name its folder by JAVA_HOME or put it on PATH"


class JavaError(RuntimeError):
    """Raised when Spark cannot run here for want of a Java that it can use."""


def check_java() -> None:
    """Find out, before Spark does, whether the Java it would start is good enough.

    Raises
    ------
    JavaError
        There is no Java, it does not run, or it is older than Spark needs.
    """
    java = find_java()
    found = java_version(_said_by(java))
    # A vendor who writes the version in some other way may be right for Spark nevertheless.
    if found is not None and found < OLDEST:
        raise JavaError(f"{java} is Java {found}, and Spark needs {OLDEST} or newer: {_ADVICE}")


def find_java() -> str:
    """The path of the Java that Spark's scripts start: that of ``JAVA_HOME``, else of ``PATH``.

    Raises
    ------
    JavaError
        It is not there.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = shutil.which(os.path.join(home, "bin", "java"))
        where = f"JAVA_HOME is {home!r}, which has no bin/java"
    else:
        java = shutil.which("java")
        where = "JAVA_HOME is not set and there is no java on PATH"
    if java is None:
        raise JavaError(f"Spark needs Java, but {where}: {_ADVICE}")
    return java


def java_version(text: str) -> int | None:
    """The feature release in what ``java -version`` said, or None if there is none to be seen."""
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _said_by(java: str) -> str:
    command = [java, "-version"]
    try:
        done = subprocess.run(  # noqa: S603 - what Spark itself is about to run
            command, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise JavaError(f"Spark needs Java, but {java} does not run ({failure}): {_ADVICE}") from (
            failure
        )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise JavaError(
            f"Spark needs Java, but {java} fails with exit code {done.returncode} "
            f"({said!r}): {_ADVICE}"
        )
    return done.stderr + done.stdout
