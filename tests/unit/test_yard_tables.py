"""Tables of a yard: what people do with their rows, versions and indexes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lanceyard
from lanceyard.yard import Yard
from lanceyard.yard.table import Merged, Table


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """A new yard."""
    return lanceyard.open(tmp_path / "yard")


@pytest.fixture
def fruit(yard: Yard) -> Table:
    """A table of three kinds of fruit."""
    vectors = pa.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], pa.list_(pa.float32(), 2))
    names = ["pear green", "plum blue", "fig green"]
    return yard.create_table("fruit", {"id": [1, 2, 3], "name": names, "v": vectors})


def test_rows_are_merged_by_a_column(fruit: Table) -> None:
    done = fruit.merge({"id": [3, 4], "name": ["fig", "kiwi"]}, on="id")
    assert done == Merged(updated=1, inserted=1, deleted=0)
    assert fruit.read(["name"], where="id > 2")["name"].to_pylist() == ["fig", "kiwi"]


def test_a_merge_may_only_insert(fruit: Table) -> None:
    done = fruit.merge({"id": [3, 4], "name": ["fig", "kiwi"]}, on=["id"], update=False)
    assert done == Merged(updated=0, inserted=1, deleted=0)


def test_a_merge_may_delete_what_the_data_lacks(fruit: Table) -> None:
    done = fruit.merge({"id": [3]}, on="id", delete="id = 1")
    assert (done.deleted, fruit.count()) == (1, 2)


def test_rows_are_updated_and_deleted(fruit: Table) -> None:
    assert fruit.update({"name": "upper(name)"}, where="id < 3") == 2
    fruit.delete("id = 3")
    assert fruit.read()["name"].to_pylist() == ["PEAR GREEN", "PLUM BLUE"]


def test_the_nearest_vectors_are_found(fruit: Table) -> None:
    found = fruit.search(np.array([1.0, 0.1]), limit=2, columns=["id"])
    assert found["id"].to_pylist() == [1, 3]


def test_words_are_found(fruit: Table) -> None:
    found = fruit.index("name", "FTS").search(text="green", columns=["id"])
    assert sorted(found["id"].to_pylist()) == [1, 3]


def test_vectors_and_words_are_found_together(fruit: Table) -> None:
    fruit.index("name", "FTS")
    found = fruit.search([0.0, 1.0], "green", limit=2, columns=["id"], where="id > 1")
    assert found["id"].to_pylist() == [3, 2]


def test_an_earlier_version_is_read_and_restored(fruit: Table) -> None:
    before = fruit.version
    fruit.tag("good").delete("id = 1")
    assert fruit.read(version=before).num_rows == fruit.read(version="good").num_rows == 3
    assert fruit.restore(before).count() == 3
    assert next(iter(fruit.versions())).version == fruit.version


@pytest.mark.parametrize("version", [99, "nope"])
def test_a_version_that_is_missing_is_told(fruit: Table, version: int | str) -> None:
    with pytest.raises(lanceyard.errors.LanceNamespaceError, match=str(version)):
        fruit.read(version=version)


def test_a_tag_can_be_moved_and_forgotten(fruit: Table) -> None:
    fruit.tag("good").append({"id": [4]}).tag("good")
    assert fruit.tags() == {"good": fruit.version}
    assert fruit.untag("good").tags() == {}


def test_indexes_are_listed_and_dropped(fruit: Table) -> None:
    fruit.index("id", name="by_id")
    assert [(i.index_name, i.index_type) for i in fruit.indexes()] == [("by_id", "BTREE")]
    assert fruit.drop_index("by_id").indexes() == []


def test_columns_come_change_and_go(fruit: Table) -> None:
    fruit.add_columns({"twice": "id * 2"}).rename_column("twice", "double").drop_columns("v")
    assert fruit.read(["double"])["double"].to_pylist() == [2, 4, 6]
    assert fruit.schema.names == ["id", "name", "double"]


def test_a_view_is_refreshed(yard: Yard, fruit: Table) -> None:
    view = yard.create_view("green", "SELECT id FROM f WHERE name LIKE '%green'", f="fruit")
    fruit.append({"id": [4], "name": ["lime green"]})
    assert view.read()["id"].to_pylist() == [1, 3]
    assert view.refresh().read()["id"].to_pylist() == [1, 3, 4]
