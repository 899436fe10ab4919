"""The SDK of LanceDB Cloud, unchanged, against our server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

import lanceyard

from .serving import server

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS, SIZE = 300, 8


def rows(count: int = ROWS) -> pa.Table:
    """Rows with a number, two words and a vector."""
    vectors = np.random.default_rng(1).random(count * SIZE, dtype=np.float32)
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "text": [f"word{i % 5} cat" for i in range(count)],
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors), SIZE),
        }
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    """A database of the SDK, which is a catalog behind our server."""
    namespace = lanceyard.DirectoryNamespace(root=str(tmp_path))
    address = server().serve(namespace)
    yield lancedb.connect("db://yard", api_key="none", host_override=address)
    namespace.close()


@pytest.fixture
def table(database: Any) -> Any:
    """A table of it."""
    return database.create_table("t", rows())


def test_tables_are_created_listed_renamed_and_dropped(database: Any) -> None:
    database.create_table("t", rows())
    database.create_table("empty", schema=rows().schema)
    database.create_table("t", rows(), exist_ok=True)
    database.rename_table("t", "u")
    assert sorted(database.list_tables().tables) == ["empty", "u"]
    database.drop_table("empty")
    assert database.open_table("u").count_rows() == ROWS


def test_a_table_tells_its_schema_and_version(table: Any) -> None:
    assert table.schema == rows().schema
    assert table.version == 1


def test_rows_are_added_updated_merged_and_deleted(table: Any) -> None:
    table.add(rows(5))
    assert table.update(where="id = 7", values={"text": "seven"}).rows_updated == 1
    assert table.delete("id = 8").num_deleted_rows == 1
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(rows(9).slice(8))
    assert table.count_rows() == ROWS + 5
    assert table.count_rows("text = 'seven'") == 1


def test_vectors_words_and_rows_are_found(table: Any) -> None:
    table.create_fts_index("text")
    near = [0.5] * SIZE
    assert table.search(near).limit(3).to_arrow().num_rows == 3
    assert table.search([near, near]).limit(3).to_arrow().num_rows == 6
    assert table.search().where("id = 3").limit(3).to_arrow()["id"].to_pylist() == [3]
    assert table.search("word2", query_type="fts").limit(3).to_arrow().num_rows == 3
    both = table.search(query_type="hybrid").vector(near).text("word2")
    assert both.limit(3).to_arrow().num_rows == 3
    assert table.head(2).num_rows == 2


def test_indexes_are_created_and_listed(table: Any) -> None:
    table.create_scalar_index("id")
    table.create_index(metric="cosine", vector_column_name="v", index_type="IVF_FLAT")
    assert sorted(index.name for index in table.list_indices()) == ["id_idx", "v_idx"]
    assert table.index_stats("v_idx").distance_type == "cosine"
    assert table.stats()["num_rows"] == ROWS


def test_versions_and_tags_are_told_and_gone_back_to(table: Any) -> None:
    table.delete("id >= 100")
    table.tags.create("all", 1)
    assert table.tags.list()["all"]["version"] == table.tags.get_version("all") == 1
    assert [each["version"] for each in table.list_versions()] == [2, 1]
    table.restore(1)
    assert table.count_rows() == ROWS


def test_columns_come_change_and_go(table: Any) -> None:
    table.add_columns({"twice": "id * 2"})
    table.alter_columns({"path": "twice", "rename": "double"})
    assert table.schema.names[-1] == "double"
    table.drop_columns(["double"])
    assert "double" not in table.schema.names
