"""A real PostgreSQL on loopback, with databases for metastores of Hive 2.3."""

from __future__ import annotations

import atexit
import functools
import glob
import itertools
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.background import free_ports

DRIVER = "POSTGRESQL_JDBC"
"""The variable that names the jar of the JDBC driver, where it is not Debian's."""
DEBIAN_DRIVER = "/usr/share/java/postgresql.jar"
DEBIAN_PROGRAMS = "/usr/lib/postgresql/*/bin"
PROGRAMS = ("initdb", "pg_ctl", "psql")
USER = "hive"
PATIENCE = 60.0
# The tests can do without what a power failure would take.
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
port = {port}
max_connections = 200
fsync = off
synchronous_commit = off
full_page_writes = off
"""
LIFE = """
if "$0" --silent --wait --pgdata "$1/data" --log "$1/log" start >&2
then echo ready && cat
else cat "$1/log" >&2
fi
"$0" --silent --pgdata "$1/data" --mode immediate stop
rm -rf "$1"
"""
"""It runs until its input ends, which it does however we end, and leaves nothing."""


class PostgresqlServer:
    """A server in a temporary directory, which ends with this process."""

    def __init__(self) -> None:
        """Start one; nobody gets in without its password."""
        self._numbers = itertools.count()
        self._password = secrets.token_hex()
        [self._port] = free_ports(1)
        self.folder = Path(tempfile.mkdtemp(prefix="lanceyard-postgresql-"))
        self._initialize(self.folder)
        self._process = subprocess.Popen(
            ["sh", "-c", LIFE, program("pg_ctl"), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            **identity(),
            start_new_session=True,  # Ctrl-C is for the tests, which end it then.
        )
        atexit.register(self.end)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "PostgreSQL did not start"

    def end(self) -> None:
        """End it, and remove all that it had."""
        self._process.communicate(timeout=PATIENCE)

    def create(self, template: str = "template1") -> str:
        """Make a database of its own, as a copy of another that nobody uses; returns its name."""
        name = f"hive{next(self._numbers)}"
        self.run("postgres", "--command", f"create database {name} template {template}")
        return name

    def run(self, database: str, *arguments: str) -> str:
        """Let psql do something, all of it; returns what it finds, without headings."""
        address = ("--host=127.0.0.1", f"--port={self._port}", f"--username={USER}")
        options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--tuples-only")
        return finish(
            [program("psql"), *address, *options, f"--dbname={database}", *arguments],
            env={**os.environ, "PGPASSWORD": self._password},
        )

    def settings(self, database: str) -> Mapping[str, str]:
        """Those with which a metastore uses a database."""
        option = "javax.jdo.option.Connection"
        return {
            f"{option}URL": f"jdbc:postgresql://127.0.0.1:{self._port}/{database}",
            f"{option}DriverName": "org.postgresql.Driver",
            f"{option}UserName": USER,
            f"{option}Password": self._password,
        }

    def _initialize(self, folder: Path) -> None:
        """Make its files; the password never stands in a command."""
        data, password = folder / "data", folder / "password"
        password.write_text(self._password)
        if owner := identity():
            for each in (folder, password):
                os.chown(each, owner["user"], owner["group"])
        login = (f"--username={USER}", f"--pwfile={password}", "--auth=scram-sha-256")
        options = ("--encoding=UTF8", "--locale=C", "--no-sync", f"--pgdata={data}")
        finish([program("initdb"), *login, *options], cwd=folder, **owner)
        with (data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(port=self._port))


@functools.cache
def shared_server() -> PostgresqlServer:
    """The server of this process."""
    require()
    return PostgresqlServer()


def finish(command: list[str], **options: Any) -> str:
    """What a program of PostgreSQL's says, which must succeed."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options
    )
    assert done.returncode == 0, f"{command[0]}: {done.stderr}"
    return done.stdout


def identity() -> dict[str, Any]:
    """Whom its programs run as: somebody else where we are root, whom PostgreSQL refuses."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def program(name: str) -> str:
    """The path of a program of PostgreSQL's; Debian keeps them apart from the others."""
    newest = sorted(glob.glob(DEBIAN_PROGRAMS), key=lambda path: int(path.split("/")[-2]))
    places = os.pathsep.join((*reversed(newest), os.environ.get("PATH", "")))
    found = shutil.which(name, path=places)
    if found is None:
        raise FileNotFoundError(
            f"there is no {name} of PostgreSQL's: install PostgreSQL (Debian: postgresql), "
            "or put its programs on the PATH"
        )
    return found


def driver() -> str:
    """The jar of the JDBC driver."""
    path = os.environ.get(DRIVER) or DEBIAN_DRIVER
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"PostgreSQL's JDBC driver is not at {path}: install it "
            f"(Debian: libpostgresql-jdbc-java), or name its jar in {DRIVER}"
        )
    return path


def require() -> None:
    """Raise FileNotFoundError, which says what has to be installed, where something is missing."""
    driver()
    for name in PROGRAMS:
        program(name)


if __name__ == "__main__":
    try:
        require()
    except FileNotFoundError as missing:
        sys.exit(str(missing))
