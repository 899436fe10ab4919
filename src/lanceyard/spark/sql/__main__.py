"""The command ``python -m lanceyard.spark.sql``: what ``spark-sql`` and clusters need.

It serves catalogs until it is told to stop, and prints the options of Spark's programs; or it runs
one of these programs with them: ``python -m lanceyard.spark.sql yard=./catalog -- spark-sql``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from lanceyard import errors
from lanceyard.namespace import properties_of
from lanceyard.spark.java import JavaError
from lanceyard.spark.sql.catalogs import catalog_conf, prepare
from lanceyard.spark.sql.service import Service

PYTHON = "PYSPARK_PYTHON"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve catalogs for another program, or run it."""
    given, program = _split(list(sys.argv[1:] if arguments is None else arguments))
    parser = argparse.ArgumentParser(prog="python -m lanceyard.spark.sql", description=__doc__)
    parser.add_argument("catalogs", nargs="+", metavar="NAME=CATALOG", help="yard=./catalog")
    catalogs = parser.parse_args(given).catalogs
    try:
        settings = prepare({})
        for each in catalogs:
            name, separator, catalog = each.partition("=")
            if not separator:
                parser.error(f"{each!r} is not NAME=CATALOG")
            service = Service(properties_of(catalog))
            settings |= catalog_conf(name, service.address, service.token)
    except (errors.LanceNamespaceError, JavaError) as refusal:
        sys.stderr.write(f"lanceyard: {refusal}\n")
        return 2
    if program:
        return _run(program, settings)
    sys.stdout.write(f"--properties-file {_written(settings)}\n")
    sys.stdout.flush()
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    return 0


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _run(program: Sequence[str], settings: Mapping[str, str]) -> int:
    """Run one of Spark's programs, whose Python is this one unless the environment says so."""
    inside = os.path.join(os.path.dirname(pyspark.__file__), "bin", program[0])
    command = shutil.which(program[0]) or inside
    environment = {PYTHON: sys.executable, **os.environ}
    file = _written(settings)
    try:
        done = subprocess.run(  # noqa: S603 - what the user has asked for
            [command, "--properties-file", file, *program[1:]], env=environment, check=False
        )
    finally:
        os.unlink(file)
    return done.returncode


def _written(settings: Mapping[str, str]) -> str:
    """A file of properties that only this user can read: it has the token."""
    handle, name = tempfile.mkstemp(prefix="lanceyard-", suffix=".conf")
    with os.fdopen(handle, "w") as file:
        file.writelines(f"{key}={value}\n" for key, value in settings.items())
    return str(Path(name))


if __name__ == "__main__":
    raise SystemExit(main())
