"""Beside the official implementation in Python: its tables are ours, and ours are its."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lanceyard
from lanceyard import errors

from .metastore import JARS, MetastoreServer
from .official import PYTHON, Official

NUMBERS = itertools.count()
ROWS = pa.table({"id": [1, 2, 3]})
pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(JARS in os.environ, reason="it is for Hive 2"),
]


@pytest.fixture
def official(hive: MetastoreServer, tmp_path: Path) -> Iterator[Official]:
    """The official implementation."""
    with Official(os.environ[PYTHON], hive.uri, tmp_path / "official") as running:
        yield running


@pytest.fixture
def yard(hive: MetastoreServer, tmp_path: Path) -> Iterator[lanceyard.Yard]:
    """Ours."""
    with lanceyard.open({"impl": "hive", "uri": hive.uri, "root": str(tmp_path)}) as opened:
        yield opened


@pytest.fixture
def database() -> str:
    """A name that no other test has."""
    return f"both{next(NUMBERS)}"


def test_tables_of_the_official_implementation_are_ours(
    official: Official, yard: lanceyard.Yard, database: str
) -> None:
    official("create_namespace", id=[database], properties={"comment": "theirs"})
    made = official("declare_table", id=[database, "t"])
    assert database in yard.namespaces()
    assert yard.tables(database) == ["t"]
    lance.write_dataset(ROWS, made["location"])
    table = yard.table(f"{database}.t")
    directory = Path(made["location"].removeprefix("file:"))
    assert table.location == str(directory)
    assert table.read() == ROWS
    assert table.append({"id": [4]}).count() == 4
    yard.drop(f"{database}.t")
    assert official("list_tables", id=[database])["tables"] == []
    assert not directory.exists()


def test_ours_are_those_of_the_official_implementation(
    official: Official, yard: lanceyard.Yard, database: str
) -> None:
    yard.create_namespace(database, {"comment": "ours"})
    made = yard.create_table(f"{database}.t", ROWS)
    assert database in official("list_namespaces", id=[])["namespaces"]
    assert official("describe_namespace", id=[database])["properties"]["comment"] == "ours"
    assert official("list_tables", id=[database])["tables"] == ["t"]
    assert official("list_tables", id=[database], include_declared=False)["tables"] == ["t"]
    location = official("describe_table", id=[database, "t"])["location"]
    assert lance.dataset(location).to_table() == ROWS
    official("deregister_table", id=[database, "t"])
    assert yard.tables(database) == []
    assert Path(location.removeprefix("file:")).is_dir()
    with pytest.raises(errors.TableNotFoundError):
        made.count()


def test_a_table_that_the_official_implementation_drops_is_gone(
    official: Official, yard: lanceyard.Yard, database: str
) -> None:
    yard.create_namespace(database)
    yard.create_table(f"{database}.t", ROWS)
    official("drop_table", id=[database, "t"])
    assert yard.tables(database) == []
    assert yard.create_table(f"{database}.t", ROWS).count() == 3
