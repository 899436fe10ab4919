"""SQL over all tables of a catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanceyard
from lanceyard import errors


@pytest.fixture
def yard(tmp_path: Path) -> lanceyard.Yard:
    yard = lanceyard.open(tmp_path)
    yard.create_namespace("a").create_namespace("a.b").create_namespace("a.b.c")
    for number, name in enumerate(["t", "a.t", "a.b.t", "a.b.c.t"]):
        yard.create_table(name, {"n": [number], "Word": [name]})
    return yard


@pytest.mark.parametrize(
    ("name", "number"), [("t", 0), ("a.t", 1), ("a.b.t", 2), ('"a.b".t', 2), ('"a$b$c".t', 3)]
)
def test_a_query_names_tables_at_any_depth(yard: lanceyard.Yard, name: str, number: int) -> None:
    assert yard.sql(f"SELECT n FROM {name}").read_all().to_pylist() == [{"n": number}]


def test_a_query_joins_tables_of_several_namespaces(yard: lanceyard.Yard) -> None:
    query = 'SELECT x.n + y.n AS s, y."Word" AS w FROM a.t x CROSS JOIN a.b.t y'
    assert yard.sql(query).read_all().to_pylist() == [{"s": 3, "w": "a.b.t"}]


def test_a_query_reads_a_state_of_the_past(yard: lanceyard.Yard) -> None:
    yard.tags.create("before")
    yard.drop("a.t")
    past = yard.as_of("before")
    with pytest.raises(errors.TableNotFoundError):
        yard.sql("SELECT * FROM a.t")
    assert past.tables("a") == ["t"]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "DROP TABLE t",
        "INSERT INTO t VALUES (1, '')",
        "COPY t TO 'x.csv'",
        "CREATE TABLE x AS SELECT 1",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "SELECT * FROM '/etc/passwd'",
        "frob",
    ],
)
def test_what_is_no_query_is_refused(yard: lanceyard.Yard, query: str) -> None:
    with pytest.raises((errors.InvalidInputError, errors.TableNotFoundError)):
        yard.sql(query)
    assert yard.table("t").count() == 1
    assert yard.tables() == ["t"]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT * FROM missing", errors.TableNotFoundError),
        ("SELECT * FROM missing.t", errors.NamespaceNotFoundError),
        ("SELECT missing FROM t", errors.TableColumnNotFoundError),
    ],
)
def test_what_is_missing_is_told(
    yard: lanceyard.Yard, query: str, error: type[errors.LanceNamespaceError]
) -> None:
    with pytest.raises(error):
        yard.sql(query)


def test_a_query_that_fails_while_it_runs_says_so(yard: lanceyard.Yard) -> None:
    with pytest.raises(errors.InvalidInputError, match="cannot be carried out"):
        yard.sql('SELECT CAST("Word" AS INT) FROM t').read_all()
