"""The columns of an answer: names, paths, aliases, expressions, and what searches add."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from .books import HERE, ids, index_texts, names, near, shelve, words
from .kit import Catalog, applies, stream

ours = applies(extensions=True)
pytestmark = applies(mode="v2")


@pytest.fixture
def library(catalog: Catalog) -> list[str]:
    """Twelve books."""
    return shelve(catalog)


def aliases(**columns: str) -> dict[str, Any]:
    """The columns of a request, with names of their own."""
    return {"column_aliases": columns}


def test_columns_come_in_the_order_in_which_they_are_asked_for(
    catalog: Catalog, library: list[str]
) -> None:
    found = catalog.query(library, columns=names("title", "id"), k=1)
    assert found.to_pylist() == [{"title": "story0 cat", "id": 0}]


def test_no_columns_mean_all(catalog: Catalog, library: list[str]) -> None:
    for nothing in (None, {}, names(), aliases()):
        assert catalog.query(library, columns=nothing).equals(catalog.query(library))


@pytest.mark.parametrize("columns", [["place.shelf", "place.`floor.no`"], ["`place`.`shelf`"]])
def test_a_column_may_be_inside_another(
    catalog: Catalog, library: list[str], columns: list[str]
) -> None:
    found = catalog.query(library, columns=names(*columns), k=3)
    assert found.equals(catalog.open(library).to_table(columns=columns, limit=3))


def test_a_column_may_have_another_name_in_the_answer(catalog: Catalog, library: list[str]) -> None:
    columns = aliases(number="id", shelf="place.shelf", floor="place.`floor.no`")
    found = catalog.query(library, columns=columns, filter="id = 3")
    assert found.to_pylist() == [{"number": 3, "shelf": "s3", "floor": 3}]


def test_a_column_may_be_an_expression(catalog: Catalog, library: list[str]) -> None:
    columns = aliases(half="cast(id as double) * 0.5", loud="upper(place.shelf)", more="id + 1")
    found = catalog.query(library, columns=columns, filter="id = 3")
    assert found.to_pylist() == [{"half": 1.5, "loud": "S3", "more": 4}]


@ours
def test_what_is_the_path_of_a_column_is_no_expression(catalog: Catalog) -> None:
    outer = pa.array([{"b c": 7, "x-y": 8}])
    catalog.create_table_from(["t"], stream(pa.table({"a": [1], "a+1": [5], "st": outer})))
    found = catalog.query(["t"], columns=aliases(one="a+1", two="st.b c", three="st.x-y"))
    assert found.to_pylist() == [{"one": 5, "two": 7, "three": 8}]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (names("id"), ["id", "_distance", "_rowid"]),
        (names("_distance", "id"), ["_distance", "id", "_rowid"]),
        (names("_rowid", "id"), ["id", "_distance", "_rowid"]),
        (aliases(x="id"), ["x", "_distance", "_rowid"]),
        (aliases(far="_distance * 2"), ["far", "_distance", "_rowid"]),
        (None, ["id", "title", "text", "v", "place", "_distance", "_rowid"]),
    ],
    ids=str,
)
def test_distance_and_row_id_come_after_the_columns(
    catalog: Catalog, library: list[str], columns: Any, expected: list[str]
) -> None:
    query = {"vector": near(HERE), "vector_column": "v", "columns": columns, "with_row_id": True}
    assert catalog.query(library, **query).schema.names == expected


def test_row_ids_come_when_they_are_asked_for(catalog: Catalog, library: list[str]) -> None:
    found = catalog.query(library, filter="id > 9", columns=names("id"), with_row_id=True)
    assert found.to_pydict() == {"id": [10, 11], "_rowid": [10, 11]}
    assert catalog.query(library, columns=names("_rowid"), k=2).to_pydict() == {"_rowid": [0, 1]}


def test_scores_come_after_the_columns(catalog: Catalog, library: list[str]) -> None:
    index_texts(catalog, library, "text")
    query = {"full_text_query": words("dog"), "with_row_id": True}
    found = catalog.query(library, **query, columns=names("id"))
    assert found.schema.names == ["id", "_score", "_rowid"]
    assert found["_rowid"].to_pylist() == ids(found)
    found = catalog.query(library, **query, columns=names("_score", "id"))
    assert found.schema.names == ["_score", "id", "_rowid"]
