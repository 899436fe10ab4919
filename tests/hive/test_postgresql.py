"""The PostgreSQL of the tests: what it takes, what it holds, and what it leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from lanceyard.catalog.hive.metastore.records import DatabaseName

from . import metastore, postgresql

PATIENCE = 30.0
STARTED = """
import time
from tests.hive import postgresql
print(postgresql.shared_server().folder, flush=True)
time.sleep(60)
"""
on_postgresql = pytest.mark.skipif(
    metastore.kind() != "postgresql", reason="the metastores are on Derby"
)


@pytest.mark.parametrize(
    ("places", "package"),
    [
        ({"DEBIAN_DRIVER": "/nowhere"}, "libpostgresql-jdbc-java"),
        ({"DEBIAN_DRIVER": __file__, "PROGRAMS": ["no-program"]}, "Debian: postgresql"),
    ],
)
def test_what_has_to_be_installed_is_said(
    places: dict[str, object], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(postgresql.DRIVER, raising=False)
    for name, value in places.items():
        monkeypatch.setattr(postgresql, name, value)
    with pytest.raises(FileNotFoundError, match=package):
        postgresql.require()


@on_postgresql
def test_a_metastore_keeps_its_names_in_it(
    hive: metastore.MetastoreServer, where: DatabaseName
) -> None:
    database = hive.database["javax.jdo.option.ConnectionURL"].rpartition("/")[-1]
    find = ("--command", 'select "NAME" from "DBS"')
    assert where.name in postgresql.shared_server().run(database, *find).split()


@on_postgresql
def test_nothing_is_left_when_its_process_is_killed() -> None:
    program = [sys.executable, "-c", STARTED]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "data").is_dir()
        process.kill()
    ends = time.monotonic() + PATIENCE
    while folder.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert not folder.exists()
