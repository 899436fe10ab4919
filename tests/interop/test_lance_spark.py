"""Java's lance-spark through our server, on the same tables as we."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lanceyard
from lanceyard.server.security.keys import new_key
from tests.interop.java import LanceSpark
from tests.rest.serving import server

pytestmark = pytest.mark.interop
PYTHON = "LANCE_SPARK_PYTHON"
"""The variable that names a Python with the Spark of lance-spark; `make interop` sets it."""


@pytest.fixture(scope="module")
def java() -> Iterator[LanceSpark]:
    with LanceSpark(os.environ[PYTHON]) as started:
        yield started


@pytest.fixture(params=["files", "catalog"])
def yard(request: pytest.FixtureRequest, java: LanceSpark, tmp_path: Path) -> lanceyard.Yard:
    """A catalog that lance-spark knows by the name of the test, with and without versions."""
    managed = str(request.param == "catalog").lower()
    found = lanceyard.open(
        {"root": str(tmp_path), "dir_listing_enabled": "false", "table_version_management": managed}
    )
    java.use(f"lance_{abs(hash(request.node.name))}", server().serve(found.namespace))
    return found


@pytest.fixture
def sql(java: LanceSpark, yard: lanceyard.Yard, request: pytest.FixtureRequest):
    name = f"lance_{abs(hash(request.node.name))}"
    return lambda statement: java(re.sub(r"\blance\b", name, statement))


def test_what_java_writes_we_read(sql, yard: lanceyard.Yard) -> None:
    sql("CREATE NAMESPACE lance.a")
    sql("CREATE TABLE lance.a.t (id BIGINT, s STRING)")
    sql("INSERT INTO lance.a.t SELECT id, concat('x', id) FROM range(1000)")
    assert yard.tables("a") == ["t"]
    table = yard.table("a.t")
    assert (table.count(), table.count("s = 'x7'")) == (1000, 1)


def test_what_we_write_java_reads(sql, yard: lanceyard.Yard) -> None:
    yard.create_namespace("a")
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    yard.create_table("a.t", pa.table({"id": [1, 2], "v": vectors}))
    assert sql("SELECT id, v FROM lance.a.t ORDER BY id") == [[1, [1.0, 2.0]], [2, [3.0, 4.0]]]
    assert sql("SHOW NAMESPACES IN lance") == [["a"]]
    assert [row[1] for row in sql("SHOW TABLES IN lance.a")] == ["t"]


def test_rows_are_changed_by_both(sql, yard: lanceyard.Yard) -> None:
    yard.create_namespace("a")
    table = yard.create_table("a.t", pa.table({"id": range(100), "s": ["old"] * 100}))
    sql("DELETE FROM lance.a.t WHERE id < 10")
    sql("UPDATE lance.a.t SET s = 'new' WHERE id = 20")
    table.append(pa.table({"id": [100], "s": ["ours"]}))
    sql(
        "MERGE INTO lance.a.t t USING (SELECT 100L id, 'merged' s) u ON t.id = u.id "
        "WHEN MATCHED THEN UPDATE SET s = u.s WHEN NOT MATCHED THEN INSERT *"
    )
    assert sql("SELECT count(*) FROM lance.a.t") == [[91]]
    assert (table.count(), table.count("s = 'old'")) == (91, 89)
    assert (table.count("s = 'new'"), table.count("s = 'merged'")) == (1, 1)


def test_columns_of_vectors_are_named_alike(sql, yard: lanceyard.Yard) -> None:
    sql("CREATE NAMESPACE lance.a")
    sql(
        "CREATE TABLE lance.a.t (id BIGINT, v ARRAY<FLOAT> NOT NULL) "
        "TBLPROPERTIES ('v.arrow.fixed-size-list.size' = '2')"
    )
    sql("INSERT INTO lance.a.t VALUES (1, array(1.0f, 2.0f))")
    assert yard.table("a.t").schema.field("v").type == pa.list_(pa.float32(), 2)


def test_tables_are_dropped_by_java(sql, yard: lanceyard.Yard) -> None:
    yard.create_namespace("a")
    yard.create_table("a.t", pa.table({"id": [1]}))
    sql("DROP TABLE lance.a.t")
    assert yard.tables("a") == []
    sql("DROP NAMESPACE lance.a")
    assert yard.namespaces() == []


def test_java_needs_the_key_that_the_server_wants(java: LanceSpark, tmp_path: Path) -> None:
    key, digest = new_key()
    yard = lanceyard.open(tmp_path)
    yard.create_namespace("a")
    security = {
        "keys": [{"name": "java", "sha256": digest}],
        "grants": [{"to": "java", "role": "owner", "on": ""}],
    }
    address = server().serve(yard.namespace, security=security)
    java.use("refused", address)
    with pytest.raises(RuntimeError, match="cannot be found"):  # as it says for any failure
        java("SHOW NAMESPACES IN refused")
    java.use("let_in", address, **{"headers.x-api-key": key})
    assert java("SHOW NAMESPACES IN let_in") == [["a"]]
