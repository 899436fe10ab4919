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
import threading
from collections.abc import Sequence

import pyspark

from lanceyard import errors
from lanceyard.spark.java import JavaError
from lanceyard.spark.sql import pipelines
from lanceyard.spark.sql.properties import properties_file, serve

PYTHON = "PYSPARK_PYTHON"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve catalogs for another program, or run it."""
    given, program = _split(list(sys.argv[1:] if arguments is None else arguments))
    parser = argparse.ArgumentParser(prog="python -m lanceyard.spark.sql", description=__doc__)
    parser.add_argument("catalogs", nargs="+", metavar="NAME=CATALOG", help="yard=./catalog")
    catalogs = {}
    for each in parser.parse_args(given).catalogs:
        name, separator, catalog = each.partition("=")
        if not separator:
            parser.error(f"{each!r} is not NAME=CATALOG")
        catalogs[name] = catalog
    try:
        if program and os.path.basename(program[0]) == pipelines.PROGRAM:
            return pipelines.run(catalogs, program[1:])
        settings = serve(catalogs)
    except (errors.LanceNamespaceError, JavaError) as refusal:
        sys.stderr.write(f"lanceyard: {refusal}\n")
        return 2
    with properties_file(settings) as file:
        return _run(program, file) if program else _wait(file)


def _wait(file: str) -> int:
    """Tell what Spark's programs need, and serve until stopped."""
    sys.stdout.write(f"--properties-file {file}\n")
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


def _run(program: Sequence[str], file: str) -> int:
    """Run one of Spark's programs, whose Python is this one unless the environment says so."""
    inside = os.path.join(os.path.dirname(pyspark.__file__), "bin", program[0])
    command = shutil.which(program[0]) or inside
    environment = {PYTHON: sys.executable, **os.environ}
    done = subprocess.run(  # noqa: S603 - what the user has asked for
        [command, "--properties-file", file, *program[1:]], env=environment, check=False
    )
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
